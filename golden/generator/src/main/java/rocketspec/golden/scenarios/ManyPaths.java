package rocketspec.golden.scenarios;

import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.rocketmq.common.message.Message;
import rocketspec.golden.Scenario;
import rocketspec.golden.Session;

/** A commit log in several directories. */
public final class ManyPaths implements Scenario {

    private static final Map<String, String> LATER = new LinkedHashMap<>();

    static {
        LATER.put("storePathCommitLog", "store/commitlog-b,store/commitlog-c");
        LATER.put("readOnlyCommitLogStorePaths", "store/commitlog-a");
    }

    @Override
    public String description() {
        return "A commit log in several directories, written in turn (storePathCommitLog with commas): first a and b,"
            + " then, a read-only, b and c.";
    }

    @Override
    public long seed() {
        return 4930123;
    }

    @Override
    public Map<String, String> config() {
        Map<String, String> config = new LinkedHashMap<>();
        config.put("storePathCommitLog", "store/commitlog-a,store/commitlog-b");
        config.put("maxHashSlotNum", "31");
        config.put("maxIndexNum", "60");
        config.put("mappedFileSizeCommitLog", "4096");
        config.put("mappedFileSizeConsumeQueue", "400");
        return config;
    }

    @Override
    public void run(Session session) throws Exception {
        session.topic("Paths", 2);
        send(session, 0, 60);
        session.restart(LATER);
        send(session, 60, 120);
    }

    private static void send(Session session, int from, int to) throws Exception {
        for (int i = from; i < to; i++) {
            Message message = Texts.message("Paths", Texts.pick(session.random(), Texts.TAGS), "key-" + i % 13,
                Texts.words(session.random(), 1 + session.random().nextInt(60)));
            session.send(message, i % 2);
            session.settle();
            Thread.sleep(session.indexIsFull() ? 1100 : 2);
        }
    }
}
