package rocketspec.golden;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.apache.rocketmq.store.DefaultMessageStore;

/** One store that a scenario made: in a folder of its own, {@code store/} and its description. */
final class Outcome {

    private final Path folder;
    private final Map<String, String> config;
    private final Left left;
    private final DefaultMessageStore broker;

    /** A store that no broker of this process ran over. */
    Outcome(Path folder, Map<String, String> config, Left left) {
        this(folder, config, left, null);
    }

    /** A store whose broker's own objects can be asked. */
    Outcome(Path folder, Map<String, String> config, Left left, DefaultMessageStore broker) {
        this.folder = folder;
        this.config = config;
        this.left = left;
        this.broker = broker;
    }

    /** Writes {@code truth.jsonl} (what Java says of the store) and {@code run.json} (how it was made). */
    void write(Scenario scenario) throws IOException {
        DefaultMessageStore store = broker == null ? Walk.open(left.root, config) : broker;
        Truth.write(store, left, folder.resolve("truth.jsonl"));
        Map<String, Object> run = Json.object(
            "description", scenario.description(folder.toString()),
            "state", !left.clean ? "unclean" : left.indexFilesExpired() > 0 ? "cut" : "clean",
            "seed", scenario.seed(),
            "time_zone", scenario.timeZone(),
            "config", config,
            "store", Truth.sizes(store),
            "jdk", System.getProperty("java.vm.name") + " " + System.getProperty("java.runtime.version"),
            "os", System.getProperty("os.name") + " " + System.getProperty("os.arch"));
        Files.write(folder.resolve("run.json"), Json.write(run).getBytes(StandardCharsets.UTF_8));
    }
}
