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
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.rocketmq.common.message.Message;
import rocketspec.golden.Scenario;
import rocketspec.golden.Session;

/** DLedger mode, and the oldest files deleted by DLedger's own cleaning. */
public final class DledgerExpired implements Scenario {

    private static final Path STORE = Paths.get("store");
    private static final Path DATA = STORE.resolve("dledger-n0").resolve("data");

    @Override
    public String description() {
        return "DLedger mode after its cleaning deleted the oldest files: the first entry has an index above 0, queues and"
            + " index begin later; then a restart.";
    }

    @Override
    public long seed() {
        return 4930124;
    }

    @Override
    public Map<String, String> config() {
        Map<String, String> config = new LinkedHashMap<>(Dledger.SETTINGS);
        config.put("maxHashSlotNum", "31");
        config.put("maxIndexNum", "60");
        config.put("mappedFileSizeCommitLog", "4096");
        config.put("mappedFileSizeConsumeQueue", "160");
        // DLedger's cleaning runs every 100 ms, and deletes in these hours: in all.
        config.put("deleteWhen", IntStream.range(0, 24).mapToObj(hour -> String.format("%02d", hour))
            .collect(Collectors.joining(";")));
        return config;
    }

    @Override
    public void run(Session session) throws Exception {
        session.topic("Events", 2);
        send(session, 0, 60);
        session.deleting("expiry", 1, STORE, () -> expire(session, 3));
        session.restart();
        send(session, 60, 90);
    }

    private static void send(Session session, int from, int to) throws Exception {
        for (int i = from; i < to; i++) {
            Message message = Texts.message("Events", Texts.pick(session.random(), Texts.TAGS),
                "event-" + i % 23 + " event-" + i / 10, "event " + i);
            session.send(message, session.random().nextInt(2));
            session.settle();
            Thread.sleep(session.indexIsFull() ? 1100 : 2);
        }
    }

    /** Makes the oldest files four days old; DLedger keeps files an hour longer than three. */
    private static void expire(Session session, int count) throws Exception {
        List<Path> files;
        try (Stream<Path> list = Files.list(DATA)) {
            files = list.sorted().limit(count).collect(Collectors.toList());
        }
        FileTime old = FileTime.fromMillis(System.currentTimeMillis() - TimeUnit.DAYS.toMillis(4));
        for (Path file : files) {
            Files.setLastModifiedTime(file, old);
        }
        session.await("the cleaning", () -> session.store().getMinPhyOffset() == count * 4096);
        session.clean();
    }
}
