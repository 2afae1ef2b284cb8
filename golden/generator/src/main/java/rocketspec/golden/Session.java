package rocketspec.golden;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.rocketmq.broker.BrokerController;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendCallback;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.SendStatus;
import org.apache.rocketmq.common.TopicConfig;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageClientIDSetter;
import org.apache.rocketmq.common.message.MessageQueue;
import org.apache.rocketmq.store.DefaultMessageStore;
import org.apache.rocketmq.store.config.BrokerRole;
import org.apache.rocketmq.store.index.IndexFile;
import org.apache.rocketmq.tools.admin.DefaultMQAdminExt;

/** A running broker with a real client, and the few verbs that scenarios are written in. */
public final class Session {

    private static final long PATIENCE_MILLIS = 60_000;

    private final Broker broker;
    private final Random random;
    private final DefaultMQProducer producer = new DefaultMQProducer("golden-producer");
    private final DefaultMQAdminExt admin = new DefaultMQAdminExt("golden-admin");
    private final List<CountDownLatch> pending = new ArrayList<>();
    private final AtomicReference<Throwable> failure = new AtomicReference<>();
    private final List<Map<String, Object>> deletions = new ArrayList<>();
    private final List<Outcome> outcomes = new ArrayList<>();
    private final String address;
    private BrokerProcess apart;
    private Members members;

    Session(Broker broker, Scenario scenario) throws Exception {
        this.broker = broker;
        this.random = new Random(scenario.seed());
        this.address = scenario.address();
        broker.startNameServer();
        if (scenario.apart()) {
            apart = broker.startApart(Paths.get(""), 1);
        } else {
            broker.start();
        }
        if (scenario.members() > 1) {
            members = new Members(broker, this);
        }
        awaitMaster();
        hideMachineInUniqueKeys();
        producer.setNamesrvAddr(broker.namesrvAddress());
        producer.setClientIP(address);
        producer.setVipChannelEnabled(false);
        producer.setSendMsgTimeout(10_000);
        producer.setRetryTimesWhenSendFailed(0);
        producer.setRetryTimesWhenSendAsyncFailed(0);
        producer.start();
        admin.setNamesrvAddr(broker.namesrvAddress());
        admin.setClientIP(address);
        admin.setVipChannelEnabled(false);
        admin.start();
    }

    /** In a DLedger group of one the broker becomes master some time after its start. */
    private void awaitMaster() throws InterruptedException {
        if (members == null && apart == null && store().getMessageStoreConfig().isEnableDLegerCommitLog()) {
            await("the election", () -> store().getMessageStoreConfig().getBrokerRole() == BrokerRole.SYNC_MASTER);
        }
    }

    /** The other members of the group. */
    public Members members() {
        return members;
    }

    /** Sends to whichever member of the group leads by now, as often as it takes. */
    public void insist(Message message, int queueId) throws Exception {
        await("a member that stores", () -> {
            try {
                producer.getDefaultMQProducerImpl().getmQClientFactory()
                    .updateTopicRouteInfoFromNameServer(message.getTopic());
                return producer.send(message, queue(message.getTopic(), queueId)).getSendStatus() == SendStatus.SEND_OK;
            } catch (Exception e) {
                return false;
            }
        });
    }

    /**
     * The client's unique keys begin with its address, process id and class loader: those of no machine are put
     * in their place, the rest (time and counter) stays the client's own.
     */
    private static void hideMachineInUniqueKeys() {
        char[] fixed = Private.getStatic(MessageClientIDSetter.class, "FIX_STRING");
        char[] neutral = "7F000001049314DAD5DC".toCharArray();
        Arrays.fill(fixed, '0');
        System.arraycopy(neutral, 0, fixed, fixed.length - neutral.length, neutral.length);
    }

    public Random random() {
        return random;
    }

    public String namesrvAddress() {
        return broker.namesrvAddress();
    }

    /** The real store; a scenario only looks. */
    public DefaultMessageStore store() {
        return RecordingStore.current();
    }

    /** The running broker, for what no client can ask. */
    public BrokerController broker() {
        return broker.controller();
    }

    /** Makes a topic and waits until the client sees all its queues. */
    public void topic(String name, int queues) throws Exception {
        TopicConfig config = new TopicConfig(name);
        config.setReadQueueNums(queues);
        config.setWriteQueueNums(queues);
        for (String each : broker.brokerAddresses()) {
            admin.createAndUpdateTopicConfig(each, config);
        }
        await("the route of " + name, () -> {
            try {
                return producer.fetchPublishMessageQueues(name).size() == queues;
            } catch (Exception e) {
                return false;
            }
        });
    }

    public MessageQueue queue(String topic, int queueId) {
        return new MessageQueue(topic, Broker.NAME, queueId);
    }

    /** Sends and waits for the broker's answer. */
    public SendResult send(Message message, int queueId) throws Exception {
        return stored(producer.send(message, queue(message.getTopic(), queueId)));
    }

    /** Sends messages of one topic as one batch. */
    public SendResult sendBatch(List<Message> messages, int queueId) throws Exception {
        return stored(producer.send(messages, queue(messages.get(0).getTopic(), queueId)));
    }

    /** Sends without waiting; {@link #settle} waits for all. */
    public void sendAsync(Message message, int queueId) throws Exception {
        CountDownLatch latch = new CountDownLatch(1);
        pending.add(latch);
        producer.send(message, queue(message.getTopic(), queueId), new SendCallback() {
            @Override
            public void onSuccess(SendResult result) {
                latch.countDown();
            }

            @Override
            public void onException(Throwable error) {
                failure.set(error);
                latch.countDown();
            }
        });
    }

    /** Sends without an answer; wait with {@link #awaitUnits}. */
    public void sendOneway(Message message, int queueId) throws Exception {
        producer.sendOneway(message, queue(message.getTopic(), queueId));
    }

    /** Sends batches of one topic without waiting, and returns when the first one was stored. */
    public void burst(List<List<Message>> batches) throws Exception {
        CountDownLatch first = new CountDownLatch(1);
        for (int i = 0; i < batches.size(); i++) {
            producer.send(batches.get(i), queue(batches.get(i).get(0).getTopic(), i % 2), new SendCallback() {
                @Override
                public void onSuccess(SendResult result) {
                    first.countDown();
                }

                @Override
                public void onException(Throwable error) {
                    // The broker was killed.
                }
            });
        }
        first.await(PATIENCE_MILLIS, TimeUnit.MILLISECONDS);
    }

    private static SendResult stored(SendResult result) {
        if (result.getSendStatus() != SendStatus.SEND_OK) {
            throw new IllegalStateException(result.toString());
        }
        return result;
    }

    /** Waits until the queues of a topic hold as many units together. */
    public void awaitUnits(String topic, int queues, long units) throws Exception {
        await(units + " units of " + topic, () -> {
            long found = 0;
            for (int queueId = 0; queueId < queues; queueId++) {
                found += store().getMaxOffsetInQueue(topic, queueId);
            }
            return found >= units;
        });
    }

    /** Waits until all that was sent is stored and dispatched, and no roll's flush is under way. */
    public void settle() throws Exception {
        for (CountDownLatch latch : pending) {
            if (!latch.await(PATIENCE_MILLIS, TimeUnit.MILLISECONDS)) {
                throw new IllegalStateException("an asynchronous send was not answered");
            }
        }
        pending.clear();
        if (failure.get() != null) {
            throw new IllegalStateException(failure.get());
        }
        await("the dispatch", () -> store().dispatchBehindBytes() == 0);
        await("the index flush", () -> Thread.getAllStackTraces().keySet().stream()
            .noneMatch(thread -> thread.getName().equals("FlushIndexFileThread")));
    }

    /** Whether the next put into the index rolls to a new file. */
    public boolean indexIsFull() {
        List<IndexFile> files = Private.get(Private.get(store(), "indexService"), "indexFileList");
        return !files.isEmpty() && files.get(files.size() - 1).isWriteFull();
    }

    /** Stops the broker cleanly and starts it again over its store. */
    public void restart() throws Exception {
        restart(Collections.emptyMap());
    }

    /** The same with other settings from now on. */
    public void restart(Map<String, String> settings) throws Exception {
        settle();
        broker.stop();
        broker.configure(settings);
        broker.start();
        awaitMaster();
    }

    /** The broker's own cleaning, which it else begins a minute after its start. */
    public void clean() {
        for (int round = 0; round < 3; round++) {
            store().executeDeleteFilesManually();
            Private.call(store(), "cleanFilesPeriodically");
        }
    }

    /** Deletes files by what is done, and remembers which ones were deleted, and by what: "expiry" or "restart". */
    public void deleting(String by, int start, Path root, Action action) throws Exception {
        deleting(by, start, root, deletions, action);
    }

    void deleting(String by, int start, Path root, List<Map<String, Object>> deletions, Action action)
        throws Exception {
        Set<Path> before = files(root);
        action.run();
        before.removeAll(files(root));
        for (Path path : before) {
            deletions.add(Json.object("type", "deleted", "start", start, "by", by,
                "file", path.toString().replace('\\', '/')));
        }
    }

    private static Set<Path> files(Path root) throws IOException {
        return Walk.all(root).stream().filter(Files::isRegularFile).map(root::relativize)
            .collect(Collectors.toCollection(TreeSet::new));
    }

    /** Kills the broker (kill -9), whose store then is one outcome, unchanged; then the client stops. */
    public void kill() throws Exception {
        apart.kill();
        producer.shutdown();
        admin.shutdown();
        outcomes.add(new Outcome(Paths.get(""), broker.config(),
            Left.uncleanly(Broker.STORE, apart.dispatched())));
    }

    /** Starts a broker again over a copy of the killed one's store and stops it cleanly: another outcome. */
    public void restartKilled(String part) throws Exception {
        Path folder = Files.createDirectories(Paths.get(part));
        Path store = folder.resolve(Broker.STORE);
        Walk.copy(Broker.STORE, store);
        List<RecordingStore.Dispatched> dispatched = apart.dispatched();
        BrokerProcess[] again = new BrokerProcess[1];
        deleting("restart", 2, store, () -> again[0] = broker.startApart(folder, 2));
        again[0].stop();
        dispatched.addAll(again[0].dispatched());
        outcomes.add(new Outcome(folder, broker.config(), Left.cleanly(store, dispatched, deletions)));
    }

    /** Starts a slave in another process and waits until it copies. */
    public void startSlave(String part) throws Exception {
        Path folder = Files.createDirectories(Paths.get(part));
        apart = broker.startSlave(folder);
        await("the slave", this::slaveCopies);
    }

    /** Whether the master knows from where on a slave wants the log. */
    private boolean slaveCopies() {
        List<Object> connections = Private.get(store().getHaService(), "connectionList");
        return !connections.isEmpty()
            && Private.<Long>get(Private.get(connections.get(0), "writeSocketService"), "nextTransferFromWhere") >= 0;
    }

    /** Waits until the slave has all that the master has, and stops it: another outcome. */
    public void stopSlave(String part) throws Exception {
        settle();
        await("the slave",
            () -> store().getHaService().getPush2SlaveMaxOffset().get() == store().getMaxPhyOffset());
        apart.stop();
        await("the slave's end", () -> store().getHaService().getConnectionCount().get() == 0);
        Path folder = Paths.get(part);
        outcomes.add(new Outcome(folder, broker.slaveConfig(),
            Left.cleanly(folder.resolve(Broker.STORE), apart.dispatched(), Collections.emptyList())));
    }

    /** Copies the store, slowly, while the broker writes it: another outcome. Folders are copied in the order given. */
    public void copyLive(String part, String... order) throws Exception {
        Path folder = Files.createDirectories(Paths.get(part));
        Path copy = folder.resolve(Broker.STORE);
        List<RecordingStore.Dispatched> dispatched = Collections.emptyList();
        for (String name : order) {
            if (name.equals("commitlog")) {
                dispatched = RecordingStore.dispatched(); // of what the copied log is sure to hold
            }
            if (Files.exists(Broker.STORE.resolve(name))) {
                Files.createDirectories(copy);
                Walk.copy(Broker.STORE.resolve(name), copy.resolve(name));
                Thread.sleep(30);
            }
        }
        outcomes.add(new Outcome(folder, broker.config(), Left.uncleanly(copy, dispatched)));
    }

    /** Stops what still runs; returns all stores that were made. */
    List<Outcome> close() throws Exception {
        if (broker.controller() == null) {
            return outcomes;
        }
        settle();
        producer.shutdown();
        admin.shutdown();
        if (members != null) {
            members.stop();
        }
        broker.stop();
        try (Stream<Path> files = Files.list(Broker.STORE)) {
            if (files.anyMatch(path -> path.endsWith("abort"))) {
                throw new IOException("the broker did not stop cleanly");
            }
        }
        outcomes.add(new Outcome(Paths.get(""), broker.config(),
            Left.cleanly(Broker.STORE, RecordingStore.dispatched(), deletions), RecordingStore.current()));
        return outcomes;
    }

    void add(Outcome outcome) {
        outcomes.add(outcome);
    }

    /** What may fail. */
    public interface Action {
        void run() throws Exception;
    }

    /** A condition that is waited for. */
    public interface Condition {
        boolean holds();
    }

    public void await(String what, Condition condition) throws InterruptedException {
        long deadline = System.currentTimeMillis() + PATIENCE_MILLIS;
        while (!condition.holds()) {
            if (System.currentTimeMillis() > deadline) {
                throw new IllegalStateException("timed out waiting for " + what);
            }
            Thread.sleep(5);
        }
    }
}
