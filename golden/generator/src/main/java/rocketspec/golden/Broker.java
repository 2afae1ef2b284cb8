package rocketspec.golden;

import java.io.IOException;
import java.io.Writer;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
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

    private final String address;
    private final Map<String, String> config;
    private final int namesrvPort;
    private final int brokerPort;
    private final List<Integer> memberPorts = new ArrayList<>();
    private final List<Integer> memberBrokerPorts = new ArrayList<>();
    private NamesrvController namesrv;
    private BrokerController broker;

    /** Paths are relative to the working directory, so that no store file can hold a path of this machine. */
    Broker(Scenario scenario) throws IOException {
        address = scenario.address();
        Path conf = Files.createDirectories(Paths.get("home", "conf"));
        for (String part : new String[] {"broker", "namesrv", "tools"}) {
            Files.write(conf.resolve("logback_" + part + ".xml"), LOGBACK.getBytes(StandardCharsets.UTF_8));
        }
        System.setProperty("rocketmq.home.dir", "home");
        config = new TreeMap<>();
        config.put("brokerClusterName", "DefaultCluster");
        config.put("brokerName", NAME);
        config.put("brokerId", "0");
        config.put("brokerIP1", address);
        config.put("brokerIP2", address);
        config.put("autoCreateTopicEnable", "false");
        config.put("diskMaxUsedSpaceRatio", "95");
        config.put("storePathRootDir", STORE.toString());
        config.put("storePathCommitLog", STORE.resolve("commitlog").toString());
        config.putAll(scenario.config());
        namesrvPort = freePort();
        brokerPort = freePort();
        memberBrokerPorts.add(brokerPort);
        memberPorts.add(freePort());
        for (int member = 1; member < scenario.members(); member++) {
            memberBrokerPorts.add(freePort());
            memberPorts.add(freePort());
        }
    }

    /** The broker's settings without ports and the recording plug-in. */
    Map<String, String> config() {
        return new TreeMap<>(config);
    }

    String namesrvAddress() {
        return LOOPBACK + ":" + namesrvPort;
    }

    /** The brokers, this process's own first. */
    List<String> brokerAddresses() {
        return memberBrokerPorts.stream().map(port -> address + ":" + port).collect(Collectors.toList());
    }

    BrokerController controller() {
        return broker;
    }

    void startNameServer() throws IOException {
        Properties properties = new Properties();
        properties.setProperty("listenPort", Integer.toString(namesrvPort));
        namesrv = NamesrvStartup.main0(new String[] {"-c", save(Paths.get("namesrv.properties"), properties)});
    }

    /** Starts the broker in this process; after {@link #stop} it starts again over the same store. */
    void start() throws IOException {
        Properties properties = properties();
        broker = BrokerStartup.createBrokerController(
            new String[] {"-c", save(Paths.get("broker.properties"), properties)});
        BrokerStartup.start(broker);
    }

    /** Starts the broker in another process, over the store in a folder, for the nth time. */
    BrokerProcess startApart(Path folder, int start) throws IOException {
        save(folder.resolve("broker.properties"), properties());
        return new BrokerProcess(folder, start);
    }

    /** The settings of a slave that differ from this broker's. */
    Map<String, String> slaveConfig() {
        Map<String, String> slave = config();
        slave.put("brokerId", "1");
        slave.put("brokerRole", "SLAVE");
        slave.put("haSendHeartbeatInterval", "100");
        return slave;
    }

    /** Settings from the next start on. */
    void configure(Map<String, String> settings) {
        config.putAll(settings);
    }

    /** The settings of a member of the group that differ from this broker's. */
    Map<String, String> memberConfig(int member) {
        Map<String, String> config = config();
        config.put("dLegerSelfId", "n" + member);
        return config;
    }

    /** Starts a member of the group in another process, over the store in a folder, for the nth time. */
    BrokerProcess startMember(int member, Path folder, int start) throws IOException {
        Properties properties = properties();
        properties.putAll(memberConfig(member));
        properties.setProperty("listenPort", Integer.toString(memberBrokerPorts.get(member)));
        save(folder.resolve("broker.properties"), properties);
        return new BrokerProcess(folder, start);
    }

    /** Starts a slave of this broker in another process. */
    BrokerProcess startSlave(Path folder) throws IOException {
        Properties properties = properties();
        properties.putAll(slaveConfig());
        properties.setProperty("listenPort", Integer.toString(freePort()));
        properties.setProperty("haMasterAddress", address + ":" + (brokerPort + 1));
        save(folder.resolve("broker.properties"), properties);
        return new BrokerProcess(folder, 1);
    }

    private Properties properties() {
        Properties properties = new Properties();
        properties.putAll(config);
        properties.setProperty("namesrvAddr", namesrvAddress());
        properties.setProperty("listenPort", Integer.toString(brokerPort));
        properties.setProperty("messageStorePlugIn", RecordingStore.class.getName());
        properties.setProperty("dLegerPeers", IntStream.range(0, memberPorts.size())
            .mapToObj(member -> "n" + member + "-" + LOOPBACK + ":" + memberPorts.get(member))
            .collect(Collectors.joining(";")));
        return properties;
    }

    void stop() {
        broker.shutdown();
    }

    private static String save(Path path, Properties properties) throws IOException {
        try (Writer writer = Files.newBufferedWriter(path)) {
            properties.store(writer, null);
        }
        return path.toString();
    }

    /**
     * A port that is free together with the two that the broker derives from it: -2 (fast) and +1 (HA). It is below
     * those that systems give to outgoing connections, so that a broker that was stopped finds it free again.
     */
    private static int freePort() {
        for (;;) {
            int port = ThreadLocalRandom.current().nextInt(20_000, 32_000);
            if (isFree(port) && isFree(port - 2) && isFree(port + 1)) {
                return port;
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
