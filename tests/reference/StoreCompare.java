import java.io.File;
import java.io.IOException;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import org.apache.rocketmq.common.BrokerConfig;
import org.apache.rocketmq.store.ConsumeQueue;
import org.apache.rocketmq.store.ConsumeQueueExt;
import org.apache.rocketmq.store.DefaultMessageStore;
import org.apache.rocketmq.store.DispatchRequest;
import org.apache.rocketmq.store.MappedFile;
import org.apache.rocketmq.store.MappedFileQueue;
import org.apache.rocketmq.store.SelectMappedBufferResult;
import org.apache.rocketmq.store.StoreCheckpoint;
import org.apache.rocketmq.store.config.MessageStoreConfig;
import org.apache.rocketmq.store.index.IndexFile;
import org.apache.rocketmq.store.index.IndexService;
import org.apache.rocketmq.store.index.QueryOffsetResult;
import org.apache.rocketmq.store.stats.BrokerStatsManager;

/**
 * The real queue, ext queue and index service, driven by test_real_store.py: INPUT OUTPUT DIRECTORY.
 *
 * One operation a line; a line in answer: what it returned or threw, the state in memory, and a checksum of each file.
 */
public final class StoreCompare extends StoreDriver {
    private final MessageStoreConfig config = new MessageStoreConfig();
    private final DefaultMessageStore store;
    private ConsumeQueue queue;
    private ConsumeQueueExt ext;
    private IndexService service;

    private StoreCompare(Path scratch) throws Exception {
        super(scratch);
        config.setStorePathRootDir(scratch.resolve("store").toString());
        config.setStorePathCommitLog(scratch.resolve("store/commitlog").toString());
        store = new DefaultMessageStore(config, new BrokerStatsManager("c", false), null, new BrokerConfig());
        field(DefaultMessageStore.class, "storeCheckpoint").set(store, new StoreCheckpoint(scratch.resolve("checkpoint").toString()));
    }

    public static void main(String[] arguments) throws Exception {
        run(new StoreCompare(Path.of(arguments[2])), arguments[0], arguments[1]);
    }

    @Override
    String operate(String[] word) throws Exception {
        config.setStorePathRootDir(root.toString());
        return switch (word[0].substring(0, word[0].indexOf('.'))) {
            case "queue" -> queue(word);
            case "ext" -> ext(word);
            case "service" -> service(word);
            default -> throw new AssertionError(word[0]);
        };
    }

    // --- queue --------------------------------------------------------------------------------------------------

    private String queue(String[] word) throws Exception {
        switch (word[0]) {
            case "queue.open" -> {
                drop();
                config.setMappedFileSizeConsumeQueue(Integer.parseInt(word[1]));
                config.setEnableConsumeQueueExt(!word[2].equals("-"));
                if (config.isEnableConsumeQueueExt()) {
                    config.setMappedFileSizeConsumeQueueExt(Integer.parseInt(word[2]));
                }
                queue = new ConsumeQueue("T", 0, root.resolve("consumequeue").toString(),
                    config.getMappedFileSizeConsumeQueue(), store);
                return "-";
            }
            case "queue.load" -> {
                return "" + queue.load();
            }
            case "queue.put" -> {
                Method put = method(ConsumeQueue.class, "putMessagePositionInfo");
                return "" + put.invoke(queue, number(word[1]), (int) number(word[2]), number(word[3]), number(word[4]));
            }
            case "queue.dispatch" -> {
                DispatchRequest request = new DispatchRequest("T", 0, number(word[1]), (int) number(word[2]), number(word[3]),
                    number(word[4]), number(word[5]), null, null, 0, 0, null);
                request.setBitMap(word[6].equals("-") ? null : HexFormat.of().parseHex(word[6]));
                queue.putMessagePositionInfoWrapper(request, false);
                return "-";
            }
            case "queue.get" -> {
                SelectMappedBufferResult result = queue.getIndexBuffer(number(word[1]));
                if (result == null) {
                    return "null";
                }
                try {
                    ByteBuffer bytes = result.getByteBuffer();
                    return bytes.getLong() + "," + bytes.getInt() + "," + bytes.getLong();
                } finally {
                    result.release();
                }
            }
            case "queue.recover" -> queue.recover();
            case "queue.truncate" -> queue.truncateDirtyLogicFiles(number(word[1]));
            case "queue.correct_min" -> queue.correctMinOffset(number(word[1]));
            case "queue.delete_expired" -> {
                return "" + queue.deleteExpiredFile(number(word[1]));
            }
            case "queue.last_offset" -> {
                return "" + queue.getLastOffset();
            }
            case "queue.reset" -> {
                return "" + ((MappedFileQueue) field(queue, "mappedFileQueue")).resetOffset(number(word[1]));
            }
            case "queue.destroy" -> queue.destroy();
            default -> throw new AssertionError(word[0]);
        }
        return "-";
    }

    private String ext(String[] word) throws Exception {
        ConsumeQueueExt queueExt = ext;
        switch (word[0]) {
            case "ext.open" -> {
                drop();
                ext = new ConsumeQueueExt("T", 0, root.resolve("consumequeue_ext").toString(),
                    Integer.parseInt(word[1]), Integer.parseInt(word[2]));
            }
            case "ext.load" -> {
                return "" + queueExt.load();
            }
            case "ext.put" -> {
                byte[] bitMap = word[3].equals("-") ? null : HexFormat.of().parseHex(word[3]);
                return "" + queueExt.put(new ConsumeQueueExt.CqExtUnit(number(word[1]), number(word[2]), bitMap));
            }
            case "ext.get" -> {
                ConsumeQueueExt.CqExtUnit unit = queueExt.get(number(word[1]));
                if (unit == null) {
                    return "null";
                }
                byte[] bitMap = unit.getFilterBitMap();
                return unit.getSize() + "," + unit.getTagsCode() + "," + unit.getMsgStoreTime() + ","
                    + (bitMap == null ? "" : HexFormat.of().formatHex(bitMap));
            }
            case "ext.recover" -> queueExt.recover();
            case "ext.truncate_max" -> queueExt.truncateByMaxAddress(number(word[1]));
            case "ext.truncate_min" -> queueExt.truncateByMinAddress(number(word[1]));
            case "ext.bounds" -> {
                return queueExt.getMinAddress() + "," + queueExt.getMaxAddress();
            }
            default -> throw new AssertionError(word[0]);
        }
        return "-";
    }

    // --- service ------------------------------------------------------------------------------------------------

    private String service(String[] word) throws Exception {
        switch (word[0]) {
            case "service.open" -> {
                drop();
                config.setMaxHashSlotNum(Integer.parseInt(word[1]));
                config.setMaxIndexNum(Integer.parseInt(word[2]));
                Path kept = scratch.resolve("checkpoint-of-" + root.getFileName());
                StoreCheckpoint checkpoint = new StoreCheckpoint(kept.toString());
                checkpoint.setIndexMsgTimestamp(number(word[3]));
                field(DefaultMessageStore.class, "storeCheckpoint").set(store, checkpoint);
                service = new IndexService(store);
            }
            case "service.load" -> {
                return "" + service.load(word[1].equals("1"));
            }
            case "service.build" -> {
                DispatchRequest request = new DispatchRequest(text(word[1]), 0, number(word[4]), 1, 0, number(word[5]), 0,
                    text(word[3]), text(word[2]), (int) number(word[6]), 0, null);
                int before = files("index").length;
                long started = System.currentTimeMillis();
                try {
                    service.buildIndex(request);
                } finally {
                    if (files("index").length != before) {
                        settle();
                        while (System.currentTimeMillis() <= started + 1) {
                            Thread.sleep(1);
                        }
                        long made = System.currentTimeMillis();
                        while (System.currentTimeMillis() <= made) {
                            Thread.sleep(1);
                        }
                    }
                }
            }
            case "service.query" -> {
                QueryOffsetResult result = service.queryOffset(text(word[1]), text(word[2]), (int) number(word[3]),
                    number(word[4]), number(word[5]));
                return result.getPhyOffsets().toString().replace(" ", "") + result.getIndexLastUpdateTimestamp() + ","
                    + result.getIndexLastUpdatePhyoffset();
            }
            case "service.delete_expired" -> service.deleteExpiredFile(number(word[1]));
            default -> throw new AssertionError(word[0]);
        }
        return "-";
    }

    /** Waits for the threads that flush full index files. */
    private static void settle() throws InterruptedException {
        for (Thread thread : Thread.getAllStackTraces().keySet()) {
            if (thread.getName().equals("FlushIndexFileThread")) {
                thread.join();
            }
        }
    }

    // --- state --------------------------------------------------------------------------------------------------

    @Override
    String state() throws Exception {
        StringBuilder state = new StringBuilder();
        if (queue != null) {
            state.append(queue.getMinLogicOffset()).append(',').append(queue.getMinOffsetInQueue()).append(',')
                .append(queue.getMaxOffsetInQueue()).append(',').append(queue.getMaxPhysicOffset()).append(',')
                .append(positionsOf(queue));
        }
        if (ext != null) {
            state.append(positions(field(ext, "mappedFileQueue")));
        }
        if (service != null) {
            state.append(store.getStoreCheckpoint().getIndexMsgTimestamp());
            for (IndexFile file : indexFiles(service)) {
                state.append(';').append(header(file));
            }
        }
        return state.isEmpty() ? "-" : state.toString();
    }

    /** Checksum and length of every file below the root, by name; an index file's name is the wall clock's. */
    @Override
    String files() throws IOException {
        StringBuilder text = new StringBuilder();
        for (String part : new String[] {"consumequeue/T/0", "consumequeue_ext/T/0", "index"}) {
            for (File file : files(part)) {
                if (file.isDirectory()) {
                    continue;
                }
                text.append(part.equals("index") ? "" : file.getName()).append(summary(file.toPath()));
            }
        }
        return text.isEmpty() ? "-" : text.toString();
    }

    private File[] files(String part) {
        File[] files = root.resolve(part).toFile().listFiles();
        if (files == null) {
            return new File[0];
        }
        Arrays.sort(files);
        return files;
    }

    @Override
    void drop() throws Exception {
        List<MappedFile> open = new ArrayList<>();
        if (queue != null) {
            collect(queue, open);
        }
        collect(ext, open);
        if (service != null) {
            collect(service, open);
            store.getStoreCheckpoint().shutdown();
        }
        close(open);
        queue = null;
        ext = null;
        service = null;
    }

    private static long number(String word) {
        return Long.parseLong(word);
    }
}
