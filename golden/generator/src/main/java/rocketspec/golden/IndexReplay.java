package rocketspec.golden;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.rocketmq.common.message.MessageConst;
import org.apache.rocketmq.common.sysflag.MessageSysFlag;
import org.apache.rocketmq.store.DispatchRequest;
import org.apache.rocketmq.store.index.IndexFile;
import org.apache.rocketmq.store.index.IndexHeader;

/**
 * The puts that IndexService.buildIndex makes of the dispatch requests, repeated on new IndexFiles of the
 * same geometry, seeds and names. When the files agree byte for byte, the list of puts is what the broker did.
 */
final class IndexReplay {

    /** One put: which entry of which file, counted from 0, it became. */
    static final class Put {
        final int file;
        final String topic;
        final String name;
        final int entry;
        final int hash;
        final int slot;
        final long phyOffset;
        final int timeDiff;
        final int prevEntry;
        final long storeTimestamp;

        Put(int file, String topic, String name, int entry, int hash, int slot, long phyOffset, int timeDiff,
            int prevEntry, long storeTimestamp) {
            this.file = file;
            this.topic = topic;
            this.name = name;
            this.entry = entry;
            this.hash = hash;
            this.slot = slot;
            this.phyOffset = phyOffset;
            this.timeDiff = timeDiff;
            this.prevEntry = prevEntry;
            this.storeTimestamp = storeTimestamp;
        }

        String key() {
            return topic + "#" + name;
        }

        Map<String, Object> line(String file) {
            return Json.object("type", "index_entry", "file", file, "entry", entry,
                "key", key(), "slot", slot, "key_hash", hash, "phy_offset", phyOffset, "time_diff", timeDiff,
                "prev_entry", prevEntry, "store_timestamp", storeTimestamp);
        }
    }

    private static final Path REPLAY = Paths.get("replay");
    private static int total;

    private final List<IndexFile> theirs;
    private final int expired;
    private final List<IndexFile> ours = new ArrayList<>();
    private final List<Integer> numbers = new ArrayList<>();
    private final List<Put> puts = new ArrayList<>();
    private final int slots;
    private final int entries;
    private int made;
    private int limit = Integer.MAX_VALUE;

    /**
     * Starts a replay.
     *
     * @param theirs the files that the broker left
     * @param expired how many older ones it deleted
     */
    IndexReplay(List<IndexFile> theirs, int expired, int slots, int entries) {
        this.theirs = theirs;
        this.expired = expired;
        this.slots = slots;
        this.entries = entries;
    }

    /** Every put, also those into files that are no more. */
    List<Put> puts() {
        return puts;
    }

    /** Makes no more puts than this: as many as a broker had made when it was killed. */
    void limit(int most) {
        limit = most;
    }

    /** Forgets the newest files, as a restart after a kill does. */
    void lose(int files) {
        ours.subList(ours.size() - files, ours.size()).clear();
        numbers.subList(numbers.size() - files, numbers.size()).clear();
    }

    /** IndexService.buildIndex, step by step. */
    void build(DispatchRequest request) throws IOException {
        if (puts.size() >= limit) {
            return;
        }
        if (request.getCommitLogOffset() < last().getEndPhyOffset()) {
            return;
        }
        if (MessageSysFlag.getTransactionValue(request.getSysFlag()) == MessageSysFlag.TRANSACTION_ROLLBACK_TYPE) {
            return;
        }
        if (request.getUniqKey() != null) {
            put(request, request.getUniqKey());
        }
        if (request.getKeys() != null && request.getKeys().length() > 0) {
            for (String key : request.getKeys().split(MessageConst.KEY_SEPARATOR)) {
                if (key.length() > 0) {
                    put(request, key);
                }
            }
        }
    }

    private void put(DispatchRequest request, String name) throws IOException {
        if (puts.size() >= limit) {
            return;
        }
        String key = request.getTopic() + "#" + name;
        IndexFile file = last();
        IndexHeader header = Private.get(file, "indexHeader");
        int entry = header.getIndexCount();
        Truth.check(file.putKey(key, request.getCommitLogOffset(), request.getStoreTimestamp()), "put of " + key);
        MappedByteBuffer bytes = Private.get(file, "mappedByteBuffer");
        int at = IndexHeader.INDEX_HEADER_SIZE + 4 * slots + 20 * entry;
        int hash = file.indexKeyHashMethod(key);
        puts.add(new Put(numbers.get(numbers.size() - 1), request.getTopic(), name, entry, hash,
            hash % slots, bytes.getLong(at + 4), bytes.getInt(at + 12), bytes.getInt(at + 16),
            request.getStoreTimestamp()));
    }

    /** The file to append to, made or rolled as IndexService.getAndCreateLastIndexFile does. */
    private IndexFile last() throws IOException {
        IndexFile last = ours.isEmpty() ? null : ours.get(ours.size() - 1);
        if (last == null || last.isWriteFull()) {
            // Named by a number: what the broker called a file that it deleted since is not known.
            last = new IndexFile(REPLAY.resolve(Integer.toString(++total)).toString(), slots, entries,
                last == null ? 0 : last.getEndPhyOffset(), last == null ? 0 : last.getEndTimestamp());
            ours.add(last);
            numbers.add(made++);
        }
        return last;
    }

    /** Compares the files; returns the puts of each of theirs. */
    Map<IndexFile, List<Put>> compare() throws IOException {
        Truth.check(ours.size() == expired + theirs.size(),
            theirs.size() + " index files and " + expired + " expired ones, replayed " + ours.size());
        Map<IndexFile, List<Put>> found = new LinkedHashMap<>();
        for (int i = 0; i < theirs.size(); i++) {
            Path path = Paths.get(theirs.get(i).getFileName());
            Path again = Paths.get(ours.get(expired + i).getFileName());
            Truth.check(map(path).equals(map(again)), path + " differs from its replay");
            int number = numbers.get(expired + i);
            found.put(theirs.get(i), puts.stream().filter(put -> put.file == number).collect(Collectors.toList()));
        }
        return found;
    }

    private static ByteBuffer map(Path path) throws IOException {
        try (FileChannel channel = FileChannel.open(path, StandardOpenOption.READ)) {
            return channel.map(FileChannel.MapMode.READ_ONLY, 0, channel.size());
        }
    }
}
