package rocketspec.golden;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
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

    private static final List<String> FOLDERS = Arrays.asList("commitlog", "consumequeue", "consumequeue_ext", "index");

    private Truth() {
    }

    /**
     * Writes a truth file.
     *
     * @param store a store that has loaded the files and writes them no more
     * @param left the unchanged files, and what is known of their past
     */
    static void write(DefaultMessageStore store, Left left, Path path) throws IOException {
        try (Writer writer = Files.newBufferedWriter(path, StandardCharsets.US_ASCII)) {
            Consumer<Map<String, Object>> out = line -> {
                try {
                    writer.write(Json.write(line));
                    writer.write('\n');
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            };
            for (RecordingStore.Dispatched each : left.dispatched) {
                out.accept(DispatchLine.of(each));
            }
            left.deletions.forEach(out);
            List<DispatchRequest> records = new LogTruth(store, left, out).write();
            new QueueTruth(store, out).write();
            new IndexTruth(store, left, out).write(records);
            checkpoint(left.root, out);
        }
    }

    /** The sizes that a reader needs to open the files. */
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

    private static void checkpoint(Path root, Consumer<Map<String, Object>> out) throws IOException {
        StoreCheckpoint checkpoint = new StoreCheckpoint(root.resolve("checkpoint").toString());
        out.accept(Json.object(
            "type", "checkpoint",
            "file", "checkpoint",
            "physic_msg_timestamp", checkpoint.getPhysicMsgTimestamp(),
            "logics_msg_timestamp", checkpoint.getLogicsMsgTimestamp(),
            "index_msg_timestamp", checkpoint.getIndexMsgTimestamp()));
    }

    /** The name of a store file, relative to the store and with forward slashes, wherever the store is. */
    static String name(Path file) {
        for (int at = 0; at < file.getNameCount(); at++) {
            String part = file.getName(at).toString();
            if (FOLDERS.contains(part) || part.startsWith("commitlog-") || part.startsWith("dledger-")) {
                return file.subpath(at, file.getNameCount()).toString().replace('\\', '/');
            }
        }
        throw new IllegalArgumentException("not a file of a store: " + file);
    }

    static void check(boolean holds, String what) {
        if (!holds) {
            throw new IllegalStateException(what);
        }
    }
}
