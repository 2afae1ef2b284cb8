import com.alibaba.fastjson.JSON;
import com.alibaba.fastjson.JSONArray;
import com.alibaba.fastjson.JSONObject;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.PullResult;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.exception.MQBrokerException;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.SendStatus;
import org.apache.rocketmq.common.TopicConfig;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageClientIDSetter;
import org.apache.rocketmq.common.message.MessageDecoder;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageId;
import org.apache.rocketmq.common.message.MessageQueue;
import org.apache.rocketmq.namesrv.NamesrvStartup;
import org.apache.rocketmq.tools.admin.DefaultMQAdminExt;
import org.apache.rocketmq.tools.command.MQAdminStartup;

/**
 * The real name server, and a real client with the tools beside it, in this process: one JSON command a line on
 * stdin, one JSON answer a line on stdout after "= ". The broker runs in a process of its own.
 *
 * <p>Arguments: the name server's configuration file, its address, the broker's address and name.
 */
public final class Driver {

    private static final long PATIENCE_MILLIS = 60_000;
    private static final int BATCH = 5;
    private static final int MOST_PULLS = 10_000;

    private final String namesrv;
    private final String broker;
    private final String brokerName;
    private final DefaultMQProducer producer = new DefaultMQProducer("acceptance-producer");
    private final DefaultMQAdminExt admin = new DefaultMQAdminExt("acceptance-admin");
    private final AtomicLong number = new AtomicLong();
    private final ConcurrentLinkedQueue<Object[]> acknowledged = new ConcurrentLinkedQueue<>();
    private final List<Thread> senders = new ArrayList<>();
    private volatile boolean sending;
    private int groups;

    private Driver(String namesrv, String broker, String brokerName) throws Exception {
        this.namesrv = namesrv;
        this.broker = broker;
        this.brokerName = brokerName;
        producer.setNamesrvAddr(namesrv);
        producer.setClientIP("127.0.0.1");
        producer.setVipChannelEnabled(false);
        producer.setRetryTimesWhenSendFailed(0);
        producer.setSendMsgTimeout(10_000);
        producer.start();
        admin.setNamesrvAddr(namesrv);
        admin.setClientIP("127.0.0.1");
        admin.setVipChannelEnabled(false);
        admin.start();
    }

    public static void main(String[] args) throws Exception {
        PrintStream answers = System.out;
        NamesrvStartup.main0(new String[] {"-c", args[0]});
        Driver driver = new Driver(args[1], args[2], args[3]);
        answers.println("= {}");
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            Object answer;
            try {
                answer = driver.answer(JSON.parseObject(line));
            } catch (Throwable e) {
                e.printStackTrace();
                answer = new JSONObject().fluentPut("error", e.toString());
            }
            answers.println("= " + JSON.toJSONString(answer));
        }
        Runtime.getRuntime().halt(0);
    }

    private Object answer(JSONObject asked) throws Exception {
        switch (asked.getString("do")) {
            case "topic":
                return topic(asked.getString("topic"), asked.getIntValue("queues"));
            case "load":
                return load(asked);
            case "count":
                return acknowledged.size();
            case "stop":
                return stop();
            case "query":
                return query(asked.getString("topic"), asked.getJSONArray("keys"));
            case "tool":
                return tool(asked.getJSONArray("arguments").toArray(new String[0]));
            case "unique":
                return offsets(admin.queryMessageByUniqKey(asked.getString("topic"), asked.getString("id"), 32, 0,
                    Long.MAX_VALUE).getMessageList());
            case "view":
                return admin.viewMessage(asked.getString("id")).getCommitLogOffset();
            case "consume":
                return consume(asked.getString("topic"), asked.getIntValue("count"));
            case "deliver":
                return deliver(asked.getJSONArray("topics"), asked.getString("group"), asked.getLongValue("broker"));
            case "by_key":
                return byKey(asked.getJSONArray("messages"));
            case "caught_up":
                return caughtUp(asked.getString("slave"), asked.getLongValue("millis"));
            case "bounds":
                return bounds(asked.getString("topic"), asked.getIntValue("queues"));
            case "ids":
                return ids(asked.getJSONArray("unique"), asked.getJSONArray("offset"));
            case "log":
                return log();
            default:
                throw new IllegalArgumentException(asked.toString());
        }
    }

    /** Makes a topic, or waits until the client sees the queues of one that is there. */
    private Object topic(String name, int queues) throws Exception {
        TopicConfig config = new TopicConfig(name);
        config.setReadQueueNums(queues);
        config.setWriteQueueNums(queues);
        long deadline = System.currentTimeMillis() + PATIENCE_MILLIS;
        for (;;) {
            try {
                admin.createAndUpdateTopicConfig(broker, config);
                if (producer.fetchPublishMessageQueues(name).size() == queues) {
                    return new JSONObject();
                }
            } catch (Exception e) {
                if (System.currentTimeMillis() > deadline) {
                    throw e;
                }
            }
            Thread.sleep(20);
        }
    }

    /** Threads that send until told to stop, or until the broker is gone. */
    private Object load(JSONObject asked) {
        sending = true;
        int threads = asked.getIntValue("threads");
        for (int i = 0; i < threads; i++) {
            Random random = new Random(asked.getLongValue("seed") + i);
            long pauseNanos = (long) (1e9 * threads / asked.getIntValue("per_second"));
            Thread sender = new Thread(() -> send(asked.getString("topic"), asked.getIntValue("queues"), random, pauseNanos));
            senders.add(sender);
            sender.start();
        }
        return new JSONObject();
    }

    private void send(String topic, int queues, Random random, long pauseNanos) {
        long next = System.nanoTime();
        while (sending) {
            try {
                MessageQueue queue = new MessageQueue(topic, brokerName, random.nextInt(queues));
                int kind = random.nextInt(40);
                if (kind < 2) {
                    List<Message> batch = new ArrayList<>();
                    for (int i = 0; i < BATCH; i++) {
                        batch.add(message(topic, random));
                    }
                    accept(batch, producer.send(batch, queue));
                    next += (BATCH - 1) * pauseNanos;
                } else if (kind == 2) {
                    Message later = message("Later", random);
                    later.setDelayTimeLevel(18); // two hours
                    producer.send(later, new MessageQueue("Later", brokerName, 0));
                } else {
                    Message message = message(topic, random);
                    accept(List.of(message), producer.send(message, queue));
                }
                next += pauseNanos;
                long wait = next - System.nanoTime();
                if (wait > 0) {
                    TimeUnit.NANOSECONDS.sleep(wait);
                }
            } catch (Exception e) {
                return; // the broker was killed
            }
        }
    }

    private Message message(String topic, Random random) {
        long n = number.getAndIncrement();
        byte[] body = new byte[20 + random.nextInt(200)];
        random.nextBytes(body);
        return new Message(topic, "Tag" + random.nextInt(5), "id-" + n + " group-" + n / 50, body);
    }

    private void accept(List<Message> sent, SendResult result) {
        if (result.getSendStatus() != SendStatus.SEND_OK) {
            return;
        }
        String[] ids = result.getOffsetMsgId().split(",");
        String[] unique = result.getMsgId().split(",");
        for (int i = 0; i < sent.size(); i++) {
            try {
                acknowledged.add(new Object[] {
                    sent.get(i).getKeys().split(" ")[0], MessageDecoder.decodeMessageId(ids[i]).getOffset(),
                    result.getMessageQueue().getQueueId(), result.getQueueOffset() + i, unique[i], ids[i]});
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        }
    }

    /** Ends the load; returns what was acknowledged since the last time. */
    private Object stop() throws InterruptedException {
        sending = false;
        for (Thread sender : senders) {
            sender.join();
        }
        senders.clear();
        List<Object[]> all = new ArrayList<>();
        for (Object[] one = acknowledged.poll(); one != null; one = acknowledged.poll()) {
            all.add(one);
        }
        return all;
    }

    /** What the tools' queryMessage finds for each key: physical offsets. */
    private Object query(String topic, JSONArray keys) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(4);
        try {
            List<Future<List<Long>>> answers = new ArrayList<>();
            for (Object key : keys) {
                answers.add(pool.submit(() -> {
                    try {
                        return offsets(admin.queryMessage(topic, (String) key, 64, 0, Long.MAX_VALUE).getMessageList());
                    } catch (MQClientException e) {
                        if (e.getMessage().contains("no message")) {
                            return List.of();
                        }
                        throw e;
                    }
                }));
            }
            List<Object> all = new ArrayList<>();
            for (Future<List<Long>> answer : answers) {
                all.add(answer.get());
            }
            return all;
        } finally {
            pool.shutdown();
        }
    }

    private static List<Long> offsets(List<MessageExt> messages) {
        List<Long> offsets = new ArrayList<>();
        messages.forEach(message -> offsets.add(message.getCommitLogOffset()));
        return offsets;
    }

    /** What the command mqadmin prints. */
    private Object tool(String[] arguments) throws Exception {
        System.setProperty("rocketmq.namesrv.addr", namesrv);
        PrintStream before = System.out;
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        System.setOut(new PrintStream(printed, true, "UTF-8"));
        try {
            MQAdminStartup.main0(arguments, null);
        } finally {
            System.setOut(before);
        }
        return printed.toString("UTF-8");
    }

    /** What a new group's consumer gets from the beginning on: queue, logical offset and physical offset of each. */
    private Object consume(String topic, int count) throws Exception {
        ConcurrentLinkedQueue<long[]> got = new ConcurrentLinkedQueue<>();
        AtomicInteger size = new AtomicInteger();
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer("acceptance-" + groups++);
        consumer.setNamesrvAddr(namesrv);
        consumer.setClientIP("127.0.0.1");
        consumer.setVipChannelEnabled(false);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe(topic, "*");
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            for (MessageExt message : messages) {
                got.add(new long[] {message.getQueueId(), message.getQueueOffset(), message.getCommitLogOffset()});
            }
            size.addAndGet(messages.size());
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
        long deadline = System.currentTimeMillis() + PATIENCE_MILLIS;
        while (size.get() < count && System.currentTimeMillis() < deadline) {
            Thread.sleep(20);
        }
        Thread.sleep(1000); // whatever comes once more
        consumer.shutdown();
        return got;
    }

    /**
     * What a group gets from where it stopped on, a new one from the beginning: topic, queue, logical offset, unique key and
     * physical offset of each message. It pulls until an answer leads no further, so no wait decides what it gets: nothing of a topic that
     * the master's list lacks. Messages come from the broker with this number (0 a master, 1 a slave), offsets from the master.
     */
    private Object deliver(JSONArray topics, String group, long from) throws Exception {
        DefaultMQPullConsumer consumer = new DefaultMQPullConsumer(group);
        consumer.setNamesrvAddr(namesrv);
        consumer.setClientIP("127.0.0.1");
        consumer.setVipChannelEnabled(false);
        consumer.setInstanceName("deliver-" + groups++);
        consumer.start();
        try {
            consumer.getDefaultMQPullConsumerImpl().getPullAPIWrapper().setConnectBrokerByUser(true);
            consumer.getDefaultMQPullConsumerImpl().getPullAPIWrapper().setDefaultBrokerId(from);
            List<Object[]> got = new ArrayList<>();
            Set<Object> listed = new HashSet<>(admin.getAllTopicConfig(broker, 10_000).getTopicConfigTable().keySet());
            for (Object topic : topics) {
                if (!listed.contains(topic)) {
                    continue;
                }
                for (MessageQueue queue : consumer.fetchSubscribeMessageQueues((String) topic)) {
                    long kept = consumer.fetchConsumeOffset(queue, true);
                    pullAll(consumer, queue, kept < 0 ? 0 : kept, got);
                }
            }
            return got;
        } finally {
            consumer.shutdown();
        }
    }

    /** How many messages, each a topic and a unique key, the tools find; no more are asked for after three that never end. */
    private Object byKey(JSONArray messages) throws Exception {
        int found = 0;
        int failed = 0;
        for (int i = 0; i < messages.size() && failed < 3; i++) {
            JSONArray one = messages.getJSONArray(i);
            try {
                if (!admin.queryMessageByUniqKey(one.getString(0), one.getString(1), 32, 0, Long.MAX_VALUE).getMessageList().isEmpty()) {
                    found++;
                }
            } catch (MQClientException e) {
                failed += e.getMessage().contains("no message") ? 0 : 1;
            }
        }
        return found;
    }

    /** Waits until a slave's log ends where its master's does, or never comes there. */
    private Object caughtUp(String slave, long millis) throws Exception {
        long deadline = System.currentTimeMillis() + millis;
        while (System.currentTimeMillis() < deadline) {
            String end = admin.fetchBrokerRuntimeStats(broker).getTable().get("commitLogMaxOffset");
            Map<String, String> figures = admin.fetchBrokerRuntimeStats(slave).getTable();
            if (figures.get("commitLogMaxOffset").equals(end) && figures.get("dispatchBehindBytes").equals("0")) {
                return true;
            }
            Thread.sleep(50);
        }
        return false;
    }

    private static void pullAll(DefaultMQPullConsumer consumer, MessageQueue queue, long begin, List<Object[]> got)
        throws Exception {
        long offset = begin;
        for (int pulls = 0; pulls < MOST_PULLS; pulls++) {
            PullResult result;
            try {
                result = consumer.pull(queue, "*", offset, 32);
            } catch (MQBrokerException | OutOfMemoryError e) {
                return; // a consumer asks for the same again and again
            }
            if (result.getMsgFoundList() != null) {
                for (MessageExt message : result.getMsgFoundList()) {
                    got.add(new Object[] {queue.getTopic(), queue.getQueueId(), message.getQueueOffset(),
                        MessageClientIDSetter.getUniqID(message), message.getCommitLogOffset()});
                }
            }
            if (result.getNextBeginOffset() == offset) {
                return;
            }
            offset = result.getNextBeginOffset();
        }
        throw new IllegalStateException(queue + ": the offset never stays");
    }

    /** Minimum and maximum logical offset of each queue. */
    private Object bounds(String topic, int queues) throws Exception {
        List<long[]> all = new ArrayList<>();
        for (int i = 0; i < queues; i++) {
            MessageQueue queue = new MessageQueue(topic, brokerName, i);
            all.add(new long[] {admin.minOffset(queue), admin.maxOffset(queue)});
        }
        return all;
    }

    /** Unique keys and offset ids as the real classes take them apart. */
    private static Object ids(JSONArray unique, JSONArray offset) throws Exception {
        List<Object[]> all = new ArrayList<>();
        for (Object id : unique) {
            String text = (String) id;
            all.add(new Object[] {MessageClientIDSetter.getIPStrFromID(text), MessageClientIDSetter.getPidFromID(text),
                MessageClientIDSetter.getNearlyTimeFromID(text).getTime()});
        }
        for (Object id : offset) {
            MessageId parts = MessageDecoder.decodeMessageId((String) id);
            InetSocketAddress address = (InetSocketAddress) parts.getAddress();
            all.add(new Object[] {address.getAddress().getHostAddress(), address.getPort(), parts.getOffset()});
        }
        return all;
    }

    /** The broker's own figures, once it has dispatched all that it has; right after a start it fails to give any. */
    private Object log() throws Exception {
        long deadline = System.currentTimeMillis() + PATIENCE_MILLIS;
        for (;;) {
            try {
                Map<String, String> figures = admin.fetchBrokerRuntimeStats(broker).getTable();
                if (figures.get("dispatchBehindBytes").equals("0")) {
                    return figures;
                }
            } catch (MQBrokerException e) {
                if (System.currentTimeMillis() > deadline) {
                    throw e;
                }
            }
            if (System.currentTimeMillis() > deadline) {
                throw new IllegalStateException("dispatch stays behind");
            }
            Thread.sleep(20);
        }
    }
}
