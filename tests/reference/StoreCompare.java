import java.io.BufferedOutputStream;
import java.io.BufferedReader;
import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.io.RandomAccessFile;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.zip.CRC32;
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
import org.apache.rocketmq.store.index.IndexHeader;
import org.apache.rocketmq.store.index.IndexService;
import org.apache.rocketmq.store.index.QueryOffsetResult;
import org.apache.rocketmq.store.stats.BrokerStatsManager;

/**
 * The real queue, ext queue and index service, driven by test_real_store.py: INPUT OUTPUT DIRECTORY.
 *
 * One operation a line; a line in answer: what it returned or threw, the state in memory, and a checksum of each file.
 */
public final class StoreCompare {
    private final MessageStoreConfig config = new MessageStoreConfig();
    private final Path scratch;
    private final DefaultMessageStore store;
    private Path root;
    private ConsumeQueue queue;
    private ConsumeQueueExt ext;
    private IndexService service;

    private StoreCompare(Path scratch) throws Exception {
        this.scratch = scratch;
        config.setStorePathRootDir(scratch.resolve("store").toString());
        config.setStorePathCommitLog(scratch.resolve("store/commitlog").toString());
        store = new DefaultMessageStore(config, new BrokerStatsManager("c", false), null, new BrokerConfig());
        field(DefaultMessageStore.class, "storeCheckpoint").set(store, new StoreCheckpoint(scratch.resolve("checkpoint").toString()));
    }

    public static void main(String[] arguments) throws Exception {
        Thread.currentThread().setUncaughtExceptionHandler((thread, error) -> {
            error.printStackTrace();
            Runtime.getRuntime().halt(1);  // the store's threads would go on
        });
        StoreCompare driver = new StoreCompare(Path.of(arguments[2]));
        try (BufferedReader in = Files.newBufferedReader(Path.of(arguments[0]));
             PrintStream out = new PrintStream(new BufferedOutputStream(new FileOutputStream(arguments[1])), false, "US-ASCII")) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                String[] word = line.split(" ", -1);
                String answer;
                try {
                    answer = driver.run(word);
                } catch (InvocationTargetException exception) {
                    answer = "!" + exception.getCause().getClass().getSimpleName();
                } catch (Exception exception) {
                    answer = "!" + exception.getClass().getSimpleName();
                }
                out.println(answer + " " + driver.state() + " " + driver.files());
            }
        }
        System.exit(0);  // the store's threads are still there
    }

    private String run(String[] word) throws Exception {
        switch (word[0]) {
            case "root" -> {
                drop();
                root = scratch.resolve(word[1]);
                config.setStorePathRootDir(root.toString());
                return "-";
            }
            case "write" -> {
                try (RandomAccessFile file = new RandomAccessFile(make(word[1]), "rw")) {
                    file.seek(Long.parseLong(word[2]));
                    file.write(HexFormat.of().parseHex(word[3]));
                }
                return "-";
            }
            case "length" -> {
                try (RandomAccessFile file = new RandomAccessFile(make(word[1]), "rw")) {
                    file.setLength(Long.parseLong(word[2]));
                }
                return "-";
            }
            case "directory" -> {
                Files.createDirectories(root.resolve(word[1]));
                return "-";
            }
            case "drop" -> {
                drop();
                return "-";
            }
            default -> {
                String family = word[0].substring(0, word[0].indexOf('.'));
                return switch (family) {
                    case "queue" -> queue(word);
                    case "ext" -> ext(word);
                    case "service" -> service(word);
                    default -> throw new AssertionError(word[0]);
                };
            }
        }
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

    private String state() throws Exception {
        StringBuilder state = new StringBuilder();
        if (queue != null) {
            state.append(queue.getMinLogicOffset()).append(',').append(queue.getMinOffsetInQueue()).append(',')
                .append(queue.getMaxOffsetInQueue()).append(',').append(queue.getMaxPhysicOffset()).append(',')
                .append(positions((MappedFileQueue) field(queue, "mappedFileQueue")));
            ConsumeQueueExt of = (ConsumeQueueExt) field(queue, "consumeQueueExt");
            if (of != null) {
                state.append(',').append(positions((MappedFileQueue) field(of, "mappedFileQueue")));
            }
        }
        if (ext != null) {
            state.append(positions((MappedFileQueue) field(ext, "mappedFileQueue")));
        }
        if (service != null) {
            state.append(store.getStoreCheckpoint().getIndexMsgTimestamp());
            for (IndexFile file : indexFiles()) {
                IndexHeader header = (IndexHeader) field(file, "indexHeader");
                state.append(';').append(header.getBeginTimestamp()).append(',').append(header.getEndTimestamp()).append(',')
                    .append(header.getBeginPhyOffset()).append(',').append(header.getEndPhyOffset()).append(',')
                    .append(header.getHashSlotCount()).append(',').append(header.getIndexCount());
            }
        }
        return state.isEmpty() ? "-" : state.toString();
    }

    private static String positions(MappedFileQueue files) {
        StringBuilder text = new StringBuilder();
        for (MappedFile file : files.getMappedFiles()) {
            text.append(file.getFileFromOffset()).append(':').append(file.getWrotePosition()).append('/');
        }
        return text.append('.').toString();
    }

    /** Checksum and length of every file below the root, by name; an index file's name is the wall clock's. */
    private String files() throws IOException {
        StringBuilder text = new StringBuilder();
        for (String part : new String[] {"consumequeue/T/0", "consumequeue_ext/T/0", "index"}) {
            for (File file : files(part)) {
                if (file.isDirectory()) {
                    continue;
                }
                CRC32 checksum = new CRC32();
                byte[] data = Files.readAllBytes(file.toPath());
                checksum.update(data);
                text.append(part.equals("index") ? "" : file.getName()).append('=').append(data.length).append(':')
                    .append(Long.toHexString(checksum.getValue())).append(';');
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

    private File make(String name) throws IOException {
        Path path = root.resolve(name);
        Files.createDirectories(path.getParent());
        return path.toFile();
    }

    /** Ends what is open as the end of a process does: unmapped, nothing flushed. */
    private void drop() throws Exception {
        List<MappedFile> open = new ArrayList<>();
        if (queue != null) {
            open.addAll(((MappedFileQueue) field(queue, "mappedFileQueue")).getMappedFiles());
            ConsumeQueueExt of = (ConsumeQueueExt) field(queue, "consumeQueueExt");
            if (of != null) {
                open.addAll(((MappedFileQueue) field(of, "mappedFileQueue")).getMappedFiles());
            }
        }
        if (ext != null) {
            open.addAll(((MappedFileQueue) field(ext, "mappedFileQueue")).getMappedFiles());
        }
        if (service != null) {
            for (IndexFile file : indexFiles()) {
                open.add((MappedFile) field(file, "mappedFile"));
            }
            store.getStoreCheckpoint().shutdown();
        }
        for (MappedFile file : open) {
            MappedFile.clean(file.getMappedByteBuffer());
            file.getFileChannel().close();
        }
        queue = null;
        ext = null;
        service = null;
    }

    @SuppressWarnings("unchecked")
    private List<IndexFile> indexFiles() throws Exception {
        return (List<IndexFile>) field(service, "indexFileList");
    }

    private static long number(String word) {
        return Long.parseLong(word);
    }

    private static String text(String hex) {
        if (hex.equals("null")) {
            return null;
        }
        StringBuilder text = new StringBuilder();
        for (int i = 1; i < hex.length(); i += 4) {
            text.append((char) Integer.parseInt(hex.substring(i, i + 4), 16));
        }
        return text.toString();
    }

    private static Object field(Object object, String name) throws Exception {
        return field(object.getClass(), name).get(object);
    }

    private static Field field(Class<?> type, String name) throws Exception {
        Field field = type.getDeclaredField(name);
        field.setAccessible(true);
        return field;
    }

    private static Method method(Class<?> type, String name) {
        for (Method method : type.getDeclaredMethods()) {
            if (method.getName().equals(name)) {
                method.setAccessible(true);
                return method;
            }
        }
        throw new AssertionError(name);
    }
}
