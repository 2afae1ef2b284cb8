package org.apache.rocketmq.store;

import com.alibaba.fastjson.JSON;
import com.alibaba.fastjson.serializer.SerializerFeature;
import io.openmessaging.storage.dledger.store.file.DLedgerMmapFileStore;
import java.io.File;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.rocketmq.common.BrokerConfig;
import org.apache.rocketmq.store.config.MessageStoreConfig;
import org.apache.rocketmq.store.dledger.DLedgerCommitLog;
import org.apache.rocketmq.store.stats.BrokerStatsManager;

/**
 * Loads a store in DLedger mode by the real DefaultMessageStore, never starts it, and prints what its recovery made of it: one
 * line of JSON. Ends with another code where DLedger ends the process itself. No port is opened.
 */
public final class DledgerFacts {

    private DledgerFacts() {
    }

    /** Arguments: the store, and the length of its log files. */
    public static void main(String[] args) {
        try {
            run(args);
        } catch (Throwable e) {
            e.printStackTrace();
        }
        Runtime.getRuntime().halt(3); // the store's threads would keep the process alive
    }

    private static void run(String[] args) throws Exception {
        MessageStoreConfig config = new MessageStoreConfig();
        config.setStorePathRootDir(args[0]);
        config.setStorePathCommitLog(args[0] + File.separator + "commitlog");
        config.setMappedFileSizeCommitLog(Integer.parseInt(args[1]));
        config.setMappedFileSizeConsumeQueue(400);
        config.setMaxHashSlotNum(31);
        config.setMaxIndexNum(100);
        config.setEnableDLegerCommitLog(true);
        config.setdLegerGroup("golden");
        config.setdLegerSelfId("n0");
        config.setdLegerPeers("n0-127.0.0.1:1");
        DefaultMessageStore store =
            new DefaultMessageStore(config, new BrokerStatsManager("facts", false), null, new BrokerConfig());
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("loaded", store.load());
        DLedgerCommitLog log = (DLedgerCommitLog) store.getCommitLog();
        DLedgerMmapFileStore entries = (DLedgerMmapFileStore) log.getdLedgerServer().getdLedgerStore();
        facts.put("write_pos", entries.getWritePos());
        facts.put("begin_index", entries.getLedgerBeginIndex());
        facts.put("end_index", entries.getLedgerEndIndex());
        facts.put("committed_pos", entries.getCommittedPos());
        facts.put("min_offset", log.getMinOffset());
        facts.put("max_offset", log.getMaxOffset());
        Map<String, Object> queues = new TreeMap<>();
        store.getConsumeQueueTable().forEach((topic, table) -> table.forEach((id, queue) ->
            queues.put(topic + "/" + id, new long[] {queue.getMaxOffsetInQueue(), queue.getMaxPhysicOffset()})));
        facts.put("queues", queues);
        Map<String, Object> found = new TreeMap<>();
        for (int max : new int[] {1, 2, 4, 8}) {
            List<Long> offsets = new ArrayList<>();
            store.queryMessage("Ledger", "batch-0", max, 0, Long.MAX_VALUE).getMessageBufferList()
                .forEach(buffer -> offsets.add(buffer.getLong(28)));
            found.put(String.valueOf(max), offsets);
        }
        facts.put("batch-0", found);
        System.out.println("= " + JSON.toJSONString(facts, SerializerFeature.WriteMapNullValue));
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }
}
