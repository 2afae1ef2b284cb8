import rocketspec.vectors.IndexFileUnderTest;
import rocketspec.vectors.IndexFileVectors4;

/** The same with JUnit 4. */
public class Whole4Test extends IndexFileVectors4 {
    @Override
    protected IndexFileUnderTest create() {
        return new WholeTest.Mine();
    }
}
