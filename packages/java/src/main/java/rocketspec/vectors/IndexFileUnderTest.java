package rocketspec.vectors;

import java.nio.file.Path;
import java.util.List;

/**
 * The implementation that is tested: a new object for each case, with one index file open at a time.
 *
 * <p>Implement what you have. A method that is left as it is means that the operation is not offered, and cases that
 * need it are skipped. An exception means that the operation ends in an error that you report; some cases expect that.
 */
public interface IndexFileUnderTest {
    /** The key hash (IDX-HASH-1). */
    default int keyHash(final String key) throws Exception {
        throw new NotOffered("keyHash");
    }

    /**
     * Makes or opens a file with this many slots and entries; each seed counts only if it is above 0. Reads the header
     * if {@code load} is true. If your geometry is fixed, throw {@link NotOffered} for any other.
     */
    default void open(final Path file, final int hashSlotNum, final int indexNum, final long endPhyOffset,
        final long endTimestamp, final boolean load) throws Exception {
        throw new NotOffered("open");
    }

    /** Adds an entry; false if it is refused. */
    default boolean put(final String key, final long phyOffset, final long storeTimestamp) throws Exception {
        throw new NotOffered("put");
    }

    /** Appends the physical offsets found to {@code offsets} in order, until the list has {@code maxNum}. */
    default void select(final List<Long> offsets, final String key, final int maxNum, final long begin,
        final long end) throws Exception {
        throw new NotOffered("select");
    }

    /** Whether the window from begin to end, in ms, matches the file. */
    default boolean timeMatched(final long begin, final long end) throws Exception {
        throw new NotOffered("timeMatched");
    }

    /** The header in memory. */
    default Header header() throws Exception {
        throw new NotOffered("header");
    }

    /** Whether the file is full. */
    default boolean full() throws Exception {
        throw new NotOffered("full");
    }

    /** Writes the header in memory to the file. */
    default void flush() throws Exception {
        throw new NotOffered("flush");
    }

    /** Releases all files without a flush. Also called after each case, whatever is open. */
    default void close() throws Exception {
    }

    /**
     * Any other operation, such as {@code queue.put}: takes one as JSON and returns its result as JSON. README.md of
     * the package lists the operations.
     */
    default String other(final Path directory, final String operation) throws Exception {
        throw new NotOffered(operation);
    }
}
