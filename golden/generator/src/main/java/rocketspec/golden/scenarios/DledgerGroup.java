package rocketspec.golden.scenarios;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.rocketmq.common.message.Message;
import rocketspec.golden.Scenario;
import rocketspec.golden.Session;

/** A DLedger group of three whose leader is killed. */
public final class DledgerGroup implements Scenario {

    @Override
    public String description() {
        return "DLedger mode, a group of three whose leader was killed under load: a member that saw it all, first as"
            + " follower; terms of three leaders.";
    }

    @Override
    public String description(String part) {
        return part.isEmpty() ? description() : part.equals("killed")
            ? "The killed leader's store as it lies: abort, entries that were not committed or not dispatched."
            : "The killed leader after its return: what the group had not committed was truncated, the rest copied, and"
                + " the index files that the restart deleted were not made again.";
    }

    @Override
    public long seed() {
        return 4930121;
    }

    @Override
    public int members() {
        return 3;
    }

    @Override
    public Map<String, String> config() {
        Map<String, String> config = new LinkedHashMap<>(Dledger.SETTINGS);
        config.put("preferredLeaderId", "n1");
        config.put("maxHashSlotNum", "31");
        config.put("maxIndexNum", "100");
        config.put("mappedFileSizeCommitLog", "8192");
        config.put("mappedFileSizeConsumeQueue", "400");
        return config;
    }

    @Override
    public void run(Session session) throws Exception {
        session.members().awaitLeader("n1");
        session.topic("Group", 2);
        send(session, 0, 70);
        List<List<Message>> burst = new ArrayList<>();
        for (int i = 0; i < 6; i++) {
            List<Message> messages = new ArrayList<>();
            for (int n = 0; n < 6; n++) {
                messages.add(Texts.message("Group", "TagBurst", "burst-" + n, "burst " + i + "." + n));
            }
            burst.add(messages);
        }
        session.burst(burst);
        session.members().killFirst();
        send(session, 70, 100);
        session.members().startFirstAgain();
        send(session, 100, 110);
    }

    private static void send(Session session, int from, int to) throws Exception {
        for (int i = from; i < to; i++) {
            Message message = Texts.message("Group", Texts.pick(session.random(), Texts.TAGS), "key-" + i % 13,
                Texts.words(session.random(), 1 + session.random().nextInt(60)));
            session.insist(message, i % 2);
            session.settle();
            // No member must roll twice in one millisecond.
            Thread.sleep(session.indexIsFull() ? 1100 : 10);
        }
    }
}
