import java.io.File;
import org.apache.rocketmq.common.BrokerConfig;
import org.apache.rocketmq.store.DefaultMessageStore;
import org.apache.rocketmq.store.config.MessageStoreConfig;
import org.apache.rocketmq.store.stats.BrokerStatsManager;

/**
 * Times the load of a store that was killed and lost its index and its consume queues: the real DefaultMessageStore walks
 * the whole commit log and builds both again.
 *
 * <p>Arguments: directory of the store, length of a commit-log file. Prints "nanos end-of-log".
 */
public final class RecoverBench {
    private RecoverBench() {
    }

    public static void main(String[] arguments) throws Exception {
        MessageStoreConfig config = new MessageStoreConfig();
        config.setStorePathRootDir(arguments[0]);
        config.setStorePathCommitLog(arguments[0] + File.separator + "commitlog");
        config.setMappedFileSizeCommitLog(Integer.parseInt(arguments[1]));
        DefaultMessageStore store = new DefaultMessageStore(
            config, new BrokerStatsManager("bench", false), (topic, queueId, offset, tags, time, bits, properties) -> { },
            new BrokerConfig());
        long begin = System.nanoTime();
        if (!store.load()) {
            throw new IllegalStateException("load failed");
        }
        long nanos = System.nanoTime() - begin;
        System.out.println(nanos + " " + store.getMaxPhyOffset());
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }
}
