package rocketspec.golden.scenarios;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.rocketmq.common.message.Message;
import rocketspec.golden.Scenario;
import rocketspec.golden.Session;

/** kill -9 under load, and the restart after it. */
public final class Killed implements Scenario {

    @Override
    public String description() {
        return "A broker killed with kill -9 under load, its store as it lies: the abort file, messages that were not yet"
            + " dispatched, a prepared empty commit-log file, an index file that was never flushed.";
    }

    @Override
    public String description(String part) {
        return part.isEmpty() ? description()
            : "The store killed after a real start and a clean stop: the recovery deleted files, dispatched again what"
                + " lies behind its checkpoint, indexed the last message twice and gave delayed ones the hash of their"
                + " tags; keys of earlier files are lost from the index.";
    }

    @Override
    public boolean apart() {
        return true;
    }

    @Override
    public long seed() {
        return 4930109;
    }

    @Override
    public Map<String, String> config() {
        Map<String, String> config = new LinkedHashMap<>();
        config.put("maxHashSlotNum", "31");
        config.put("maxIndexNum", "80");
        config.put("mappedFileSizeCommitLog", "8192");
        config.put("mappedFileSizeConsumeQueue", "400");
        config.put("flushConsumeQueueThoroughInterval", "500");
        return config;
    }

    @Override
    public void run(Session session) throws Exception {
        session.topic("Load", 2);
        session.topic("Later", 1);
        Random random = session.random();
        for (int i = 0; i < 170; i++) {
            Message message = Texts.message(i % 12 == 5 ? "Later" : "Load", Texts.pick(random, Texts.TAGS),
                "key-" + i % 19 + " group-" + i / 25, Texts.words(random, 1 + random.nextInt(15)));
            if (i % 12 == 5) {
                message.setDelayTimeLevel(18);
            }
            session.send(message, message.getTopic().equals("Later") ? 0 : i % 2);
            Thread.sleep(60);
        }
        List<List<Message>> burst = new ArrayList<>();
        for (int i = 0; i < 12; i++) {
            List<Message> messages = new ArrayList<>();
            for (int n = 0; n < 15; n++) {
                messages.add(Texts.message("Load", "TagBurst", "burst-" + n, "burst " + i + "." + n));
            }
            burst.add(messages);
        }
        session.burst(burst);
        session.kill();
        session.restartKilled("restarted");
    }
}
