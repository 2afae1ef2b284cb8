package org.apache.rocketmq.store;

import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import org.apache.rocketmq.common.BrokerConfig;
import org.apache.rocketmq.common.TopicConfig;
import org.apache.rocketmq.common.message.MessageAccessor;
import org.apache.rocketmq.common.message.MessageConst;
import org.apache.rocketmq.common.message.MessageDecoder;
import org.apache.rocketmq.common.message.MessageExtBrokerInner;
import org.apache.rocketmq.common.sysflag.MessageSysFlag;
import org.apache.rocketmq.store.config.MessageStoreConfig;
import org.apache.rocketmq.store.queue.ConsumeQueueInterface;
import org.apache.rocketmq.store.queue.CqUnit;
import org.apache.rocketmq.store.queue.ReferredIterator;
import org.apache.rocketmq.store.stats.BrokerStatsManager;

/** A store of a later release with batch queues, long topics and properties with a checksum; prints what its queues contain. */
public class LaterStore {
    static MessageExtBrokerInner message(String topic, int queue, int number, int batch) {
        MessageExtBrokerInner message = new MessageExtBrokerInner();
        message.setTopic(topic);
        message.setQueueId(queue);
        message.setBody(("body " + number + " of " + topic).getBytes(StandardCharsets.UTF_8));
        message.setTags("tag" + number % 3);
        message.setKeys("key" + number);
        message.setBornTimestamp(System.currentTimeMillis());
        message.setBornHost(new InetSocketAddress("127.0.0.1", 40000));
        message.setStoreHost(new InetSocketAddress("127.0.0.1", 10911));
        if (batch > 0) {
            message.setSysFlag(MessageSysFlag.INNER_BATCH_FLAG | MessageSysFlag.NEED_UNWRAP_FLAG);
            MessageAccessor.putProperty(message, MessageConst.PROPERTY_INNER_NUM, String.valueOf(batch));
        }
        message.setPropertiesString(MessageDecoder.messageProperties2String(message.getProperties()));
        return message;
    }

    public static void main(String[] args) throws Exception {
        MessageStoreConfig config = new MessageStoreConfig();
        config.setStorePathRootDir(args[0]);
        config.setStorePathCommitLog(args[0] + "/commitlog");
        config.setMappedFileSizeCommitLog(16384);
        config.setMappedFileSizeConsumeQueue(20 * 20);
        config.setMapperFileSizeBatchConsumeQueue(46 * 10);
        config.setMaxHashSlotNum(61);
        config.setMaxIndexNum(200);
        config.setHaListenPort(0);
        config.setEnabledAppendPropCRC(Boolean.parseBoolean(args[1]));
        config.setDiskMaxUsedSpaceRatio(99);
        ConcurrentMap<String, TopicConfig> topics = new ConcurrentHashMap<>();
        String longTopic = "L".repeat(200);
        for (String name : List.of("Batched", "Plain", longTopic)) {
            TopicConfig topic = new TopicConfig(name, 2, 2);
            if (name.equals("Batched")) {
                topic.setAttributes(new ConcurrentHashMap<>(Map.of("queue.type", "BatchCQ")));
            }
            topics.put(name, topic);
        }
        BrokerConfig broker = new BrokerConfig();
        DefaultMessageStore store = new DefaultMessageStore(
            config, new BrokerStatsManager(broker), (topic, queue, offset, tags, time, bits, properties) -> { }, broker, topics);
        if (!store.load()) {
            throw new IllegalStateException("no load");
        }
        store.start();
        for (int n = 0; n < 60; n++) {
            put(store, message("Batched", n % 2, n, 1 + n % 4));
            if (n % 3 == 0) {
                put(store, message("Plain", n % 2, n, 0));
            }
            if (n % 10 == 0) {
                put(store, message(longTopic, 0, n, 0));
                put(store, message("Batched", 0, n, 0)); // without INNER_NUM: its unit is of one message
            }
        }
        while (store.dispatchBehindBytes() > 0) {
            Thread.sleep(10);
        }
        for (int queue = 0; queue < 2; queue++) {
            ConsumeQueueInterface units = store.getConsumeQueue("Batched", queue);
            System.out.println("= " + queue + " " + units.getMinOffsetInQueue() + " " + units.getMaxOffsetInQueue());
            for (long next = units.getMinOffsetInQueue(); next < units.getMaxOffsetInQueue();) {
                CqUnit unit = units.get(next);
                System.out.println("unit " + queue + " " + unit.getPos() + " " + unit.getSize() + " " + unit.getTagsCode() + " "
                    + store.getCommitLog().pickupStoreTimestamp(unit.getPos(), unit.getSize()) + " " + unit.getQueueOffset() + " "
                    + unit.getBatchNum() + " " + unit.getCompactedOffset());
                next = unit.getQueueOffset() + unit.getBatchNum();
            }
        }
        store.shutdown();
        System.exit(0);
    }

    static void put(DefaultMessageStore store, MessageExtBrokerInner message) {
        PutMessageResult result = store.putMessage(message);
        if (!result.isOk()) {
            throw new IllegalStateException(result.toString());
        }
    }
}
