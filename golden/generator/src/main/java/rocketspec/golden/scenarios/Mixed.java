package rocketspec.golden.scenarios;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.PullResult;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;
import rocketspec.golden.Scenario;
import rocketspec.golden.Session;

/** Most of what a broker's store can hold without transactions, light queues or crashes. */
public final class Mixed implements Scenario {

    private static final String GROUP = "golden-group";
    private static final String LONGEST_TOPIC = "T" + String.join("", Collections.nCopies(126, "x"));

    @Override
    public String description() {
        return "Several topics and queues; many, repeated, colliding, CJK and emoji keys; tags of all kinds; user"
            + " properties; sync, async, one-way and batch sends; a compressed and a large body; delay levels;"
            + " retry and dead-letter messages; index files that roll in mid-message, commit-log files that end in"
            + " a blank, consume queues of several files.";
    }

    @Override
    public long seed() {
        return 4930101;
    }

    @Override
    public Map<String, String> config() {
        Map<String, String> config = new LinkedHashMap<>();
        config.put("maxHashSlotNum", "61");
        config.put("maxIndexNum", "200");
        config.put("mappedFileSizeCommitLog", "32768");
        config.put("mappedFileSizeConsumeQueue", "400");
        return config;
    }

    @Override
    public void run(Session session) throws Exception {
        session.topic("AaTopic", 2);
        session.topic("BBTopic", 2);
        session.topic("Orders", 4);
        session.topic("Batch", 2);
        session.topic("Later", 2);
        session.topic(LONGEST_TOPIC, 1);
        delayed(session);
        keysAndTags(session);
        oddMessages(session);
        batches(session);
        asynchronous(session);
        retries(session);
        session.awaitUnits("Later", 2, 6);
    }

    /** Levels 1 (1 s) and 2 (5 s) are delivered before the broker stops, level 18 (2 h) is not. */
    private static void delayed(Session session) throws Exception {
        for (int i = 0; i < 9; i++) {
            Message message = Texts.message("Later", "TagDelay", "later-" + i, "delayed " + i);
            message.setDelayTimeLevel(new int[] {1, 2, 18}[i % 3]);
            session.send(message, i % 2);
        }
    }

    private static void keysAndTags(Session session) throws Exception {
        Random random = session.random();
        for (int i = 0; i < 260; i++) {
            String topic = Texts.pick(random, Arrays.asList("AaTopic", "BBTopic", "Orders"));
            List<String> keys = new ArrayList<>();
            for (int n = random.nextInt(5); n > 0; n--) {
                keys.add(Texts.pick(random, random.nextInt(4) == 0 ? Texts.COLLIDING_KEYS : Texts.KEYS));
            }
            String tags = random.nextInt(5) == 0 ? null : Texts.pick(random, Texts.TAGS);
            Message message = Texts.message(topic, tags, keys.isEmpty() ? null : String.join(" ", keys),
                Texts.words(random, 1 + random.nextInt(60)));
            if (random.nextInt(3) == 0) {
                message.putUserProperty("region", Texts.pick(random, Texts.KEYS));
                message.putUserProperty("\u5c5e\u6027", "\u503c " + i);
            }
            message.setFlag(random.nextInt(3) == 0 ? random.nextInt() : 0);
            session.send(message, random.nextInt(topic.equals("Orders") ? 4 : 2));
        }
    }

    private static void oddMessages(Session session) throws Exception {
        session.send(Texts.message("Orders", "", "", "empty tags, empty keys"), 0);
        session.send(Texts.message("Orders", "TagA", " lead", "a space before the key"), 0);
        session.send(Texts.message("Orders", "TagA", "x  y   z ", "spaces between and behind the keys"), 0);
        session.send(Texts.message("Orders", "TagA", " ", "only a space"), 0);
        session.send(Texts.message("Orders", "TagA", "dup dup dup", "one key three times"), 0);
        session.send(Texts.message("Orders", "TagA", "tab\tkey comma,key", "a tab and a comma in keys"), 0);
        session.send(Texts.message("Orders", "TagA", "lone\ud800surrogate", "encoded as a question mark"), 0);
        Message properties = Texts.message("Orders", "TagA", "properties", "separators inside values");
        properties.putUserProperty("one", "a\u0001b");
        properties.putUserProperty("two", "c\u0002d\u0001e");
        properties.putUserProperty("three", "f\u0002g");
        session.send(properties, 0);
        session.send(Texts.message(LONGEST_TOPIC, "TagA", "longest", "a topic of 127 bytes"), 0);
        session.send(Texts.message(LONGEST_TOPIC, null, String.join("", Collections.nCopies(1000, "k")), "a long key"), 0);
        session.send(Texts.message("Orders", "TagA", "compressed",
            String.join("", Collections.nCopies(3000, "compress me "))), 0);
        session.send(Texts.message("Orders", "TagA", "large", Texts.words(session.random(), 2500)), 0);
    }

    private static void batches(Session session) throws Exception {
        Random random = session.random();
        for (int batch = 0; batch < 6; batch++) {
            List<Message> messages = new ArrayList<>();
            for (int i = 1 + random.nextInt(12); i > 0; i--) {
                messages.add(Texts.message("Batch", Texts.pick(random, Texts.TAGS), random.nextInt(3) == 0 ? null
                    : Texts.pick(random, Texts.KEYS) + " batch-" + batch, Texts.words(random, 1 + random.nextInt(300))));
            }
            session.sendBatch(messages, batch % 2);
        }
    }

    private static void asynchronous(Session session) throws Exception {
        for (int i = 0; i < 40; i++) {
            session.sendAsync(Texts.message("AaTopic", "TagAsync", "async-" + i % 10, "asynchronous " + i), i % 2);
        }
        session.settle();
        long before = session.store().getMaxOffsetInQueue("BBTopic", 0);
        for (int i = 0; i < 20; i++) {
            session.sendOneway(Texts.message("BBTopic", "TagOneway", "oneway-" + i % 7, "one way " + i), 0);
        }
        session.await("the one-way messages", () -> session.store().getMaxOffsetInQueue("BBTopic", 0) == before + 20);
    }

    /** A consumer sends two messages back for a retry after 1 s, and gives one up at once. */
    private static void retries(Session session) throws Exception {
        DefaultMQPullConsumer consumer = new DefaultMQPullConsumer(GROUP);
        consumer.setNamesrvAddr(session.namesrvAddress());
        consumer.setClientIP("127.0.0.1");
        consumer.setVipChannelEnabled(false);
        consumer.start();
        MessageQueue queue = session.queue("Orders", 1);
        PullResult pulled = consumer.pull(queue, "*", 0, 8);
        List<MessageExt> found = pulled.getMsgFoundList();
        consumer.sendMessageBack(found.get(0), 1);
        consumer.sendMessageBack(found.get(1), 1);
        consumer.sendMessageBack(found.get(2), -1);
        consumer.getOffsetStore().updateConsumeOffsetToBroker(queue, pulled.getNextBeginOffset(), false);
        session.awaitUnits("%RETRY%" + GROUP, 1, 2);
        session.awaitUnits("%DLQ%" + GROUP, 1, 1);
        consumer.shutdown();
    }
}
