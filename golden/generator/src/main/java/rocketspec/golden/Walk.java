package rocketspec.golden;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.rocketmq.common.BrokerConfig;
import org.apache.rocketmq.common.MixAll;
import org.apache.rocketmq.store.DefaultMessageStore;
import org.apache.rocketmq.store.config.MessageStoreConfig;
import org.apache.rocketmq.store.stats.BrokerStatsManager;

/**
 * A store that no broker runs over, opened to be asked: a copy of it is loaded by the real DefaultMessageStore as
 * after a clean stop, which deletes no index file and dispatches nothing, and is never started.
 */
final class Walk {

    private static final Path COPIES = Paths.get("walk");
    private static int copies;

    private Walk() {
    }

    static DefaultMessageStore open(Path root, Map<String, String> config) throws IOException {
        Path copy = COPIES.resolve(Integer.toString(++copies));
        copy(root, copy);
        Files.deleteIfExists(copy.resolve("abort"));
        Properties properties = new Properties();
        properties.putAll(config);
        MessageStoreConfig storeConfig = new MessageStoreConfig();
        MixAll.properties2Object(properties, storeConfig);
        storeConfig.setStorePathRootDir(copy.toString());
        storeConfig.setStorePathCommitLog(storeConfig.getStorePathCommitLog().replace(Broker.STORE.toString(), copy.toString()));
        storeConfig.setdLegerPeers(storeConfig.getdLegerSelfId() + "-127.0.0.1:1"); // nothing listens there
        DefaultMessageStore store = new DefaultMessageStore(storeConfig, new BrokerStatsManager("walk", false), null,
            new BrokerConfig());
        Truth.check(store.load(), root + " does not load");
        return store;
    }

    static void copy(Path from, Path to) throws IOException {
        for (Path path : all(from)) {
            Path target = to.resolve(from.relativize(path).toString());
            if (Files.isDirectory(path)) {
                Files.createDirectories(target);
            } else {
                Files.copy(path, target, StandardCopyOption.REPLACE_EXISTING);
            }
        }
    }

    /** A directory and all that is in it, parents first. */
    static List<Path> all(Path root) throws IOException {
        try (Stream<Path> paths = Files.walk(root)) {
            return paths.sorted().collect(Collectors.toList());
        }
    }
}
