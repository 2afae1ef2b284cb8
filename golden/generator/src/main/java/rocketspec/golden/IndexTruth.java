package rocketspec.golden;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import org.apache.rocketmq.common.message.MessageDecoder;
import org.apache.rocketmq.store.DefaultMessageStore;
import org.apache.rocketmq.store.DispatchRequest;
import org.apache.rocketmq.store.QueryMessageResult;
import org.apache.rocketmq.store.index.IndexFile;
import org.apache.rocketmq.store.index.IndexHeader;
import org.apache.rocketmq.store.index.IndexService;
import org.apache.rocketmq.store.index.QueryOffsetResult;

/**
 * Index files: the getters of every header, what selectPhyOffset and isTimeMatched answer, what the service
 * answers, and each put, replayed into new files and proved by comparing those with the broker's, byte for byte.
 */
final class IndexTruth {

    private static final int ALL = 1_000_000;

    private final DefaultMessageStore store;
    private final Left left;
    private final Consumer<Map<String, Object>> out;
    private final IndexService service;
    private final List<IndexFile> files;

    IndexTruth(DefaultMessageStore store, Left left, Consumer<Map<String, Object>> out) {
        this.store = store;
        this.left = left;
        this.out = out;
        this.service = Private.get(store, "indexService");
        this.files = Private.get(service, "indexFileList");
    }

    /** Writes the lines; the log's records are needed where more was indexed than a killed broker could record. */
    void write(List<DispatchRequest> records) throws IOException {
        IndexReplay replay = replay(records);
        Map<IndexFile, List<IndexReplay.Put>> puts = replay.compare();
        Set<String> allKeys = new LinkedHashSet<>();
        replay.puts().forEach(put -> allKeys.add(put.key()));
        for (IndexFile file : files) {
            header(file);
            Map<String, List<IndexReplay.Put>> keys = new LinkedHashMap<>();
            for (IndexReplay.Put put : puts.get(file)) {
                out.accept(put.line(name(file)));
                keys.computeIfAbsent(put.key(), key -> new ArrayList<>()).add(put);
            }
            timeWindows(file);
            for (String key : allKeys) {
                select(file, key, keys.get(key));
            }
        }
        Map<String, IndexReplay.Put> firstOfKey = new LinkedHashMap<>();
        replay.puts().forEach(put -> firstOfKey.putIfAbsent(put.key(), put));
        queries(firstOfKey.values());
    }

    private IndexReplay replay(List<DispatchRequest> records) throws IOException {
        IndexReplay replay = new IndexReplay(files, left.indexFilesExpired(), slots(), entries());
        if (!left.clean) {
            replay.limit(files.stream().mapToInt(file -> ((IndexHeader) Private.get(file, "indexHeader")).getIndexCount() - 1).sum());
        }
        int lost = left.indexFilesLost();
        int start = 0;
        long behind = -1;
        for (RecordingStore.Dispatched each : left.dispatched) {
            if (lost > 0 && start != 0 && each.start != start) {
                replay.lose(lost);
                lost = 0;
            }
            start = each.start;
            replay.build(each.request);
            behind = Math.max(behind, each.request.getCommitLogOffset());
        }
        for (DispatchRequest record : records) {
            if (record.getCommitLogOffset() > behind) {
                replay.build(record);
            }
        }
        return replay;
    }

    private int slots() {
        return store.getMessageStoreConfig().getMaxHashSlotNum();
    }

    private int entries() {
        return store.getMessageStoreConfig().getMaxIndexNum();
    }

    private void header(IndexFile file) throws IOException {
        IndexHeader live = Private.get(file, "indexHeader");
        IndexFile loaded = new IndexFile(file.getFileName(), slots(), entries(), 0, 0);
        loaded.load();
        IndexHeader read = Private.get(loaded, "indexHeader");
        Truth.check(live.getBeginTimestamp() == read.getBeginTimestamp()
            && live.getEndTimestamp() == read.getEndTimestamp()
            && live.getBeginPhyOffset() == read.getBeginPhyOffset()
            && live.getEndPhyOffset() == read.getEndPhyOffset()
            && live.getHashSlotCount().get() == read.getHashSlotCount().get()
            && live.getIndexCount() == read.getIndexCount(), file.getFileName() + " loads as another header");
        out.accept(Json.object("type", "index_header", "file", name(file), "hash_slot_num", slots(),
            "index_num", entries(), "begin_timestamp", live.getBeginTimestamp(),
            "end_timestamp", live.getEndTimestamp(), "begin_phy_offset", live.getBeginPhyOffset(),
            "end_phy_offset", live.getEndPhyOffset(), "hash_slot_count", live.getHashSlotCount().get(),
            "index_count", live.getIndexCount(), "full", file.isWriteFull()));
    }

    private void timeWindows(IndexFile file) {
        long begin = file.getBeginTimestamp();
        long end = file.getEndTimestamp();
        long[][] windows = {
            {0, Long.MAX_VALUE}, {begin, end}, {begin - 1, end + 1}, {begin - 1, end}, {begin, end + 1},
            {0, begin - 1}, {0, begin}, {end, Long.MAX_VALUE}, {end + 1, Long.MAX_VALUE}, {begin + 1, end - 1},
            {Long.MIN_VALUE, Long.MAX_VALUE}, {end, begin}};
        for (long[] window : windows) {
            out.accept(Json.object("type", "time_matched", "file", name(file), "begin", window[0],
                "end", window[1], "matched", file.isTimeMatched(window[0], window[1])));
        }
    }

    /** Every key of the store is asked of every file; a key that was put into it, in more windows. */
    private void select(IndexFile file, String key, List<IndexReplay.Put> puts) {
        select(file, key, ALL, 0, Long.MAX_VALUE);
        if (puts == null) {
            return;
        }
        IndexReplay.Put first = puts.get(0);
        IndexReplay.Put last = puts.get(puts.size() - 1);
        long second = file.getBeginTimestamp() + first.timeDiff * 1000L;
        select(file, key, 1, 0, Long.MAX_VALUE);
        select(file, key, 0, 0, Long.MAX_VALUE);
        select(file, key, ALL, second, second);
        select(file, key, ALL, second + 1, Long.MAX_VALUE);
        select(file, key, ALL, 0, second - 1);
        select(file, key, ALL, first.storeTimestamp, last.storeTimestamp);
        select(file, key, 2, file.getBeginTimestamp(), file.getEndTimestamp());
    }

    private void select(IndexFile file, String key, int maxNum, long begin, long end) {
        List<Long> offsets = new ArrayList<>();
        file.selectPhyOffset(offsets, key, maxNum, begin, end, false);
        out.accept(Json.object("type", "select", "file", name(file), "key", key, "max_num", maxNum,
            "begin", begin, "end", end, "offsets", offsets));
    }

    private void queries(Collection<IndexReplay.Put> puts) {
        for (IndexReplay.Put put : puts) {
            query(put, 32, 0, Long.MAX_VALUE);
            query(put, 100, 0, Long.MAX_VALUE);
            query(put, 1, 0, Long.MAX_VALUE);
            query(put, 32, put.storeTimestamp, put.storeTimestamp + 2000);
            query(put, 32, 0, put.storeTimestamp);
        }
    }

    private void query(IndexReplay.Put put, int maxNum, long begin, long end) {
        QueryOffsetResult offsets = service.queryOffset(put.topic, put.name, maxNum, begin, end);
        QueryMessageResult messages = store.queryMessage(put.topic, put.name, maxNum, begin, end);
        List<Long> sent = new ArrayList<>();
        for (ByteBuffer buffer : messages.getMessageBufferList()) {
            sent.add(MessageDecoder.decode(buffer.slice(), true, false).getCommitLogOffset());
        }
        messages.release();
        out.accept(Json.object("type", "query", "topic", put.topic, "key", put.name, "max_num", maxNum,
            "begin", begin, "end", end, "offsets", offsets.getPhyOffsets(),
            "last_update_timestamp", offsets.getIndexLastUpdateTimestamp(),
            "last_update_phy_offset", offsets.getIndexLastUpdatePhyoffset(),
            "messages", sent,
            "messages_last_update_timestamp", messages.getIndexLastUpdateTimestamp(),
            "messages_last_update_phy_offset", messages.getIndexLastUpdatePhyoffset()));
    }

    static String name(IndexFile file) {
        return Truth.name(Paths.get(file.getFileName()));
    }
}
