import com.alibaba.fastjson.JSON;
import com.alibaba.fastjson.JSONArray;
import com.alibaba.fastjson.JSONObject;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.PullResult;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.LocalTransactionState;
import org.apache.rocketmq.client.producer.TransactionListener;
import org.apache.rocketmq.client.producer.TransactionMQProducer;
import org.apache.rocketmq.common.admin.ConsumeStats;
import org.apache.rocketmq.common.admin.OffsetWrapper;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;
import org.apache.rocketmq.tools.admin.DefaultMQAdminExt;

/**
 * Leaves a broker with groups behind, even with and ahead of their queues, delayed messages and open half messages, and
 * writes what the broker says of them. Arguments: name server, broker's name, "make", "ask" or "delay", file of the answer, broker's address.
 */
public final class Progress {

    private static final String TOPIC = "Lag";
    private static final int PATIENCE = 60_000;

    public static void main(String[] arguments) {
        int code = 1;
        try {
            run(arguments);
            code = 0;
        } catch (Throwable problem) {
            problem.printStackTrace();
        }
        Runtime.getRuntime().halt(code);
    }

    private static void run(String[] arguments) throws Exception {
        if (arguments[2].equals("delay")) {
            delay(arguments[0], 3, 3);
            Files.write(Path.of(arguments[3]), "{}".getBytes(StandardCharsets.UTF_8));
            return;
        }
        if (arguments[2].equals("make")) {
            make(arguments[0], arguments[1]);
        }
        JSONObject answer = new JSONObject();
        for (String group : new String[] {"behind", "even", "ahead"}) {
            answer.put(group, stats(arguments[0], arguments[4], group));
        }
        answer.put("pulled", pulled(arguments[0], arguments[1]));
        Files.write(Path.of(arguments[3]), JSON.toJSONString(answer).getBytes(StandardCharsets.UTF_8));
    }

    private static void make(String namesrv, String broker) throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer("progress-producer");
        start(producer, namesrv);
        for (int i = 0; i < 40; i++) {
            Message message = new Message(TOPIC, "Tag", ("body " + i).getBytes(StandardCharsets.UTF_8));
            producer.send(message, new MessageQueue(TOPIC, broker, i % 3 == 0 ? 0 : 1));
        }
        delay(namesrv, 1, 1, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 18, 18);
        transactions(namesrv);
        commit(namesrv, broker, "behind", 3, 5);
        commit(namesrv, broker, "ahead", 1000, 26);
        DefaultMQAdminExt admin = new DefaultMQAdminExt("progress-bounds", PATIENCE);
        admin.setNamesrvAddr(namesrv);
        admin.setVipChannelEnabled(false);
        admin.setInstanceName("bounds");
        admin.start();
        // 40 messages, two of the shortest delay, one that is committed; and the ends of two transactions, which no client waits for.
        MessageQueue ended = new MessageQueue("RMQ_SYS_TRANS_OP_HALF_TOPIC", broker, 0);
        for (long end = System.currentTimeMillis() + PATIENCE; System.currentTimeMillis() < end; Thread.sleep(100)) {
            long sum = admin.maxOffset(new MessageQueue(TOPIC, broker, 0)) + admin.maxOffset(new MessageQueue(TOPIC, broker, 1));
            if (sum == 43 && admin.maxOffset(ended) == 2) {
                break;
            }
        }
        commit(namesrv, broker, "even", admin.maxOffset(new MessageQueue(TOPIC, broker, 0)),
            admin.maxOffset(new MessageQueue(TOPIC, broker, 1)));
    }

    /** With a timeout that covers the first send of a JVM on a busy machine, which takes longer than the 3 s of a client by default. */
    private static void start(DefaultMQProducer producer, String namesrv) throws Exception {
        producer.setNamesrvAddr(namesrv);
        producer.setVipChannelEnabled(false);
        producer.setInstanceName(producer.getProducerGroup());
        producer.setSendMsgTimeout(PATIENCE);
        producer.start();
    }

    private static void delay(String namesrv, int... levels) throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer("progress-delays");
        start(producer, namesrv);
        for (int level : levels) {
            Message message = new Message(TOPIC, ("level " + level).getBytes(StandardCharsets.UTF_8));
            message.setDelayTimeLevel(level);
            producer.send(message);
        }
    }

    /** One transaction that is committed, one rolled back, three that stay open. */
    private static void transactions(String namesrv) throws Exception {
        TransactionMQProducer producer = new TransactionMQProducer("progress-transactions");
        producer.setTransactionListener(new TransactionListener() {
            @Override
            public LocalTransactionState executeLocalTransaction(Message message, Object state) {
                return (LocalTransactionState) state;
            }

            @Override
            public LocalTransactionState checkLocalTransaction(MessageExt message) {
                return LocalTransactionState.UNKNOW;
            }
        });
        start(producer, namesrv);
        for (LocalTransactionState state : new LocalTransactionState[] {LocalTransactionState.UNKNOW,
            LocalTransactionState.COMMIT_MESSAGE, LocalTransactionState.UNKNOW, LocalTransactionState.ROLLBACK_MESSAGE,
            LocalTransactionState.UNKNOW}) {
            producer.sendMessageInTransaction(new Message(TOPIC, "half".getBytes(StandardCharsets.UTF_8)), state);
        }
    }

    private static void commit(String namesrv, String broker, String group, long... offsets) throws Exception {
        DefaultMQPullConsumer consumer = consumer(namesrv, group);
        for (int queue = 0; queue < offsets.length; queue++) {
            consumer.getDefaultMQPullConsumerImpl().getOffsetStore()
                .updateConsumeOffsetToBroker(new MessageQueue(TOPIC, broker, queue), offsets[queue], false);
        }
        consumer.shutdown();
    }

    private static DefaultMQPullConsumer consumer(String namesrv, String group) throws Exception {
        DefaultMQPullConsumer consumer = new DefaultMQPullConsumer(group);
        consumer.setNamesrvAddr(namesrv);
        consumer.setVipChannelEnabled(false);
        consumer.setInstanceName(group);
        consumer.setConsumerPullTimeoutMillis(PATIENCE);
        consumer.start();
        consumer.fetchSubscribeMessageQueues(TOPIC);
        return consumer;
    }

    private static JSONArray stats(String namesrv, String address, String group) throws Exception {
        JSONArray rows = new JSONArray();
        // What `mqadmin consumerProgress` asks each broker, without the route of the group's retry topic.
        ConsumeStats found = consumer(namesrv, "stats-" + group).getDefaultMQPullConsumerImpl().getRebalanceImpl()
            .getmQClientFactory().getMQClientAPIImpl().getConsumeStats(address, group, TOPIC, PATIENCE);
        for (Map.Entry<MessageQueue, OffsetWrapper> entry : found.getOffsetTable().entrySet()) {
            OffsetWrapper offset = entry.getValue();
            rows.add(new long[] {entry.getKey().getQueueId(), offset.getConsumerOffset(), offset.getBrokerOffset()});
        }
        return rows;
    }

    /** Status and next offset of a pull where the group "ahead" is. */
    private static JSONArray pulled(String namesrv, String broker) throws Exception {
        DefaultMQPullConsumer consumer = consumer(namesrv, "ahead");
        PullResult result = consumer.pull(new MessageQueue(TOPIC, broker, 0), "*", 1000, 1);
        JSONArray row = new JSONArray();
        row.add(result.getPullStatus().name());
        row.add(result.getNextBeginOffset());
        return row;
    }
}
