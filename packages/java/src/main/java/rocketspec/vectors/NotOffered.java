package rocketspec.vectors;

/** The implementation has no such operation, or not with this geometry: the case is skipped. */
public final class NotOffered extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public NotOffered(final String what) {
        super("not offered: " + what);
    }
}
