package rocketspec.golden.scenarios;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.MessageSelector;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.common.message.Message;
import rocketspec.golden.Scenario;
import rocketspec.golden.Session;

/** Consume-queue ext files, with the bit maps that SQL92 filters leave in them. */
public final class Ext implements Scenario {

    @Override
    public String description() {
        return "Consume-queue ext files of 300 bytes: units with and without the bit map of SQL92 consumers, of which"
            + " one joins halfway, ends of files marked early, a delayed message.";
    }

    @Override
    public long seed() {
        return 4930104;
    }

    @Override
    public Map<String, String> config() {
        Map<String, String> config = new LinkedHashMap<>();
        config.put("maxHashSlotNum", "101");
        config.put("maxIndexNum", "500");
        config.put("mappedFileSizeCommitLog", "65536");
        config.put("mappedFileSizeConsumeQueue", "1000");
        config.put("enableConsumeQueueExt", "true");
        config.put("mappedFileSizeConsumeQueueExt", "300");
        config.put("enablePropertyFilter", "true");
        config.put("enableCalcFilterBitMap", "true");
        return config;
    }

    @Override
    public void run(Session session) throws Exception {
        session.topic("Filtered", 2);
        session.topic("Plain", 1);
        List<DefaultMQPushConsumer> consumers = new ArrayList<>();
        consumers.add(consumer(session, "sql-a", "a > 5"));
        consumers.add(consumer(session, "sql-b", "b = 'x' AND a BETWEEN 2 AND 8"));
        for (int i = 0; i < 80; i++) {
            if (i == 40) {
                consumers.add(consumer(session, "sql-c", "TAGS = 'TagA' OR c IS NOT NULL"));
            }
            send(session, i);
        }
        session.settle();
        consumers.forEach(DefaultMQPushConsumer::shutdown);
    }

    private static void send(Session session, int i) throws Exception {
        Random random = session.random();
        Message message = Texts.message(i % 4 == 3 ? "Plain" : "Filtered",
            random.nextInt(4) == 0 ? null : Texts.pick(random, Texts.TAGS), "key-" + i % 9, "message " + i);
        message.putUserProperty("a", Integer.toString(random.nextInt(10)));
        message.putUserProperty("b", random.nextBoolean() ? "x" : "y");
        if (random.nextInt(3) == 0) {
            message.putUserProperty("c", "\u503c");
        }
        if (i == 20) {
            message.setDelayTimeLevel(1);
        }
        session.send(message, message.getTopic().equals("Plain") ? 0 : random.nextInt(2));
    }

    /** Starts a consumer and waits until the broker has compiled its filter. */
    private static DefaultMQPushConsumer consumer(Session session, String group, String sql) throws Exception {
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(group);
        consumer.setNamesrvAddr(session.namesrvAddress());
        consumer.setClientIP("127.0.0.1");
        consumer.setInstanceName(group);
        consumer.setVipChannelEnabled(false);
        consumer.setConsumeThreadMin(1);
        consumer.setConsumeThreadMax(1);
        consumer.subscribe("Filtered", MessageSelector.bySql(sql));
        consumer.registerMessageListener(
            (MessageListenerConcurrently) (messages, context) -> ConsumeConcurrentlyStatus.CONSUME_SUCCESS);
        consumer.start();
        session.await("the filter of " + group,
            () -> session.broker().getConsumerFilterManager().get("Filtered", group) != null);
        return consumer;
    }
}
