import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import rocketspec.vectors.Header;
import rocketspec.vectors.IndexFileUnderTest;
import rocketspec.vectors.IndexFileVectors;

/** The whole interface over IndexFile.java, which your code replaces. */
class WholeTest extends IndexFileVectors {
    @Override
    protected IndexFileUnderTest create() {
        return new Mine();
    }

    static final class Mine implements IndexFileUnderTest {
        private IndexFile file;

        @Override
        public int keyHash(final String key) {
            return IndexFile.keyHash(key);
        }

        @Override
        public void open(final Path path, final int hashSlotNum, final int indexNum, final long endPhyOffset,
            final long endTimestamp, final boolean load) throws IOException {
            this.file = IndexFile.open(path, hashSlotNum, indexNum, endPhyOffset, endTimestamp, load);
        }

        @Override
        public boolean put(final String key, final long phyOffset, final long storeTimestamp) throws IOException {
            return this.file.put(key, phyOffset, storeTimestamp);
        }

        @Override
        public void select(final List<Long> offsets, final String key, final int maxNum, final long begin,
            final long end) throws IOException {
            this.file.select(offsets, key, maxNum, begin, end);
        }

        @Override
        public boolean timeMatched(final long begin, final long end) {
            return this.file.timeMatched(begin, end);
        }

        @Override
        public Header header() {
            return new Header(this.file.beginTimestamp, this.file.endTimestamp, this.file.beginPhyOffset,
                this.file.endPhyOffset, this.file.hashSlotCount, this.file.indexCount);
        }

        @Override
        public boolean full() {
            return this.file.full();
        }

        @Override
        public void flush() throws IOException {
            this.file.flush();
        }

        @Override
        public void close() {
            if (this.file != null) {
                this.file.close();
            }
            this.file = null;
        }
    }
}
