import java.io.BufferedOutputStream;
import java.io.BufferedReader;
import java.io.File;
import java.io.FileOutputStream;
import java.io.PrintStream;
import java.io.RandomAccessFile;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentMap;
import java.util.stream.Stream;
import java.util.zip.CRC32;
import org.apache.rocketmq.common.BrokerConfig;
import org.apache.rocketmq.store.AllocateMappedFileService;
import org.apache.rocketmq.store.CommitLog;
import org.apache.rocketmq.store.ConsumeQueue;
import org.apache.rocketmq.store.ConsumeQueueExt;
import org.apache.rocketmq.store.DefaultMessageStore;
import org.apache.rocketmq.store.MappedFile;
import org.apache.rocketmq.store.MappedFileQueue;
import org.apache.rocketmq.store.QueryMessageResult;
import org.apache.rocketmq.store.StoreCheckpoint;
import org.apache.rocketmq.store.config.BrokerRole;
import org.apache.rocketmq.store.config.MessageStoreConfig;
import org.apache.rocketmq.store.index.IndexFile;
import org.apache.rocketmq.store.index.IndexHeader;
import org.apache.rocketmq.store.index.IndexService;
import org.apache.rocketmq.store.stats.BrokerStatsManager;

/**
 * Starts and ends of the real store, driven by test_real_start.py: INPUT OUTPUT DIRECTORY.
 *
 * load() is the store's own. Of start() and shutdown() only what the files depend on is done, method by method and without
 * the threads, so that a thousand of them take seconds.
 */
public final class StartCompare {
    private final BrokerStatsManager stats = new BrokerStatsManager("c", false);
    private final Path scratch;
    private Path root;
    private DefaultMessageStore store;
    private Object reput;
    private boolean loaded;

    private StartCompare(Path scratch) {
        this.scratch = scratch;
    }

    public static void main(String[] arguments) throws Exception {
        Thread.currentThread().setUncaughtExceptionHandler((thread, error) -> {
            error.printStackTrace();
            Runtime.getRuntime().halt(1);  // the store's threads would go on
        });
        StartCompare driver = new StartCompare(Path.of(arguments[2]));
        try (BufferedReader in = Files.newBufferedReader(Path.of(arguments[0]));
             PrintStream out = new PrintStream(new BufferedOutputStream(new FileOutputStream(arguments[1])), false, "US-ASCII")) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                String answer;
                try {
                    answer = driver.run(line.split(" ", -1));
                } catch (InvocationTargetException exception) {
                    answer = "!" + exception.getCause().getClass().getSimpleName();
                } catch (Exception exception) {
                    answer = "!" + exception.getClass().getSimpleName();
                }
                out.println(answer + " " + driver.state() + " " + driver.files());
            }
        }
        System.exit(0);  // the stores' threads are still there
    }

    private String run(String[] word) throws Exception {
        switch (word[0]) {
            case "root" -> {
                drop();
                root = scratch.resolve(word[1]);
            }
            case "write" -> {
                try (RandomAccessFile file = new RandomAccessFile(make(word[1]), "rw")) {
                    file.seek(Long.parseLong(word[2]));
                    file.write(HexFormat.of().parseHex(word[3]));
                }
            }
            case "length" -> {
                try (RandomAccessFile file = new RandomAccessFile(make(word[1]), "rw")) {
                    file.setLength(Long.parseLong(word[2]));
                }
            }
            case "remove" -> Files.delete(root.resolve(word[1]));
            case "drop" -> drop();
            case "new" -> open(word);
            case "load" -> {
                loaded = store.load();
                return "" + loaded;
            }
            case "start" -> {
                return start();
            }
            case "shutdown" -> {
                return "" + shutdown();
            }
            case "query" -> {
                return query(word);
            }
            case "by_time" -> {
                return "" + store.getOffsetInQueueByTime(text(word[1]), Integer.parseInt(word[2]), Long.parseLong(word[3]));
            }
            default -> throw new AssertionError(word[0]);
        }
        return "-";
    }

    /** new LOG_SIZE QUEUE_SIZE EXT_SIZE MULTI LMQ SLAVE SAFE CRC */
    private void open(String[] word) throws Exception {
        drop();
        MessageStoreConfig config = new MessageStoreConfig();
        config.setStorePathRootDir(root.toString());
        config.setStorePathCommitLog(root.resolve("commitlog").toString());
        config.setMappedFileSizeCommitLog(Integer.parseInt(word[1]));
        config.setMappedFileSizeConsumeQueue(Integer.parseInt(word[2]));
        config.setEnableConsumeQueueExt(!word[3].equals("-"));
        if (config.isEnableConsumeQueueExt()) {
            config.setMappedFileSizeConsumeQueueExt(Integer.parseInt(word[3]));
        }
        config.setEnableMultiDispatch(word[4].equals("1"));
        config.setEnableLmq(word[5].equals("1"));
        config.setBrokerRole(word[6].equals("1") ? BrokerRole.SLAVE : BrokerRole.ASYNC_MASTER);
        config.setMessageIndexSafe(word[7].equals("1"));
        config.setCheckCRCOnRecover(word[8].equals("1"));
        config.setMaxHashSlotNum(7);
        config.setMaxIndexNum(1000);
        BrokerConfig broker = new BrokerConfig();
        broker.setBrokerId(word[6].equals("1") ? 1 : 0);
        store = new DefaultMessageStore(config, stats, null, broker);
        reput = field(store, "reputMessageService");
    }

    /** DefaultMessageStore.start 246-291 and 302, without locks and threads. */
    private String start() throws Exception {
        CommitLog log = store.getCommitLog();
        long position = log.getMinOffset();
        for (ConsumeQueue queue : queues().values()) {
            position = Math.max(position, queue.getMaxPhysicOffset());
        }
        Method set = method(reput.getClass(), "setReputFromOffset");
        Method get = method(reput.getClass(), "getReputFromOffset");
        set.invoke(reput, Math.max(Math.max(position, 0), log.getMinOffset()));
        while (store.dispatchBehindBytes() > 0) {
            long before = (long) get.invoke(reput);
            try {
                method(reput.getClass(), "doReput").invoke(reput);
            } catch (InvocationTargetException exception) {
                // logged by run(), which goes on
            }
            if ((long) get.invoke(reput) == before) {
                return "stuck";
            }
        }
        store.recoverTopicQueueTable();
        method(DefaultMessageStore.class, "createTempFile").invoke(store);
        return "-";
    }

    /** DefaultMessageStore.shutdown 334-342. */
    private boolean shutdown() throws Exception {
        store.getStoreCheckpoint().flush();
        boolean clean = store.getRunningFlags().isWriteable() && store.dispatchBehindBytes() == 0;
        if (clean) {
            Files.deleteIfExists(root.resolve("abort"));
        }
        drop();
        return clean;
    }

    private String query(String[] word) {
        QueryMessageResult result = store.queryMessage(text(word[1]), text(word[2]), Integer.parseInt(word[3]),
            Long.parseLong(word[4]), Long.parseLong(word[5]));
        StringBuilder answer = new StringBuilder();
        for (ByteBuffer buffer : result.getMessageBufferList()) {
            CRC32 checksum = new CRC32();
            byte[] data = new byte[buffer.remaining()];
            buffer.duplicate().get(data);
            checksum.update(data);
            answer.append(data.length).append(':').append(Long.toHexString(checksum.getValue())).append(',');
        }
        result.release();
        return answer.append(result.getIndexLastUpdateTimestamp()).append(',').append(result.getIndexLastUpdatePhyoffset())
            .toString();
    }

    // --- state --------------------------------------------------------------------------------------------------

    private String state() throws Exception {
        if (store == null || !loaded) {
            return "-";
        }
        StringBuilder state = new StringBuilder();
        state.append(method(reput.getClass(), "getReputFromOffset").invoke(reput)).append(';');
        state.append(positions(field(CommitLog.class, "mappedFileQueue").get(store.getCommitLog()))).append(';');
        for (Map.Entry<String, ConsumeQueue> entry : queues().entrySet()) {
            ConsumeQueue queue = entry.getValue();
            if (queue.getMaxPhysicOffset() == -1 && queue.getMaxOffsetInQueue() == 0) {
                continue;  // the schedule service asks for a queue of each delay level, and so makes it in memory
            }
            state.append(hex(queue.getTopic())).append('-').append(queue.getQueueId()).append('=')
                .append(queue.getMinLogicOffset()).append(',').append(queue.getMaxOffsetInQueue()).append(',')
                .append(queue.getMaxPhysicOffset()).append(',').append(positions(field(queue, "mappedFileQueue")));
            Object ext = field(queue, "consumeQueueExt");
            if (ext != null) {
                state.append(',').append(positions(field(ext, "mappedFileQueue")));
            }
            state.append(';');
        }
        for (IndexFile file : indexFiles()) {
            IndexHeader header = (IndexHeader) field(file, "indexHeader");
            state.append(header.getBeginTimestamp()).append(',').append(header.getEndTimestamp()).append(',')
                .append(header.getBeginPhyOffset()).append(',').append(header.getEndPhyOffset()).append(',')
                .append(header.getHashSlotCount()).append(',').append(header.getIndexCount()).append(';');
        }
        StoreCheckpoint checkpoint = store.getStoreCheckpoint();
        return state.append(checkpoint.getPhysicMsgTimestamp()).append(',').append(checkpoint.getLogicsMsgTimestamp())
            .append(',').append(checkpoint.getIndexMsgTimestamp()).append(',')
            .append(store.getRunningFlags().isWriteable()).toString();
    }

    private Map<String, ConsumeQueue> queues() {
        Map<String, ConsumeQueue> queues = new TreeMap<>();
        for (ConcurrentMap<Integer, ConsumeQueue> queuesOfTopic : store.getConsumeQueueTable().values()) {
            for (ConsumeQueue queue : queuesOfTopic.values()) {
                queues.put(hex(queue.getTopic()) + "-" + queue.getQueueId(), queue);
            }
        }
        return queues;
    }

    private static String positions(Object queue) {
        StringBuilder text = new StringBuilder();
        for (MappedFile file : ((MappedFileQueue) queue).getMappedFiles()) {
            text.append(file.getFileFromOffset()).append(':').append(file.getWrotePosition()).append('/');
        }
        return text.append('.').toString();
    }

    /** Checksum and length of every file below the root, by name; an index file's name is the wall clock's. */
    private String files() throws Exception {
        StringBuilder text = new StringBuilder();
        List<Path> paths;
        if (!Files.isDirectory(root)) {
            return "-";
        }
        try (Stream<Path> walk = Files.walk(root)) {
            paths = walk.filter(Files::isRegularFile).filter(path -> !path.getFileName().toString().equals("lock")).toList();
        }
        Map<String, String> lines = new TreeMap<>();
        for (Path path : paths) {
            CRC32 checksum = new CRC32();
            byte[] data = Files.readAllBytes(path);
            checksum.update(data);
            lines.put(root.relativize(path).toString(), "=" + data.length + ":" + Long.toHexString(checksum.getValue()) + ";");
        }
        lines.forEach((name, line) -> text.append(name.startsWith("index") ? "" : hex(name)).append(line));
        return text.isEmpty() ? "-" : text.toString();
    }

    private File make(String name) throws Exception {
        Path path = root.resolve(name);
        Files.createDirectories(path.getParent());
        return path.toFile();
    }

    /** Ends the store as the end of a process does: unmapped, nothing flushed. */
    private void drop() throws Exception {
        if (store == null) {
            return;
        }
        List<MappedFile> open = new ArrayList<>(
            ((MappedFileQueue) field(CommitLog.class, "mappedFileQueue").get(store.getCommitLog())).getMappedFiles());
        for (ConsumeQueue queue : queues().values()) {
            open.addAll(((MappedFileQueue) field(queue, "mappedFileQueue")).getMappedFiles());
            ConsumeQueueExt ext = (ConsumeQueueExt) field(queue, "consumeQueueExt");
            if (ext != null) {
                open.addAll(((MappedFileQueue) field(ext, "mappedFileQueue")).getMappedFiles());
            }
        }
        for (IndexFile file : indexFiles()) {
            open.add((MappedFile) field(file, "mappedFile"));
        }
        for (MappedFile file : open) {
            MappedFile.clean(file.getMappedByteBuffer());
            file.getFileChannel().close();
        }
        StoreCheckpoint checkpoint = store.getStoreCheckpoint();
        if (checkpoint != null) {
            MappedFile.clean((MappedByteBuffer) field(checkpoint, "mappedByteBuffer"));
            ((RandomAccessFile) field(checkpoint, "randomAccessFile")).close();
        }
        ((RandomAccessFile) field(store, "lockFile")).close();
        ((AllocateMappedFileService) field(store, "allocateMappedFileService")).shutdown();
        store = null;
        loaded = false;
    }

    @SuppressWarnings("unchecked")
    private List<IndexFile> indexFiles() throws Exception {
        return (List<IndexFile>) field((IndexService) field(store, "indexService"), "indexFileList");
    }

    private static String text(String hex) {
        StringBuilder text = new StringBuilder();
        for (int i = 1; i < hex.length(); i += 4) {
            text.append((char) Integer.parseInt(hex.substring(i, i + 4), 16));
        }
        return text.toString();
    }

    private static String hex(String text) {
        StringBuilder hex = new StringBuilder("x");
        for (char character : text.toCharArray()) {
            hex.append(String.format("%04x", (int) character));
        }
        return hex.toString();
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
