package rocketspec.golden.scenarios;

import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.rocketmq.common.message.Message;
import rocketspec.golden.Scenario;
import rocketspec.golden.Session;

/** A plain store over which a broker in DLedger mode was started. */
public final class DledgerUpgraded implements Scenario {

    @Override
    public String description() {
        return "A plain commit log that a broker in DLedger mode went on with: files without entry headers up to the"
            + " dividing offset, files with them from there, queues and index over both; then a second start in DLedger"
            + " mode.";
    }

    @Override
    public long seed() {
        return 4930122;
    }

    @Override
    public Map<String, String> config() {
        Map<String, String> config = new LinkedHashMap<>();
        config.put("maxHashSlotNum", "31");
        config.put("maxIndexNum", "60");
        config.put("mappedFileSizeCommitLog", "4096");
        config.put("mappedFileSizeConsumeQueue", "400");
        return config;
    }

    @Override
    public void run(Session session) throws Exception {
        session.topic("Upgraded", 2);
        send(session, 0, 45);
        session.restart(Dledger.SETTINGS);
        send(session, 45, 70);
        session.restart();
        send(session, 70, 90);
    }

    static void send(Session session, int from, int to) throws Exception {
        for (int i = from; i < to; i++) {
            Message message = Texts.message("Upgraded", Texts.pick(session.random(), Texts.TAGS), "key-" + i % 13,
                Texts.words(session.random(), 1 + session.random().nextInt(60)));
            session.send(message, i % 2);
            session.settle();
            Thread.sleep(session.indexIsFull() ? 1100 : 2);
        }
    }
}
