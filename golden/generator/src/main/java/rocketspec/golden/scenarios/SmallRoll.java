package rocketspec.golden.scenarios;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.rocketmq.common.message.Message;
import rocketspec.golden.Scenario;
import rocketspec.golden.Session;

/** Odd and tiny sizes everywhere, so that every kind of file rolls all the time. */
public final class SmallRoll implements Scenario {

    @Override
    public String description() {
        return "7 slots and 12 entries: long chains, an index roll every few messages, pauses while the index file is"
            + " full (so that entry 1 of the next one has a time difference), a clean restart; commit-log files of"
            + " 4,099 bytes with batches that move as a whole, consume-queue files of 8 units; the broker's clock in"
            + " another time zone.";
    }

    @Override
    public long seed() {
        return 4930103;
    }

    @Override
    public String timeZone() {
        return "Asia/Shanghai";
    }

    @Override
    public Map<String, String> config() {
        Map<String, String> config = new LinkedHashMap<>();
        config.put("maxHashSlotNum", "7");
        config.put("maxIndexNum", "12");
        config.put("mappedFileSizeCommitLog", "4099");
        config.put("mappedFileSizeConsumeQueue", "150"); // becomes 160, whole units
        return config;
    }

    @Override
    public void run(Session session) throws Exception {
        session.topic("AaTopic", 1);
        session.topic("BBTopic", 2);
        for (int i = 0; i < 60; i++) {
            if (i == 40) {
                session.restart();
            }
            if (i % 8 == 7) {
                batch(session, i);
            } else {
                single(session, i);
            }
            session.settle();
            // Two rolls in one millisecond would open one file twice; a pause before a roll shows in entry 1.
            Thread.sleep(session.indexIsFull() ? 1100 + session.random().nextInt(1000) : 3);
        }
    }

    private static void single(Session session, int i) throws Exception {
        Random random = session.random();
        String topic = random.nextBoolean() ? "AaTopic" : "BBTopic";
        List<String> keys = new ArrayList<>();
        for (int n = random.nextInt(6); n > 0; n--) {
            keys.add(random.nextInt(3) == 0 ? Texts.pick(random, Texts.KEYS) : Texts.pick(random, Texts.COLLIDING_KEYS));
        }
        Message message = Texts.message(topic, i % 5 == 0 ? null : Texts.pick(random, Texts.TAGS),
            keys.isEmpty() ? null : String.join(" ", keys), Texts.words(random, 1 + random.nextInt(80)));
        session.send(message, 0);
    }

    private static void batch(Session session, int i) throws Exception {
        List<Message> messages = new ArrayList<>();
        for (int n = 0; n < 3; n++) {
            messages.add(Texts.message("BBTopic", "TagBatch", null, Texts.words(session.random(), 300 + i)));
        }
        session.sendBatch(messages, 1);
    }
}
