import java.io.RandomAccessFile;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.MappedByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentMap;
import org.apache.rocketmq.common.BrokerConfig;
import org.apache.rocketmq.store.AllocateMappedFileService;
import org.apache.rocketmq.store.CommitLog;
import org.apache.rocketmq.store.ConsumeQueue;
import org.apache.rocketmq.store.DefaultMessageStore;
import org.apache.rocketmq.store.MappedFile;
import org.apache.rocketmq.store.MappedFileQueue;
import org.apache.rocketmq.store.StoreCheckpoint;
import org.apache.rocketmq.store.config.BrokerRole;
import org.apache.rocketmq.store.config.MessageStoreConfig;
import org.apache.rocketmq.store.index.IndexService;
import org.apache.rocketmq.store.stats.BrokerStatsManager;

/**
 * Starts of the real store, driven by test_real_rebuild.py: INPUT OUTPUT DIRECTORY.
 *
 * load() is the store's own. Of start() only what the files depend on is done, method by method and without the
 * threads, so that a thousand of them take seconds.
 */
public final class StartCompare extends StoreDriver {
    private final BrokerStatsManager stats = new BrokerStatsManager("c", false);
    private DefaultMessageStore store;
    private Object reput;

    private StartCompare(Path scratch) {
        super(scratch);
    }

    public static void main(String[] arguments) throws Exception {
        run(new StartCompare(Path.of(arguments[2])), arguments[0], arguments[1]);
    }

    @Override
    String operate(String[] word) throws Exception {
        switch (word[0]) {
            case "new" -> open(word);
            case "load" -> {
                return "" + store.load();
            }
            case "start" -> {
                return start();
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

    @Override
    String state() {
        return "-";
    }

    @Override
    String files() {
        return "-";
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

    @Override
    void drop() throws Exception {
        if (store == null) {
            return;
        }
        List<MappedFile> open = new ArrayList<>(
            ((MappedFileQueue) field(CommitLog.class, "mappedFileQueue").get(store.getCommitLog())).getMappedFiles());
        for (ConsumeQueue queue : queues().values()) {
            collect(queue, open);
        }
        collect(service(), open);
        close(open);
        StoreCheckpoint checkpoint = store.getStoreCheckpoint();
        if (checkpoint != null) {
            MappedFile.clean((MappedByteBuffer) field(checkpoint, "mappedByteBuffer"));
            ((RandomAccessFile) field(checkpoint, "randomAccessFile")).close();
        }
        ((RandomAccessFile) field(store, "lockFile")).close();
        ((AllocateMappedFileService) field(store, "allocateMappedFileService")).shutdown();
        store = null;
    }

    private IndexService service() throws Exception {
        return (IndexService) field(store, "indexService");
    }

    private static String hex(String text) {
        StringBuilder hex = new StringBuilder("x");
        for (char character : text.toCharArray()) {
            hex.append(String.format("%04x", (int) character));
        }
        return hex.toString();
    }
}
