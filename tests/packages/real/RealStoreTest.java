package rocketspec.adapter;

import rocketspec.vectors.IndexFileUnderTest;
import rocketspec.vectors.IndexFileVectors;

/** The real store with JUnit 5. */
class RealStoreTest extends IndexFileVectors {
    @Override
    protected IndexFileUnderTest create() {
        return new RealStore();
    }
}
