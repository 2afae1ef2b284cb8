package rocketspec.golden;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.rocketmq.common.message.MessageConst;
import org.apache.rocketmq.common.sysflag.MessageSysFlag;
import org.apache.rocketmq.store.DispatchRequest;
import org.apache.rocketmq.store.index.IndexFile;
import org.apache.rocketmq.store.index.IndexHeader;

/**
 * The puts that IndexService.buildIndex makes of the dispatch requests, made once more on new IndexFiles of the
 * same geometry, seeds and names. When the files agree byte for byte, the list of puts is what the broker did.
 */
final class IndexReplay {

    /** One put: which entry of which file it became. */
    static final class Put {
        final String file;
        final String topic;
        final String name;
        final int entry;
        final int hash;
        final int slot;
        final long phyOffset;
        final int timeDiff;
        final int prevEntry;
        final long storeTimestamp;

        Put(String file, String topic, String name, int entry, int hash, int slot, long phyOffset, int timeDiff,
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

        Map<String, Object> line() {
            return Json.object("type", "index_entry", "file", Truth.name(Paths.get(file)), "entry", entry,
                "key", key(), "slot", slot, "key_hash", hash, "phy_offset", phyOffset, "time_diff", timeDiff,
                "prev_entry", prevEntry, "store_timestamp", storeTimestamp);
        }
    }

    private static final Path REPLAY = Paths.get("replay");

    private final List<IndexFile> theirs;
    private final List<IndexFile> ours = new ArrayList<>();
    private final List<Put> puts = new ArrayList<>();
    private final int slots;
    private final int entries;

    IndexReplay(List<IndexFile> theirs, int slots, int entries) {
        this.theirs = theirs;
        this.slots = slots;
        this.entries = entries;
    }

    List<Put> puts() {
        return puts;
    }

    /** IndexService.buildIndex, step by step. */
    void build(DispatchRequest request) throws IOException {
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
        String key = request.getTopic() + "#" + name;
        IndexFile file = last();
        IndexHeader header = Private.get(file, "indexHeader");
        int entry = header.getIndexCount();
        Truth.check(file.putKey(key, request.getCommitLogOffset(), request.getStoreTimestamp()), "put of " + key);
        MappedByteBuffer bytes = Private.get(file, "mappedByteBuffer");
        int at = IndexHeader.INDEX_HEADER_SIZE + 4 * slots + 20 * entry;
        int hash = file.indexKeyHashMethod(key);
        puts.add(new Put(theirs.get(ours.size() - 1).getFileName(), request.getTopic(), name, entry, hash,
            hash % slots, bytes.getLong(at + 4), bytes.getInt(at + 12), bytes.getInt(at + 16),
            request.getStoreTimestamp()));
    }

    /** The file to append to, made or rolled as IndexService.getAndCreateLastIndexFile does. */
    private IndexFile last() throws IOException {
        IndexFile last = ours.isEmpty() ? null : ours.get(ours.size() - 1);
        if (last == null || last.isWriteFull()) {
            Truth.check(ours.size() < theirs.size(), "the replay needs more files than the broker made");
            Path name = Paths.get(theirs.get(ours.size()).getFileName()).getFileName();
            last = new IndexFile(REPLAY.resolve(name).toString(), slots, entries,
                last == null ? 0 : last.getEndPhyOffset(), last == null ? 0 : last.getEndTimestamp());
            ours.add(last);
        }
        return last;
    }

    void compare() throws IOException {
        Truth.check(ours.size() == theirs.size(), theirs.size() + " index files, replayed " + ours.size());
        for (IndexFile file : theirs) {
            Path path = Paths.get(file.getFileName());
            Path again = REPLAY.resolve(path.getFileName());
            Truth.check(map(path).equals(map(again)), path + " differs from its replay");
        }
    }

    private static ByteBuffer map(Path path) throws IOException {
        try (FileChannel channel = FileChannel.open(path, StandardOpenOption.READ)) {
            return channel.map(FileChannel.MapMode.READ_ONLY, 0, channel.size());
        }
    }
}
