package rocketspec.adapter;

import rocketspec.vectors.IndexFileUnderTest;
import rocketspec.vectors.IndexFileVectors4;

/** The real store with JUnit 4. */
public class RealStore4Test extends IndexFileVectors4 {
    @Override
    protected IndexFileUnderTest create() {
        return new RealStore();
    }
}
