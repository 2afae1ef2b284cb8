package rocketspec.golden.scenarios;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.rocketmq.common.message.Message;
import rocketspec.golden.Scenario;
import rocketspec.golden.Session;

/** The index file and the consume-queue files that a broker has when nobody configured them. */
public final class DefaultGeometry implements Scenario {

    @Override
    public String description() {
        return "The default index geometry, 5,000,000 slots and 20,000,000 entries, and default consume-queue files of"
            + " 300,000 units, with 300 messages sent over some seconds; only the commit-log files are smaller.";
    }

    @Override
    public long seed() {
        return 4930102;
    }

    @Override
    public Map<String, String> config() {
        Map<String, String> config = new LinkedHashMap<>();
        config.put("mappedFileSizeCommitLog", "4194304");
        return config;
    }

    @Override
    public void run(Session session) throws Exception {
        session.topic("AaTopic", 1);
        session.topic("BBTopic", 1);
        session.topic("Orders", 2);
        Random random = session.random();
        String[] topics = {"AaTopic", "BBTopic", "Orders"};
        for (int i = 0; i < 300; i++) {
            String topic = topics[random.nextInt(topics.length)];
            List<String> keys = new ArrayList<>();
            for (int n = random.nextInt(4); n > 0; n--) {
                keys.add(Texts.pick(random, random.nextInt(3) == 0 ? Texts.COLLIDING_KEYS : Texts.KEYS));
            }
            Message message = Texts.message(topic, random.nextInt(4) == 0 ? null : Texts.pick(random, Texts.TAGS),
                keys.isEmpty() ? null : String.join(" ", keys), Texts.words(random, 1 + random.nextInt(100)));
            session.send(message, topic.equals("Orders") ? random.nextInt(2) : 0);
            if (i % 100 == 50) {
                Thread.sleep(1300);
            }
        }
    }
}
