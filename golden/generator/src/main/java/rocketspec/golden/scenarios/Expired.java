package rocketspec.golden.scenarios;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.attribute.FileTime;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.rocketmq.common.message.Message;
import rocketspec.golden.Scenario;
import rocketspec.golden.Session;

/** A store that has lost its oldest files to the broker's own cleaning. */
public final class Expired implements Scenario {

    private static final Path STORE = Paths.get("store");

    @Override
    public String description() {
        return "Expired files: twice the broker deleted the oldest commit-log files, and after them the consume-queue and"
            + " index files behind them; minimum offsets above 0, units and index entries below the log's beginning, a"
            + " queue of which no message is left.";
    }

    @Override
    public long seed() {
        return 4930107;
    }

    @Override
    public Map<String, String> config() {
        Map<String, String> config = new LinkedHashMap<>();
        config.put("maxHashSlotNum", "31");
        config.put("maxIndexNum", "60");
        config.put("mappedFileSizeCommitLog", "4096");
        config.put("mappedFileSizeConsumeQueue", "160");
        config.put("deleteWhen", "24");
        return config;
    }

    @Override
    public void run(Session session) throws Exception {
        session.topic("Events", 2);
        session.topic("Rare", 1);
        send(session, 0, 90);
        expire(session, 1, 3);
        send(session, 90, 180);
        session.restart();
        send(session, 180, 200);
        expire(session, 2, 5);
        send(session, 200, 230);
    }

    private static void send(Session session, int from, int to) throws Exception {
        for (int i = from; i < to; i++) {
            boolean rare = i < 40 && i % 7 == 0;
            Message message = Texts.message(rare ? "Rare" : "Events", Texts.pick(session.random(), Texts.TAGS),
                "event-" + i % 23 + " event-" + i / 10, "event " + i);
            session.send(message, rare ? 0 : session.random().nextInt(2));
            session.settle();
            Thread.sleep(session.indexIsFull() ? 1100 : 2);
        }
    }

    /** Makes the oldest commit-log files four days old; the broker keeps files for three. */
    private static void expire(Session session, int start, int count) throws Exception {
        session.deleting("expiry", start, STORE, () -> {
            List<Path> files;
            try (Stream<Path> list = Files.list(STORE.resolve("commitlog"))) {
                files = list.sorted().limit(count).collect(Collectors.toList());
            }
            for (Path file : files) {
                Files.setLastModifiedTime(file,
                    FileTime.fromMillis(System.currentTimeMillis() - TimeUnit.DAYS.toMillis(4)));
            }
            session.clean();
        });
    }
}
