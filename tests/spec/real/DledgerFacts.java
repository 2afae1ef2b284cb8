package org.apache.rocketmq.store;

import com.alibaba.fastjson.JSON;
import com.alibaba.fastjson.serializer.SerializerFeature;
import io.openmessaging.storage.dledger.store.file.DLedgerMmapFileStore;
import io.openmessaging.storage.dledger.MemberState;
import java.io.File;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.rocketmq.common.BrokerConfig;
import org.apache.rocketmq.common.message.MessageAccessor;
import org.apache.rocketmq.common.message.MessageDecoder;
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

    /** Arguments: the store, the length of its log files, and the lengths of bodies to put. */
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
        config.setEnableMultiDispatch(true);
        config.setEnableLmq(true);
        DefaultMessageStore store =
            new DefaultMessageStore(config, new BrokerStatsManager("facts", false), null, new BrokerConfig());
        Map<String, Object> facts = new LinkedHashMap<>();
        try {
            facts.put("loaded", store.load());
        } catch (OutOfMemoryError error) {
            print(Collections.singletonMap("thrown", error.getClass().getSimpleName()));
        }
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
        if (args.length > 2) {
            facts.put("puts", puts(store, log, args));
        }
        Object service = field(DefaultMessageStore.class, "reputMessageService").get(store);
        ((DefaultMessageStore.ReputMessageService) service).setReputFromOffset(0);
        Method doReput = DefaultMessageStore.ReputMessageService.class.getDeclaredMethod("doReput");
        doReput.setAccessible(true);
        doReput.invoke(service);
        facts.put("dispatched_to", ((DefaultMessageStore.ReputMessageService) service).getReputFromOffset());
        Map<String, Object> after = new TreeMap<>();
        store.getConsumeQueueTable().forEach((topic, table) -> table.forEach((id, queue) -> {
            if (queue.getMaxOffsetInQueue() > 0) {
                after.put(topic + "/" + id, queue.getMaxOffsetInQueue());
            }
        }));
        facts.put("dispatched", after);
        print(facts);
    }

    private static Field field(Class<?> owner, String name) throws Exception {
        Field field = owner.getDeclaredField(name);
        field.setAccessible(true);
        return field;
    }

    /** Puts messages with bodies of these lengths as the leader of a group of one, and what each put returned. */
    private static List<Object> puts(DefaultMessageStore store, DLedgerCommitLog log, String[] args) throws Exception {
        MemberState state = log.getdLedgerServer().getMemberState();
        state.changeToLeader(state.currTerm());
        List<Object> result = new ArrayList<>();
        for (int i = 2; i < args.length; i++) {
            MessageExtBrokerInner message = new MessageExtBrokerInner();
            message.setTopic("Put");
            message.setBody(new byte[Integer.parseInt(args[i])]);
            message.setBornHost(new InetSocketAddress("127.0.0.1", 1));
            message.setStoreHost(new InetSocketAddress("127.0.0.1", 2));
            MessageAccessor.putProperty(message, "INNER_MULTI_DISPATCH", "%LMQ%a");
            message.setPropertiesString(MessageDecoder.messageProperties2String(message.getProperties()));
            String status;
            try {
                status = log.asyncPutMessage(message).get(5, TimeUnit.SECONDS).getPutMessageStatus().name();
            } catch (TimeoutException error) {
                status = "no answer";
            }
            result.add(Arrays.asList(status, log.getMaxOffset()));
        }
        return result;
    }

    private static void print(Map<String, Object> facts) {
        System.out.println("= " + JSON.toJSONString(facts, SerializerFeature.WriteMapNullValue));
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }
}
