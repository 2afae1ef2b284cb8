import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;

/** The example that Adapter calls: an index file as RocketMQ 4.9.3 keeps it, small and slow. Yours replaces it. */
final class IndexFile {
    private static final int HEADER_SIZE = 40;
    private static final int SLOT_SIZE = 4;
    private static final int ENTRY_SIZE = 20;

    // The header is kept in memory; each change goes through to the file.
    long beginTimestamp;
    long endTimestamp;
    long beginPhyOffset;
    long endPhyOffset;
    int hashSlotCount;
    int indexCount = 1;

    private final FileChannel channel;
    private final ByteBuffer buffer = ByteBuffer.allocate(8);
    /** Number of bytes that count; this and every position may wrap. */
    private final int size;
    private final int slots;
    private final int capacity;

    private IndexFile(final FileChannel channel, final int slots, final int entries) {
        this.channel = channel;
        this.slots = slots;
        this.capacity = entries;
        this.size = HEADER_SIZE + slots * SLOT_SIZE + entries * ENTRY_SIZE;
    }

    /** The one negative result of abs counts as 0. */
    static int keyHash(final String key) {
        return Math.max(0, Math.abs(key.hashCode()));
    }

    /** Makes the file, or extends it with zeros; seeds count only when above 0, and are written before a load. */
    static IndexFile open(
        final Path path, final int slots, final int entries, final long endPhyOffset, final long endTimestamp,
        final boolean load) throws IOException {
        Long.parseLong(path.getFileName().toString());
        Files.createDirectories(path.getParent());
        final FileChannel channel = FileChannel.open(
            path, StandardOpenOption.READ, StandardOpenOption.WRITE, StandardOpenOption.CREATE);
        final IndexFile opened = new IndexFile(channel, slots, entries);
        try {
            opened.extend();
            opened.seed(endPhyOffset, endTimestamp);
            if (load) {
                opened.load();
            }
        } catch (final IOException | RuntimeException failure) {
            channel.close();
            throw failure;
        }
        return opened;
    }

    private void extend() throws IOException {
        if (this.size < 0) {
            throw new IllegalArgumentException("negative size " + this.size);
        }
        if (this.channel.size() < this.size) {
            this.channel.write(ByteBuffer.allocate(1), this.size - 1);
        }
    }

    private void seed(final long offset, final long timestamp) throws IOException {
        if (offset > 0) {
            writeLong(16, this.beginPhyOffset = offset);
            writeLong(24, this.endPhyOffset = offset);
        }
        if (timestamp > 0) {
            writeLong(0, this.beginTimestamp = timestamp);
            writeLong(8, this.endTimestamp = timestamp);
        }
    }

    private void load() throws IOException {
        this.beginTimestamp = readLong(0);
        this.endTimestamp = readLong(8);
        this.beginPhyOffset = readLong(16);
        this.endPhyOffset = readLong(24);
        this.hashSlotCount = readInt(32);
        this.indexCount = Math.max(1, readInt(36));
    }

    /** Adds an entry. Full, or a write outside the file: false, and what was written before it stays. */
    boolean put(final String key, final long phyOffset, final long storeTimestamp) throws IOException {
        if (full()) {
            return false;
        }
        final int hash = keyHash(key);
        final int slot = HEADER_SIZE + hash % this.slots * SLOT_SIZE;
        try {
            final int count = this.indexCount;
            int previous = readInt(slot);
            if (previous <= 0 || previous > count) {
                previous = 0;
            }
            final int entry = entryPosition(count);
            writeInt(entry, hash);
            writeLong(entry + 4, phyOffset);
            writeInt(entry + 12, timeDiff(storeTimestamp));
            writeInt(entry + 16, previous);
            writeInt(slot, count);
            if (count <= 1) {
                writeLong(16, this.beginPhyOffset = phyOffset);
                writeLong(0, this.beginTimestamp = storeTimestamp);
            }
            if (previous == 0) {
                writeInt(32, ++this.hashSlotCount);
            }
            writeInt(36, ++this.indexCount);
            writeLong(24, this.endPhyOffset = phyOffset);
            writeLong(8, this.endTimestamp = storeTimestamp);
            return true;
        } catch (final IndexOutOfBoundsException outside) {
            return false;
        }
    }

    /** Whole seconds since the header's begin; the subtraction wraps. */
    private int timeDiff(final long storeTimestamp) {
        final long seconds = (storeTimestamp - this.beginTimestamp) / 1000;
        return this.beginTimestamp <= 0 ? 0 : (int) Math.max(0, Math.min(seconds, Integer.MAX_VALUE));
    }

    /** Appends the offsets of entries with the key's hash, newest first, until the list has {@code maxNum}. */
    void select(final List<Long> offsets, final String key, final int maxNum, final long begin, final long end)
        throws IOException {
        final int hash = keyHash(key);
        final int slot = HEADER_SIZE + hash % this.slots * SLOT_SIZE;
        try {
            int entry = readInt(slot);
            if (entry <= 0 || entry > this.indexCount || this.indexCount <= 1) {
                return;
            }
            while (offsets.size() < maxNum) {
                final int position = entryPosition(entry);
                final int hashRead = readInt(position);
                final long offset = readLong(position + 4);
                final int timeDiff = readInt(position + 12);
                final int previous = readInt(position + 16);
                if (timeDiff < 0) {
                    return;
                }
                final long time = this.beginTimestamp + timeDiff * 1000L;
                if (hashRead == hash && begin <= time && time <= end) {
                    offsets.add(offset);
                }
                if (previous <= 0 || previous > this.indexCount || previous == entry || time < begin) {
                    return;
                }
                entry = previous;
            }
        } catch (final IndexOutOfBoundsException outside) {
            return; // with the hits so far
        }
    }

    /** Whether the window covers the file, or begins or ends within it. */
    boolean timeMatched(final long begin, final long end) {
        final long first = this.beginTimestamp;
        final long last = this.endTimestamp;
        return begin < first && end > last || first <= begin && begin <= last || first <= end && end <= last;
    }

    /** Whether the next put would be refused. */
    boolean full() {
        return this.indexCount >= this.capacity;
    }

    /** Writes the header in memory to the file. */
    void flush() throws IOException {
        writeLong(0, this.beginTimestamp);
        writeLong(8, this.endTimestamp);
        writeLong(16, this.beginPhyOffset);
        writeLong(24, this.endPhyOffset);
        writeInt(32, this.hashSlotCount);
        writeInt(36, this.indexCount);
    }

    /** Frees the file, and writes nothing. */
    void close() {
        try {
            this.channel.close();
        } catch (final IOException failure) {
            System.err.println("closing: " + failure);
        }
    }

    private int entryPosition(final int entry) {
        return HEADER_SIZE + this.slots * SLOT_SIZE + entry * ENTRY_SIZE;
    }

    private int readInt(final int position) throws IOException {
        read(position, 4);
        return this.buffer.getInt(0);
    }

    private long readLong(final int position) throws IOException {
        read(position, 8);
        return this.buffer.getLong(0);
    }

    private void read(final int position, final int length) throws IOException {
        checkInside(position, length);
        this.channel.read(this.buffer.clear().limit(length), position);
    }

    private void writeInt(final int position, final int value) throws IOException {
        checkInside(position, 4);
        this.channel.write(this.buffer.clear().putInt(value).flip(), position);
    }

    private void writeLong(final int position, final long value) throws IOException {
        checkInside(position, 8);
        this.channel.write(this.buffer.clear().putLong(value).flip(), position);
    }

    private void checkInside(final int position, final int length) {
        if (position < 0 || (long) position + length > this.size) {
            throw new IndexOutOfBoundsException("byte " + position);
        }
    }
}
