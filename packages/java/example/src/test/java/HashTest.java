import java.nio.charset.StandardCharsets;
import rocketspec.vectors.IndexFileUnderTest;
import rocketspec.vectors.IndexFileVectors;

/** A wrong hash, over the bytes of the key. It fails, and names IDX-HASH-1. Only key.hash is offered. */
class HashTest extends IndexFileVectors {
    @Override
    protected IndexFileUnderTest create() {
        return new IndexFileUnderTest() {
            @Override
            public int keyHash(final String key) {
                int hash = 0;
                for (final byte one : key.getBytes(StandardCharsets.UTF_8)) {
                    hash = 31 * hash + one;
                }
                return Math.max(0, Math.abs(hash));
            }
        };
    }
}
