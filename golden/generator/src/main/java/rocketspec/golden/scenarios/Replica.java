package rocketspec.golden.scenarios;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.rocketmq.common.message.Message;
import rocketspec.golden.Scenario;
import rocketspec.golden.Session;

/** A master and its slave. */
public final class Replica implements Scenario {

    @Override
    public String description() {
        return "A master whose slave copied everything from the first message on; single and batched messages, delayed"
            + " ones, rolls of every kind of file.";
    }

    @Override
    public String description(String part) {
        return part.isEmpty() ? description() : part.equals("late-slave")
            ? "A slave of replica that came when the master had two commit-log files: it copied the last one only, so"
                + " that its queues begin with blank units."
            : "The slave of replica: the same commit log, and consume queues and index files that it made itself.";
    }

    @Override
    public long seed() {
        return 4930110;
    }

    @Override
    public Map<String, String> config() {
        Map<String, String> config = new LinkedHashMap<>();
        config.put("maxHashSlotNum", "31");
        config.put("maxIndexNum", "100");
        config.put("mappedFileSizeCommitLog", "32768");
        config.put("mappedFileSizeConsumeQueue", "400");
        config.put("brokerRole", "ASYNC_MASTER");
        return config;
    }

    @Override
    public void run(Session session) throws Exception {
        session.startSlave("slave");
        session.topic("Copied", 2);
        for (int i = 0; i < 200; i++) {
            if (i % 9 == 8) {
                List<Message> messages = new ArrayList<>();
                for (int n = 0; n < 3; n++) {
                    messages.add(Texts.message("Copied", "TagBatch", "batch-" + n, "batched " + i + "." + n));
                }
                session.sendBatch(messages, 1);
            } else {
                Message message = Texts.message("Copied", Texts.pick(session.random(), Texts.TAGS), "key-" + i % 13,
                    Texts.words(session.random(), 1 + session.random().nextInt(15)));
                if (i % 20 == 10) {
                    message.setDelayTimeLevel(1);
                }
                session.send(message, i % 2);
            }
            session.settle();
            // The slave, too, must not roll twice in one millisecond.
            Thread.sleep(session.indexIsFull() ? 1100 : 10);
        }
        session.awaitUnits("Copied", 2, 244);
        session.stopSlave("slave");
        session.startSlave("late-slave");
        session.stopSlave("late-slave");
    }
}
