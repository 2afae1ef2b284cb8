package rocketspec.vectors;

import java.util.List;
import org.junit.AssumptionViolatedException;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.junit.runners.Parameterized;
import org.junit.runners.Parameterized.Parameter;
import org.junit.runners.Parameterized.Parameters;

/** JUnit 4.12 or later: as {@link IndexFileVectors}. */
@RunWith(Parameterized.class)
public abstract class IndexFileVectors4 {
    @Parameter
    public Vector vector;

    @Parameters(name = "{0}")
    public static List<Vector> vectors() {
        return Vectors.all();
    }

    /** A new implementation under test. */
    protected abstract IndexFileUnderTest create() throws Exception;

    @Test
    public void answersAsTheReal() throws Exception {
        try {
            this.vector.check(create());
        } catch (final NotOffered missing) {
            throw new AssumptionViolatedException(missing.getMessage());
        }
    }
}
