package rocketspec.golden;

import java.io.IOException;
import java.io.Writer;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import org.apache.rocketmq.broker.BrokerController;
import org.apache.rocketmq.broker.BrokerStartup;
import org.apache.rocketmq.namesrv.NamesrvController;
import org.apache.rocketmq.namesrv.NamesrvStartup;

/** The real name server and the real broker, in this process, on loopback addresses and free ports. */
final class Broker {

    static final String NAME = "broker-a";
    static final String LOOPBACK = "127.0.0.1";
    static final Path STORE = Paths.get("store");

    private static final String LOGBACK = "<configuration><appender name=\"file\" class=\"ch.qos.logback.core.FileAppender\">"
        + "<file>rocketmq.log</file><encoder><pattern>%d %p %t %logger{0} - %m%n</pattern></encoder></appender>"
        + "<root level=\"INFO\"><appender-ref ref=\"file\"/></root></configuration>";

    private final Map<String, String> config;
    private final int namesrvPort;
    private final int brokerPort;
    private NamesrvController namesrv;
    private BrokerController broker;

    /** Paths are relative to the working directory, so that no store file can hold a path of this machine. */
    Broker(Map<String, String> scenarioConfig) throws IOException {
        Path conf = Files.createDirectories(Paths.get("home", "conf"));
        for (String part : new String[] {"broker", "namesrv", "tools"}) {
            Files.write(conf.resolve("logback_" + part + ".xml"), LOGBACK.getBytes(StandardCharsets.UTF_8));
        }
        System.setProperty("rocketmq.home.dir", "home");
        config = new TreeMap<>();
        config.put("brokerClusterName", "DefaultCluster");
        config.put("brokerName", NAME);
        config.put("brokerId", "0");
        config.put("brokerIP1", LOOPBACK);
        config.put("brokerIP2", LOOPBACK);
        config.put("autoCreateTopicEnable", "false");
        config.put("diskMaxUsedSpaceRatio", "95");
        config.put("storePathRootDir", STORE.toString());
        config.put("storePathCommitLog", STORE.resolve("commitlog").toString());
        config.putAll(scenarioConfig);
        namesrvPort = freePort();
        brokerPort = freePort();
    }

    /** What the broker was told, ports and the recording plug-in left out. */
    Map<String, String> config() {
        return new TreeMap<>(config);
    }

    String namesrvAddress() {
        return LOOPBACK + ":" + namesrvPort;
    }

    String brokerAddress() {
        return LOOPBACK + ":" + brokerPort;
    }

    BrokerController controller() {
        return broker;
    }

    /** Starts what does not run yet; after {@link #stop} it starts again over the same store. */
    void start() throws IOException {
        if (namesrv == null) {
            Properties properties = new Properties();
            properties.setProperty("listenPort", Integer.toString(namesrvPort));
            namesrv = NamesrvStartup.main0(new String[] {"-c", save("namesrv.properties", properties)});
        }
        Properties properties = new Properties();
        properties.putAll(config);
        properties.setProperty("namesrvAddr", namesrvAddress());
        properties.setProperty("listenPort", Integer.toString(brokerPort));
        properties.setProperty("messageStorePlugIn", RecordingStore.class.getName());
        broker = BrokerStartup.createBrokerController(new String[] {"-c", save("broker.properties", properties)});
        BrokerStartup.start(broker);
    }

    void stop() {
        broker.shutdown();
    }

    private static String save(String name, Properties properties) throws IOException {
        Path path = Paths.get(name);
        try (Writer writer = Files.newBufferedWriter(path)) {
            properties.store(writer, null);
        }
        return path.toString();
    }

    /** A port that is free together with the two that the broker derives from it: -2 (fast) and +1 (HA). */
    private static int freePort() throws IOException {
        for (;;) {
            try (ServerSocket any = new ServerSocket(0, 1, InetAddress.getByName(LOOPBACK))) {
                int port = any.getLocalPort();
                if (port < 65000 && isFree(port - 2) && isFree(port + 1)) {
                    return port;
                }
            }
        }
    }

    private static boolean isFree(int port) {
        try (ServerSocket ignored = new ServerSocket(port)) {
            return true;
        } catch (IOException e) {
            return false;
        }
    }
}
