package rocketspec.golden.scenarios;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.sysflag.MessageSysFlag;
import rocketspec.golden.Scenario;
import rocketspec.golden.Session;

/** A broker in DLedger mode, the only member of its group. */
public final class Dledger implements Scenario {

    static final Map<String, String> SETTINGS = new LinkedHashMap<>();

    static {
        SETTINGS.put("enableDLegerCommitLog", "true");
        SETTINGS.put("dLegerGroup", "golden");
        SETTINGS.put("dLegerSelfId", "n0");
    }

    @Override
    public String description() {
        return "DLedger mode, a group of one: a header before each record and a mark at the end of each full file; several"
            + " topics, keys and tags, batches over a file's end, delayed messages, the four transaction types, a clean"
            + " restart, rolls of every kind of file.";
    }

    @Override
    public long seed() {
        return 4930120;
    }

    @Override
    public Map<String, String> config() {
        Map<String, String> config = new LinkedHashMap<>(SETTINGS);
        config.put("maxHashSlotNum", "31");
        config.put("maxIndexNum", "100");
        config.put("mappedFileSizeCommitLog", "8192");
        config.put("mappedFileSizeConsumeQueue", "400");
        return config;
    }

    @Override
    public void run(Session session) throws Exception {
        session.topic("Ledger", 2);
        session.topic("Other", 1);
        send(session, 0, 90);
        Raw.record(session, "Other", MessageSysFlag.TRANSACTION_PREPARED_TYPE, 1);
        Raw.record(session, "Other", MessageSysFlag.TRANSACTION_COMMIT_TYPE, 2);
        Raw.record(session, "Other", MessageSysFlag.TRANSACTION_ROLLBACK_TYPE, 3);
        session.awaitUnits("Other", 1, 15);
        session.restart();
        send(session, 90, 120);
    }

    private static void send(Session session, int from, int to) throws Exception {
        Random random = session.random();
        for (int i = from; i < to; i++) {
            if (i % 9 == 8) {
                List<Message> messages = new ArrayList<>();
                for (int n = 0; n < 8; n++) {
                    messages.add(Texts.message("Ledger", "TagBatch", "batch-" + n, Texts.words(random, 40)));
                }
                session.sendBatch(messages, 1);
            } else {
                String topic = i % 5 == 0 ? "Other" : "Ledger";
                Message message = Texts.message(topic, random.nextInt(5) == 0 ? null : Texts.pick(random, Texts.TAGS),
                    Texts.pick(random, Texts.KEYS) + " key-" + i % 13, Texts.words(random, 1 + random.nextInt(60)));
                if (i % 20 == 10) {
                    message.setDelayTimeLevel(i % 40 == 10 ? 1 : 18);
                }
                session.send(message, topic.equals("Other") ? 0 : i % 2);
            }
            session.settle();
            Thread.sleep(session.indexIsFull() ? 1100 : 2);
        }
    }
}
