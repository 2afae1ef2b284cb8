package rocketspec.golden.scenarios;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageAccessor;
import org.apache.rocketmq.common.message.MessageConst;
import rocketspec.golden.Scenario;
import rocketspec.golden.Session;

/** Light message queues: one message in several queues. */
public final class Lmq implements Scenario {

    @Override
    public String description() {
        return "Multi-dispatch: messages that also go into light queues (%LMQ%...), one to four at a time, and into a"
            + " queue of another topic; delayed ones; a clean restart, after which the light queues' offsets begin at 0"
            + " again, so that one message is appended and those below the old maximum are missing.";
    }

    @Override
    public long seed() {
        return 4930106;
    }

    @Override
    public Map<String, String> config() {
        Map<String, String> config = new LinkedHashMap<>();
        config.put("maxHashSlotNum", "31");
        config.put("maxIndexNum", "100");
        config.put("mappedFileSizeCommitLog", "16384");
        config.put("mappedFileSizeConsumeQueue", "300");
        config.put("enableLmq", "true");
        config.put("enableMultiDispatch", "true");
        return config;
    }

    @Override
    public void run(Session session) throws Exception {
        session.topic("Devices", 2);
        session.topic("Mirror", 2);
        for (int i = 0; i < 120; i++) {
            if (i == 90) {
                session.restart();
            }
            Message message = Texts.message("Devices", Texts.pick(session.random(), Texts.TAGS), "device-" + i % 11,
                Texts.words(session.random(), 1 + session.random().nextInt(20)));
            List<String> queues = new ArrayList<>();
            for (int n = session.random().nextInt(5); n > 0; n--) {
                String queue = "%LMQ%device-" + session.random().nextInt(6);
                if (!queues.contains(queue)) {
                    queues.add(queue);
                }
            }
            if (i % 10 == 9) {
                queues.add("Mirror");
            }
            if (!queues.isEmpty()) {
                MessageAccessor.putProperty(message, MessageConst.PROPERTY_INNER_MULTI_DISPATCH,
                    String.join(",", queues));
            }
            if (i % 30 == 20) {
                message.setDelayTimeLevel(18);
            }
            session.send(message, i % 2);
            session.settle();
            Thread.sleep(session.indexIsFull() ? 1100 : 2);
        }
    }
}
