package rocketspec.adapter;

/** The operation ended in an error that the implementation reports: a verdict, not a failure of the adapter. */
final class Rejected extends Exception {
    private static final long serialVersionUID = 1L;

    Rejected(final String reason) {
        super(reason, null, false, false);
    }

    /** What left the method under test; an Error (out of memory, a missing class) is none of its verdicts. */
    static Rejected by(final Throwable thrown) throws Throwable {
        if (thrown instanceof Exception) {
            return new Rejected(thrown.getClass().getSimpleName() + ": " + thrown.getMessage());
        }
        throw thrown;
    }
}
