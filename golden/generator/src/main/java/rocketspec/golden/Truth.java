package rocketspec.golden;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;
import org.apache.rocketmq.store.DefaultMessageStore;
import org.apache.rocketmq.store.DispatchRequest;
import org.apache.rocketmq.store.StoreCheckpoint;
import org.apache.rocketmq.store.config.MessageStoreConfig;

/**
 * What Java says of a store, one JSON object a line. It is asked after the broker has stopped: the objects that
 * the broker used still answer, and nothing writes any more.
 */
final class Truth {

    private Truth() {
    }

    static void write(DefaultMessageStore store, List<RecordingStore.Dispatched> dispatched, Path path)
        throws IOException {
        try (Writer writer = Files.newBufferedWriter(path, StandardCharsets.US_ASCII)) {
            Consumer<Map<String, Object>> out = line -> {
                try {
                    writer.write(Json.write(line));
                    writer.write('\n');
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            };
            for (RecordingStore.Dispatched each : dispatched) {
                out.accept(dispatch(each));
            }
            new LogTruth(store, out).write(dispatched);
            new QueueTruth(store, out).write();
            new IndexTruth(store, out).write(dispatched);
            checkpoint(out);
        }
    }

    /** The sizes that tell a reader how to open the files. */
    static Map<String, Object> sizes(DefaultMessageStore store) {
        MessageStoreConfig config = store.getMessageStoreConfig();
        return Json.object(
            "hash_slot_num", config.getMaxHashSlotNum(),
            "index_num", config.getMaxIndexNum(),
            "commit_log_file_size", config.getMappedFileSizeCommitLog(),
            "consume_queue_file_size", config.getMappedFileSizeConsumeQueue(),
            "consume_queue_ext_file_size",
            config.isEnableConsumeQueueExt() ? config.getMappedFileSizeConsumeQueueExt() : null);
    }

    private static Map<String, Object> dispatch(RecordingStore.Dispatched dispatched) {
        DispatchRequest request = dispatched.request;
        return Json.object(
            "type", "dispatch",
            "start", dispatched.start,
            "topic", request.getTopic(),
            "queue_id", request.getQueueId(),
            "commit_log_offset", request.getCommitLogOffset(),
            "msg_size", request.getMsgSize(),
            "tags_code", request.getTagsCode(),
            "store_timestamp", request.getStoreTimestamp(),
            "consume_queue_offset", request.getConsumeQueueOffset(),
            "keys", request.getKeys(),
            "uniq_key", request.getUniqKey(),
            "sys_flag", request.getSysFlag(),
            "prepared_transaction_offset", request.getPreparedTransactionOffset(),
            "properties", request.getPropertiesMap() == null ? null : new TreeMap<>(request.getPropertiesMap()),
            "bit_map", request.getBitMap(),
            "success", request.isSuccess());
    }

    private static void checkpoint(Consumer<Map<String, Object>> out) throws IOException {
        StoreCheckpoint checkpoint = new StoreCheckpoint(Broker.STORE.resolve("checkpoint").toString());
        out.accept(Json.object(
            "type", "checkpoint",
            "file", "checkpoint",
            "physic_msg_timestamp", checkpoint.getPhysicMsgTimestamp(),
            "logics_msg_timestamp", checkpoint.getLogicsMsgTimestamp(),
            "index_msg_timestamp", checkpoint.getIndexMsgTimestamp()));
    }

    /** The name of a store file, relative to the store and with forward slashes. */
    static String name(Path file) {
        Path relative = file.startsWith(Broker.STORE) ? Broker.STORE.relativize(file) : file;
        return relative.toString().replace('\\', '/');
    }

    static void check(boolean holds, String what) {
        if (!holds) {
            throw new IllegalStateException(what);
        }
    }
}
