package rocketspec.golden.scenarios;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.rocketmq.common.message.Message;
import rocketspec.golden.Scenario;
import rocketspec.golden.Session;

/** A store copied while the broker writes it. */
public final class Live implements Scenario {

    @Override
    public String description() {
        return "A store that was copied while its broker wrote it, as it was at the end, cleanly stopped.";
    }

    @Override
    public String description(String part) {
        return part.isEmpty() ? description()
            : "The store live, copied while the broker wrote it, the commit log last, so that nothing points beyond"
                + " it: the abort file, messages without units or index entries, an index file that still grows.";
    }

    @Override
    public long seed() {
        return 4930111;
    }

    @Override
    public Map<String, String> config() {
        Map<String, String> config = new LinkedHashMap<>();
        config.put("maxHashSlotNum", "31");
        config.put("maxIndexNum", "200");
        config.put("mappedFileSizeCommitLog", "32768");
        config.put("mappedFileSizeConsumeQueue", "1000");
        return config;
    }

    @Override
    public void run(Session session) throws Exception {
        session.topic("Busy", 2);
        AtomicBoolean go = new AtomicBoolean(true);
        AtomicReference<Throwable> failure = new AtomicReference<>();
        Thread writer = new Thread(() -> {
            try {
                for (int i = 0; go.get(); i++) {
                    Message message = Texts.message("Busy", Texts.pick(session.random(), Texts.TAGS), "key-" + i % 29,
                        "busy " + i);
                    session.send(message, i % 2);
                    Thread.sleep(session.indexIsFull() ? 100 : 5);
                }
            } catch (Throwable e) {
                failure.set(e);
            }
        });
        writer.start();
        session.awaitUnits("Busy", 2, 230);
        session.copyLive("copy", "checkpoint", "abort", "index", "consumequeue", "commitlog", "config", "lock");
        Thread.sleep(200);
        go.set(false);
        writer.join();
        if (failure.get() != null) {
            throw new IllegalStateException(failure.get());
        }
    }
}
