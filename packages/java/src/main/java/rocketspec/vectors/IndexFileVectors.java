package rocketspec.vectors;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;
import org.opentest4j.TestAbortedException;

/** JUnit 5: extend this class, and each case is a test; cases of operations that are not offered are skipped. */
public abstract class IndexFileVectors {
    /** A new implementation under test. */
    protected abstract IndexFileUnderTest create() throws Exception;

    @TestFactory
    public Stream<DynamicTest> vectors() {
        final AtomicInteger ran = new AtomicInteger();
        final Stream<DynamicTest> cases =
            Vectors.all().stream().map(one -> DynamicTest.dynamicTest(one.id(), () -> check(one, ran)));
        return Stream.concat(cases, Stream.of(DynamicTest.dynamicTest("a case ran", () -> {
            if (ran.get() == 0) {
                throw new AssertionError("no case ran: the implementation offers no operation");
            }
        })));
    }

    private void check(final Vector one, final AtomicInteger ran) throws Exception {
        try {
            one.check(create());
            ran.incrementAndGet();
        } catch (final NotOffered missing) {
            throw new TestAbortedException(missing.getMessage());
        } catch (final AssertionError difference) {
            ran.incrementAndGet();
            throw difference;
        }
    }
}
