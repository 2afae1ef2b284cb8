import java.io.File;
import java.io.Reader;
import java.lang.reflect.Field;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import javax.tools.ToolProvider;
import org.apache.rocketmq.common.BrokerConfig;
import org.apache.rocketmq.common.MixAll;
import org.apache.rocketmq.store.DefaultMessageStore;
import org.apache.rocketmq.store.config.MessageStoreConfig;
import org.apache.rocketmq.store.ha.HAService;
import org.apache.rocketmq.store.stats.BrokerStatsManager;

/**
 * Starts the real store over directories that hold a commit log, each with a changed class before the jars, and stops it:
 * queues, index files and checkpoint are then those that this class makes of the log. No port is opened.
 */
public final class Replay {
    private static final int AT_ONCE = 4; // a start and a stop wait for more than a second each

    private Replay() {
    }

    /** Arguments: the configuration of all starts, then of each start a source, a folder for its classes, and the directory of its store. */
    public static void main(String[] arguments) {
        int status = 1;
        try {
            String classPath = System.getProperty("java.class.path");
            URL[] jars = urls(classPath.split(File.pathSeparator));
            ExecutorService starts = Executors.newFixedThreadPool(AT_ONCE);
            List<Future<Void>> running = new ArrayList<>();
            for (int i = 1; i < arguments.length; i += 3) {
                String classes = arguments[i + 1];
                String store = arguments[i + 2];
                compile(classPath, arguments[i], classes);
                running.add(starts.submit((Callable<Void>) () -> apart(jars, arguments[0], classes, store)));
            }
            for (Future<Void> one : running) {
                one.get();
            }
            status = 0;
        } catch (Throwable error) {
            error.printStackTrace();
        }
        System.exit(status); // threads of the stores may still wait
    }

    private static void compile(String classPath, String source, String classes) throws Exception {
        Files.createDirectories(Paths.get(classes));
        int failed = ToolProvider.getSystemJavaCompiler().run(null, null, null, "-nowarn", "-encoding", "UTF-8", "-proc:none",
            "--add-exports=java.base/sun.nio.ch=ALL-UNNAMED", "-cp", classPath, "-d", classes, source);
        if (failed != 0) {
            throw new IllegalStateException("it does not compile: " + source);
        }
    }

    private static Void apart(URL[] jars, String config, String classes, String store) throws Exception {
        URL[] all = Arrays.copyOf(urls(classes), 1 + jars.length);
        System.arraycopy(jars, 0, all, 1, jars.length);
        ClassLoader loader = new URLClassLoader(all, ClassLoader.getPlatformClassLoader());
        Thread.currentThread().setContextClassLoader(loader);
        loader.loadClass(Replay.class.getName()).getMethod("run", String.class, String.class).invoke(null, config, store);
        return null;
    }

    private static URL[] urls(String... paths) throws Exception {
        URL[] urls = new URL[paths.length];
        for (int i = 0; i < paths.length; i++) {
            urls[i] = Paths.get(paths[i]).toUri().toURL();
        }
        return urls;
    }

    /** One start and stop. */
    public static void run(String configuration, String directory) throws Exception {
        Properties properties = new Properties();
        try (Reader file = Files.newBufferedReader(Paths.get(configuration))) {
            properties.load(file);
        }
        Path root = Paths.get(directory);
        MessageStoreConfig config = new MessageStoreConfig();
        MixAll.properties2Object(properties, config);
        config.setStorePathRootDir(root.toString());
        config.setStorePathCommitLog(root.resolve("commitlog").toString());
        DefaultMessageStore store =
            new DefaultMessageStore(config, new BrokerStatsManager("replay", false), null, new BrokerConfig());
        Field service = DefaultMessageStore.class.getDeclaredField("haService");
        service.setAccessible(true);
        service.set(store, new Silent(store));
        AtomicInteger dispatched = new AtomicInteger();
        store.getDispatcherList().addLast(request -> {
            if (dispatched.incrementAndGet() % 4 == 0) { // an index file has the name of its millisecond
                try {
                    Thread.sleep(1);
                } catch (InterruptedException error) {
                    throw new IllegalStateException(error);
                }
            }
        });
        if (!store.load()) {
            throw new IllegalStateException("the store does not load: " + root);
        }
        store.start();
        store.shutdown();
        if (Files.exists(root.resolve("abort"))) {
            throw new IllegalStateException("the store did not stop cleanly: " + root);
        }
    }

    /** Replication that opens no port. */
    private static final class Silent extends HAService {
        Silent(DefaultMessageStore store) throws Exception {
            super(store);
        }

        @Override
        public void start() {
        }

        @Override
        public void shutdown() {
        }
    }
}
