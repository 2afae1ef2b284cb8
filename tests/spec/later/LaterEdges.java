package org.apache.rocketmq.store;

import java.io.File;
import java.nio.file.Files;
import java.util.Arrays;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.rocketmq.common.BrokerConfig;
import org.apache.rocketmq.store.config.MessageStoreConfig;
import org.apache.rocketmq.store.queue.BatchConsumeQueue;
import org.apache.rocketmq.store.stats.BrokerStatsManager;
import org.apache.rocketmq.store.timer.Slot;
import org.apache.rocketmq.store.timer.TimerWheel;

/** Prints what batch queues with files of odd lengths do, and how a timer wheel and its copies are written and chosen. */
public class LaterEdges {
    public static void main(String[] args) throws Exception {
        for (int length : new int[] {92, 100, 129, 130, 137}) {
            batch(args[0] + "/" + length, length);
        }
        wheel(new File(args[0] + "/wheel"));
        System.exit(0);
    }

    static void batch(String folder, int length) throws Exception {
        MessageStoreConfig config = new MessageStoreConfig();
        config.setStorePathRootDir(folder);
        config.setMapperFileSizeBatchConsumeQueue(length);
        BrokerConfig broker = new BrokerConfig();
        DefaultMessageStore store = new DefaultMessageStore(
            config, new BrokerStatsManager(broker), (topic, queue, offset, tags, time, bits, properties) -> { }, broker, new ConcurrentHashMap<>());
        BatchConsumeQueue queue = new BatchConsumeQueue("T", 0, folder + "/q", config.getMapperFileSizeBatchConsumeQueue(), store);
        StringBuilder line = new StringBuilder("batch " + length);
        for (int n = 0; n < 4; n++) {
            line.append(" ").append(queue.putBatchMessagePositionInfo(100 * n, 100, 0, 1, n, (short) 1));
        }
        queue.flush(0);
        BatchConsumeQueue second = new BatchConsumeQueue("T", 0, folder + "/q", length, store);
        second.load();
        try {
            second.recover();
            line.append(" ").append(second.getMaxOffsetInQueue());
        } catch (RuntimeException error) {
            line.append(" ").append(error.getClass().getSimpleName());
        }
        System.out.println(line);
    }

    static void wheel(File folder) throws Exception {
        String path = folder + "/timerwheel";
        TimerWheel wheel = new TimerWheel(path, 10, 1000);
        wheel.putSlot(25000, 7, 8, 1, 0);
        wheel.putSlot(5000, 9, 9, 1, 0);
        System.out.println("slots " + wheel.getSlot(25000).timeMs + " " + wheel.getSlot(5000).timeMs);
        wheel.flush();
        wheel.putSlot(26000, 1, 2, 4, 6);
        wheel.reviseSlot(46000, TimerWheel.IGNORE, 77, true);
        Slot revised = wheel.getSlot(46000);
        System.out.println("revised " + revised.firstPos + " " + revised.lastPos + " " + revised.num + " " + revised.magic);
        for (long position : new long[] {100, 30, 2000, 999}) {
            wheel.backup(position);
        }
        new File(path + ".5000.tmp").createNewFile();
        System.out.println("copies " + new TreeSet<>(Arrays.asList(folder.list())) + " " + TimerWheel.getMaxSnapshotFlag(path));
        byte[] before = Files.readAllBytes(new File(path).toPath());
        TimerWheel copy = new TimerWheel(path, 10, 1000, 2000);
        copy.putSlot(7000, 1, 1, 1, 0);
        copy.flush();
        System.out.println("written " + !Arrays.equals(before, Files.readAllBytes(new File(path).toPath())));
        try {
            new TimerWheel(path, 11, 1000, 2000);
        } catch (RuntimeException error) {
            System.out.println("length " + error.getMessage());
        }
        new TimerWheel(folder + "/none/timerwheel", 10, 1000);
        System.out.println("made " + new File(folder + "/none/timerwheel").length());
    }
}
