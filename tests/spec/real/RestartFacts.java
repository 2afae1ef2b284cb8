package org.apache.rocketmq.store;

import com.alibaba.fastjson.JSON;
import com.alibaba.fastjson.JSONArray;
import com.alibaba.fastjson.JSONObject;
import com.alibaba.fastjson.serializer.SerializerFeature;
import java.io.File;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import org.apache.rocketmq.common.BrokerConfig;
import org.apache.rocketmq.common.MixAll;
import org.apache.rocketmq.common.ServiceThread;
import org.apache.rocketmq.common.UtilAll;
import org.apache.rocketmq.common.message.MessageAccessor;
import org.apache.rocketmq.common.message.MessageDecoder;
import org.apache.rocketmq.store.config.MessageStoreConfig;
import org.apache.rocketmq.store.ha.HAService;
import org.apache.rocketmq.store.index.IndexFile;
import org.apache.rocketmq.store.index.IndexService;
import org.apache.rocketmq.store.stats.BrokerStatsManager;

/**
 * Runs the real store of RocketMQ 4.9.3 over directories that a script describes, and notes what it did to them: start,
 * recovery, dispatch and query. Lies in the store's package for the sake of what is not public. No port is opened.
 */
public final class RestartFacts {
    private final Path root;
    private final JSONObject script;
    private DefaultMessageStore store;
    private final List<Long> stored = new ArrayList<>();
    private boolean shutDown;
    private MappedFile heldQueueFile;

    private RestartFacts(Path root, JSONObject config) {
        this.root = root;
        this.script = new JSONObject().fluentPut("config", config);
    }

    private RestartFacts(JSONObject script) throws Exception {
        this.script = script;
        this.root = Files.createTempDirectory("restart-facts");
        for (Map.Entry<String, Object> file : script.getJSONObject("files").entrySet()) {
            Path path = root.resolve(file.getKey());
            Files.createDirectories(path.getParent());
            byte[] bytes = UtilAll.string2bytes(((String) file.getValue()).toUpperCase());
            Files.write(path, bytes == null ? new byte[0] : bytes);
        }
    }

    /** Arguments: the script and the target, both JSON. Ends the process: the store's threads would keep it alive. */
    public static void main(String[] args) {
        int status = 1;
        try {
            if (args[0].equals("second")) {
                second(args[1], args[2]);
            }
            Map<String, Object> all = new LinkedHashMap<>();
            String text = new String(Files.readAllBytes(Paths.get(args[0])), StandardCharsets.UTF_8);
            for (Map.Entry<String, Object> entry
                : JSON.parseObject(text, com.alibaba.fastjson.parser.Feature.OrderedField).entrySet()) {
                all.put(entry.getKey(), new RestartFacts((JSONObject) entry.getValue()).run());
            }
            Files.write(Paths.get(args[1]), (JSON.toJSONString(all, SerializerFeature.PrettyFormat,
                SerializerFeature.WriteMapNullValue, SerializerFeature.BrowserCompatible) + "\n")
                .getBytes(StandardCharsets.UTF_8));
            status = 0;
        } catch (Throwable error) {
            error.printStackTrace();
        }
        System.exit(status);
    }

    private List<Object> run() throws Exception {
        List<Object> result = new ArrayList<>();
        JSONArray steps = script.getJSONArray("steps");
        for (int i = 0; i < steps.size(); i++) {
            JSONObject step = steps.getJSONObject(i);
            Map<String, Object> state = new LinkedHashMap<>();
            state.put("do", step.getString("do"));
            try {
                state.put("result", step(step));
            } catch (InvocationTargetException error) {
                state.put("thrown", error.getCause().getClass().getSimpleName());
            } catch (RuntimeException | OutOfMemoryError error) {
                state.put("thrown", error.getClass().getSimpleName());
            }
            settle();
            state.putAll(state());
            result.add(state);
        }
        return result;
    }

    private Object step(JSONObject step) throws Exception {
        switch (step.getString("do")) {
            case "load":
                return load();
            case "start":
                store.start();
                return null;
            case "shutdown":
                store.shutdown();
                shutDown = true;
                return null;
            case "wrote":
                store.getCommitLog().mappedFileQueue.getLastMappedFile().setWrotePosition(step.getIntValue("position"));
                return null;
            case "damage":
                store.getCommitLog().mappedFileQueue.getFirstMappedFile().getMappedByteBuffer()
                    .put(step.getIntValue("offset"), step.getByteValue("byte"));
                return null;
            case "reput":
                Object service = field(DefaultMessageStore.class, "reputMessageService").get(store);
                ((DefaultMessageStore.ReputMessageService) service).setReputFromOffset(step.getLongValue("from"));
                method(DefaultMessageStore.ReputMessageService.class, "doReput").invoke(service);
                return ((DefaultMessageStore.ReputMessageService) service).getReputFromOffset();
            case "put":
                DispatchRequest request = new DispatchRequest(step.getString("topic"), 0, step.getLongValue("offset"),
                    step.getIntValue("size"), step.getLongValue("tags_code"), step.getLongValue("store_timestamp"),
                    step.getLongValue("cq_offset"), null, null, 0, 0, null);
                request.setBitMap(step.containsKey("bit_map") ? new byte[step.getIntValue("bit_map")] : null);
                store.putMessagePositionInfo(request);
                return null;
            case "send":
                return send(step);
            case "start_briefly":
                return endsWithin(2500, daemon(() -> {
                    store.start();
                    return null;
                }));
            case "reput_ends":
                return endsWithin(step.getIntValue("millis"), (Thread) field(ServiceThread.class, "thread")
                    .get(field(DefaultMessageStore.class, "reputMessageService").get(store)));
            case "write":
                store.getCommitLog().mappedFileQueue.getLastMappedFile().appendMessage(
                    UtilAll.string2bytes(step.getString("bytes").toUpperCase()));
                return null;
            case "throwing_dispatcher":
                store.getDispatcherList().addFirst(request1 -> {
                    if (step.getBooleanValue("error")) {
                        throw new LinkageError();
                    }
                    throw new IllegalStateException();
                });
                return null;
            case "arriving_listener": // as a broker has one
                field(DefaultMessageStore.class, "messageArrivingListener").set(store,
                    (MessageArrivingListener) (topic, queue, offset, code, time, bits, properties) -> { });
                return null;
            case "confirm":
                store.setConfirmOffset(step.getLongValue("offset"));
                return null;
            case "next_file":
                return nextFile(step.getIntValue("files"));
            case "folders":
                return folders();
            case "clean_expired_queues":
                store.cleanExpiredConsumerQueue();
                return null;
            case "clean_unused":
                return store.cleanUnusedTopic(new HashSet<>(step.getJSONArray("topics").toJavaList(String.class)));
            case "clean_light":
                store.cleanUnusedLmqTopic(step.getString("topic"));
                return null;
            case "hold_index":
                return ((MappedFile) field(IndexFile.class, "mappedFile").get(indexFiles().get(0))).hold();
            case "hold_log":
                return store.getCommitLog().mappedFileQueue.getFirstMappedFile().hold();
            case "destroy_log":
                return store.getCommitLog().mappedFileQueue.getFirstMappedFile().destroy(step.getLongValue("interval"));
            case "hold_queue":
                heldQueueFile = queueFile();
                return heldQueueFile.hold();
            case "destroy_queue":
                return queueFile().destroy(step.getLongValue("interval"));
            case "release_queue":
                heldQueueFile.release();
                return null;
            case "expire_queue":
                return store.findConsumeQueue("T", 0).deleteExpiredFile(step.getLongValue("offset"));
            case "get_unit":
                SelectMappedBufferResult found = store.findConsumeQueue("T", 0).getIndexBuffer(step.getLongValue("at"));
                Long offset = found == null ? null : (Long) found.getByteBuffer().getLong();
                if (found != null) {
                    found.release();
                }
                return offset;
            case "clean":
                ((DefaultMessageStore.CleanConsumeQueueService) field(DefaultMessageStore.class, "cleanConsumeQueueService")
                    .get(store)).run();
                return null;
            case "log_time":
                return logTime();
            case "delete_index":
                ((IndexService) field(DefaultMessageStore.class, "indexService").get(store))
                    .deleteExpiredFile(step.getLongValue("offset"));
                return null;
            case "sleep":
                Thread.sleep(step.getLongValue("millis"));
                return null;
            case "expire_log":
                return store.getCommitLog().deleteExpiredFile(0, 0, step.getLongValue("interval"), true);
            case "disk_full":
                store.getAccessRights().getAndMakeDiskFull();
                return null;
            case "second_start":
                return secondStart();
            case "names":
                return names(step.getString("folder"));
            case "pull":
                return pull(step.getString("tag"));
            case "index_error":
                store.getAccessRights().makeIndexFileError();
                return null;
            case "reput_impatiently":
                return impatiently(() -> step(new JSONObject(step).fluentPut("do", "reput")));
            case "get_ext":
                ConsumeQueueExt.CqExtUnit unit =
                    store.findConsumeQueue(step.getString("topic"), 0).getExt(step.getLongValue("address"));
                return unit == null ? null : unit.getTagsCode();
            case "time":
                return store.getOffsetInQueueByTime("T", 0, step.getLongValue("at"));
            case "query":
                return query(step);
            case "min_timestamps":
                StoreCheckpoint point = new StoreCheckpoint(root + "/other/checkpoint" + step.getString("name"));
                point.setPhysicMsgTimestamp(step.getLongValue("physic"));
                point.setLogicsMsgTimestamp(step.getLongValue("logics"));
                point.setIndexMsgTimestamp(step.getLongValue("index"));
                return new long[] {point.getMinTimestamp(), point.getMinTimestampIndex()};
            default:
                throw new IllegalArgumentException(step.toJSONString());
        }
    }

    /** Puts a message as a producer's would be put, and waits until it is dispatched; the offsets that it got. */
    private Object send(JSONObject step) throws Exception {
        MessageExtBrokerInner message = new MessageExtBrokerInner();
        message.setTopic(step.getString("topic"));
        message.setBody(new byte[Math.max(1, step.getIntValue("body"))]);
        message.setBornHost(new InetSocketAddress("127.0.0.1", 1));
        message.setStoreHost(new InetSocketAddress("127.0.0.1", 2));
        if (step.containsKey("queues")) {
            MessageAccessor.putProperty(message, "INNER_MULTI_DISPATCH", step.getString("queues"));
        }
        if (step.containsKey("keys")) {
            message.setKeys(step.getString("keys"));
        }
        message.setPropertiesString(MessageDecoder.messageProperties2String(message.getProperties()));
        PutMessageResult result = store.putMessage(message);
        while (store.dispatchBehindBytes() > 0) {
            Thread.sleep(1);
        }
        stored.add(result.getAppendMessageResult().getStoreTimestamp());
        return Arrays.asList(result.getPutMessageStatus().name(), message.getQueueOffset(),
            message.getProperty("INNER_MULTI_QUEUE_OFFSET"));
    }

    /** Whether the whole log is flushed, and how many of the records sent are at or before the checkpoint's time of the log. */
    private Object logTime() {
        long time = store.getStoreCheckpoint().getPhysicMsgTimestamp();
        boolean flushed = store.getCommitLog().mappedFileQueue.getFlushedWhere() == store.getMaxPhyOffset();
        return Arrays.asList(flushed, stored.stream().filter(one -> one <= time).count());
    }

    /** Loads and starts this store in a second process while it runs here; what that did before it ended. */
    private Object secondStart() throws Exception {
        List<String> command = new ArrayList<>();
        command.add(Paths.get(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(java.lang.management.ManagementFactory.getRuntimeMXBean().getInputArguments());
        command.addAll(Arrays.asList("-cp", System.getProperty("java.class.path"), RestartFacts.class.getName(), "second", root.toString(),
            script.getJSONObject("config").toJSONString()));
        Process process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
        byte[] answer = new byte[1000];
        int length = process.getInputStream().read(answer);
        process.waitFor();
        return new String(answer, 0, Math.max(0, length), StandardCharsets.UTF_8);
    }

    private static void second(String root, String config) throws Exception {
        RestartFacts second = new RestartFacts(Paths.get(root), JSON.parseObject(config));
        boolean loaded = second.load();
        String started = "started";
        try {
            second.store.start();
        } catch (RuntimeException error) {
            started = error.getMessage();
        }
        System.out.print(loaded + ", " + started);
        System.out.flush();
        Runtime.getRuntime().halt(0); // as after a kill: nothing is cleaned up
    }

    /** The names in a folder; of index files, which the clock names, their count. */
    private Object names(String folder) {
        String[] names = root.resolve(folder).toFile().list();
        Arrays.sort(names);
        return folder.equals("index") ? (Object) names.length : Arrays.asList(names);
    }

    /** Logical offsets of the messages of queue T/0 that a consumer of this tag gets. */
    private Object pull(String tag) throws Exception {
        GetMessageResult found = store.getMessage("group", "T", 0, 0, 32,
            new DefaultMessageFilter(org.apache.rocketmq.common.filter.FilterAPI.buildSubscriptionData("T", tag)));
        List<Object> offsets = new ArrayList<>();
        found.getMessageBufferList().forEach(buffer -> offsets.add(buffer.getLong(20)));
        found.release();
        return offsets;
    }

    private MappedFile queueFile() throws Exception {
        return ((MappedFileQueue) field(ConsumeQueue.class, "mappedFileQueue").get(store.findConsumeQueue("T", 0))).getFirstMappedFile();
    }

    private static Thread daemon(java.util.concurrent.Callable<Object> action) {
        Thread thread = new Thread(() -> {
            try {
                action.call();
            } catch (Exception error) {
                error.printStackTrace();
            }
        });
        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    private static boolean endsWithin(int millis, Thread thread) throws Exception {
        thread.join(millis);
        return !thread.isAlive();
    }

    /** Lets the log go on into its next file, and waits until that file and the one made ahead are there. */
    private Object nextFile(int files) throws Exception {
        MappedFile made = store.getCommitLog().mappedFileQueue.getLastMappedFile(0);
        for (int i = 0; i < 5000 && count(root.toFile()) < files; i++) {
            Thread.sleep(1);
        }
        return root.relativize(Paths.get(made.getFileName())).toString();
    }

    private static int count(File folder) {
        int result = 0;
        for (File file : folder.listFiles()) {
            result += file.isDirectory() ? count(file) : file.getName().matches("[0-9]{20}") ? 1 : 0;
        }
        return result;
    }

    /** The directories in the root. */
    private Object folders() {
        List<Object> result = new ArrayList<>();
        for (File file : root.toFile().listFiles(File::isDirectory)) {
            result.add(file.getName());
        }
        result.sort(null);
        return result;
    }

    /** Runs what waits between its tries, and cuts each wait short. */
    private static Object impatiently(java.util.concurrent.Callable<Object> action) throws Exception {
        Thread waiting = Thread.currentThread();
        Thread prompter = new Thread(() -> {
            try {
                for (; ; Thread.sleep(5)) {
                    if (waiting.getState() == Thread.State.TIMED_WAITING) {
                        waiting.interrupt();
                    }
                }
            } catch (InterruptedException done) {
                return;
            }
        });
        prompter.start();
        try {
            return action.call();
        } finally {
            prompter.interrupt();
            prompter.join();
            Thread.interrupted();
        }
    }

    private boolean load() throws Exception {
        MessageStoreConfig config = new MessageStoreConfig();
        config.setStorePathRootDir(root.toString());
        config.setStorePathCommitLog(root + "/commitlog");
        BrokerConfig broker = new BrokerConfig();
        Properties properties = new Properties();
        script.getJSONObject("config").forEach((name, value) -> properties.put(name,
            String.valueOf(value).replace("$ROOT", root.toString())));
        MixAll.properties2Object(properties, config);
        MixAll.properties2Object(properties, broker);
        store = new DefaultMessageStore(config, new BrokerStatsManager("facts", false), null, broker);
        field(DefaultMessageStore.class, "haService").set(store, new Silent(store));
        return store.load();
    }

    /** Offsets of the messages in their order, and what the index says of itself. */
    private Object query(JSONObject step) {
        QueryMessageResult found = store.queryMessage(step.getString("topic"), step.getString("key"),
            step.getIntValue("max_num"), step.getLongValue("begin"), step.getLongValue("end"));
        List<Object> messages = new ArrayList<>();
        found.getMessageBufferList().forEach(buffer -> messages.add(buffer.getLong(28)));
        found.release();
        Map<String, Object> result = new LinkedHashMap<>();
        result.put("phy_offsets", messages);
        if (!script.containsKey("clock")) {
            result.put("last_update_timestamp", found.getIndexLastUpdateTimestamp());
        }
        result.put("last_update_phy_offset", found.getIndexLastUpdatePhyoffset());
        return result;
    }

    /** Waits for the flush that a roll has started. */
    private static void settle() throws Exception {
        Thread[] threads = new Thread[2 * Thread.activeCount()];
        for (int i = Thread.enumerate(threads) - 1; i >= 0; i--) {
            if (threads[i].getName().equals("FlushIndexFileThread")) {
                threads[i].join();
            }
        }
    }

    private Map<String, Object> state() throws Exception {
        Map<String, Object> result = new LinkedHashMap<>();
        Map<String, Object> queues = new TreeMap<>();
        if (store != null) {
            store.getConsumeQueueTable().forEach((topic, byId) -> byId.forEach((id, queue) -> {
                long[] bounds = {queue.getMinOffsetInQueue(), queue.getMaxOffsetInQueue(), queue.getMaxPhysicOffset()};
                if (!topic.startsWith("SCHEDULE") || bounds[1] > 0) {
                    queues.put(topic + "/" + id, JSON.toJSONString(bounds));
                }
            }));
            result.put("queues", queues);
            result.put("log", JSON.toJSONString(new long[] {store.getMinPhyOffset(), store.getMaxPhyOffset()}));
            StoreCheckpoint point = store.getStoreCheckpoint();
            result.put("checkpoint", point == null || script.containsKey("clock") ? null : JSON.toJSONString(new long[] {
                point.getPhysicMsgTimestamp(), point.getLogicsMsgTimestamp(), point.getIndexMsgTimestamp()}));
            result.put("index_files", indexFiles().size());
            result.put("flags", store.getAccessRights().getFlagBits());
        }
        Map<String, Object> files = new LinkedHashMap<>();
        list(root.toFile(), "", files);
        result.put("files", files);
        return result;
    }

    @SuppressWarnings("unchecked")
    private List<IndexFile> indexFiles() throws Exception {
        Object service = field(DefaultMessageStore.class, "indexService").get(store);
        return (List<IndexFile>) field(IndexService.class, "indexFileList").get(service);
    }

    /** Every file in bytes, less trailing zeros; index files that the clock named by their place. */
    private void list(File folder, String path, Map<String, Object> files) throws Exception {
        File[] members = folder.listFiles();
        Arrays.sort(members);
        int place = 0;
        for (File file : members) {
            String name = path + file.getName();
            if (file.isDirectory()) {
                list(file, name + "/", files);
            } else if (!name.equals("lock") && !name.startsWith("config/")
                && (!script.containsKey("clock") || name.startsWith("consumequeue/"))) {
                boolean clock = path.equals("index/") && !script.getJSONObject("files").containsKey(name);
                byte[] bytes = Files.readAllBytes(file.toPath());
                if (name.equals("checkpoint") && !shutDown) {
                    Arrays.fill(bytes, 8, 16, (byte) 0); // a flush in the background may come early or late
                }
                int end = bytes.length;
                while (end > 0 && bytes[end - 1] == 0) {
                    end--;
                }
                files.put(clock ? "index/new-" + ++place : name,
                    bytes.length + ":" + UtilAll.bytes2string(Arrays.copyOf(bytes, end)).toLowerCase());
            }
        }
    }

    private static Field field(Class<?> owner, String name) throws Exception {
        Field field = owner.getDeclaredField(name);
        field.setAccessible(true);
        return field;
    }

    private static Method method(Class<?> owner, String name) throws Exception {
        Method method = owner.getDeclaredMethod(name);
        method.setAccessible(true);
        return method;
    }

    /** Replication that listens nowhere. */
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
