package org.apache.rocketmq.store;

import com.alibaba.fastjson.JSON;
import com.alibaba.fastjson.serializer.SerializerFeature;
import java.io.File;
import java.io.FileOutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TimeZone;
import java.util.TreeMap;
import org.apache.rocketmq.common.BrokerConfig;
import org.apache.rocketmq.common.UtilAll;
import org.apache.rocketmq.common.message.MessageAccessor;
import org.apache.rocketmq.common.message.MessageDecoder;
import org.apache.rocketmq.common.message.MessageExtBatch;
import org.apache.rocketmq.store.config.MessageStoreConfig;
import org.apache.rocketmq.store.index.IndexFile;
import org.apache.rocketmq.store.stats.BrokerStatsManager;

/**
 * Asks the real store of RocketMQ 4.9.3 what it writes and reads, and prints the answers as JSON. Nothing in them
 * depends on the clock. Lies in the store's package, since the encoder and the append callback are not public.
 */
public final class StoreFacts {
    private static final long STORE_TIME = 1700000000123L;
    private static final byte UNTOUCHED = (byte) 0xEE;

    private final Path root;
    private final DefaultMessageStore store;

    private StoreFacts() throws Exception {
        root = Files.createTempDirectory("store-facts");
        MessageStoreConfig config = new MessageStoreConfig();
        config.setStorePathRootDir(root.toString());
        config.setStorePathCommitLog(root + "/commitlog");
        config.setMappedFileSizeConsumeQueue(81);
        config.setEnableConsumeQueueExt(true);
        config.setMappedFileSizeConsumeQueueExt(70);
        store = new DefaultMessageStore(config, new BrokerStatsManager("facts", false), null, new BrokerConfig());
        if (!store.load()) {
            throw new IllegalStateException("an empty store does not load");
        }
    }

    /** Ends the process in any case: the store's threads would keep it alive. */
    public static void main(String[] args) {
        int status = 1;
        try {
            if (args[0].equals("append after the last release")) {
                appendAfterTheLastRelease(args[1]);
            }
            if (args[0].equals("names")) {
                System.out.print(indexName(args[1]));
                System.exit(0);
            }
            write(args[0]);
            status = 0;
        } catch (Throwable error) {
            error.printStackTrace();
        }
        System.exit(status);
    }

    private static void write(String target) throws Exception {
        StoreFacts facts = new StoreFacts();
        Map<String, Object> all = new LinkedHashMap<>();
        all.put("property_strings", propertyStrings());
        all.put("written_properties", writtenProperties());
        all.put("decoded_utf8", decodedUtf8());
        all.put("encoded_utf8", encodedUtf8());
        all.put("records", facts.records());
        all.put("longest_properties", facts.longestProperties());
        all.put("appends", facts.appends());
        all.put("dispatch_requests", facts.dispatchRequests());
        all.put("pre_blank", facts.preBlank());
        all.put("ext", facts.ext());
        all.put("checkpoint", facts.checkpoint());
        all.put("index_names", indexNames());
        all.put("batch_properties", batchProperties());
        all.put("held", facts.held());
        all.put("append_after_the_last_release", facts.crash());
        all.put("older_names", olderNames());
        all.put("negative_names", negativeNames());
        all.put("wrapped_lengths", facts.wrappedLengths());
        String text = JSON.toJSONString(all, SerializerFeature.PrettyFormat, SerializerFeature.WriteMapNullValue,
            SerializerFeature.BrowserCompatible);
        Files.write(Paths.get(target), (text + "\n").getBytes(StandardCharsets.UTF_8));
    }

    private static String hex(byte[] bytes) {
        return UtilAll.bytes2string(bytes).toLowerCase();
    }

    private static Map<String, Object> map(Object... pairs) {
        Map<String, Object> result = new LinkedHashMap<>();
        for (int i = 0; i < pairs.length; i += 2) {
            result.put((String) pairs[i], pairs[i + 1]);
        }
        return result;
    }

    /** Names of index files that are made at one time, by the process's locale and time zone. */
    private static Object indexNames() {
        Locale locale = Locale.getDefault();
        TimeZone zone = TimeZone.getDefault();
        List<Object> result = new ArrayList<>();
        for (String[] process : new String[][] {
            {"en-US", "UTC"}, {"en-US", "Asia/Kolkata"}, {"de-DE", "UTC"}, {"zh-CN", "UTC"}, {"th-TH", "UTC"}, {"th-TH-u-nu-thai", "UTC"},
            {"ja-JP-u-ca-japanese", "UTC"}, {"ja-JP", "UTC"}, {"ar-EG", "UTC"}, {"fa-IR", "UTC"},
        }) {
            Locale.setDefault(Locale.forLanguageTag(process[0]));
            TimeZone.setDefault(TimeZone.getTimeZone(process[1]));
            result.add(map("locale", process[0], "zone", process[1], "name", UtilAll.timeMillisToHumanString(STORE_TIME)));
        }
        Locale.setDefault(new Locale("ja", "JP", "JP"));
        TimeZone.setDefault(TimeZone.getTimeZone("UTC"));
        result.add(map("locale", "ja_JP_JP", "zone", "UTC", "name", UtilAll.timeMillisToHumanString(STORE_TIME)));
        Locale.setDefault(locale);
        TimeZone.setDefault(zone);
        return result;
    }

    /** Names of queue files before offset 0, by locale. */
    private static Object negativeNames() {
        Locale locale = Locale.getDefault();
        Map<String, Object> result = new LinkedHashMap<>();
        for (String name : new String[] {"en-US", "sv-SE", "lt-LT", "ar-EG", "fa-IR"}) {
            Locale.setDefault(Locale.forLanguageTag(name));
            result.put(name, UtilAll.offset2FileName(-20));
        }
        Locale.setDefault(locale);
        return result;
    }

    /** The name of an index file by a locale. */
    private static String indexName(String locale) {
        Locale.setDefault(Locale.forLanguageTag(locale));
        TimeZone.setDefault(TimeZone.getTimeZone("UTC"));
        return UtilAll.offset2FileName(20) + " " + UtilAll.timeMillisToHumanString(STORE_TIME);
    }

    /** Names of files by locales whose data are those of Java 8, and those of today's Java. */
    private static Object olderNames() throws Exception {
        List<Object> result = new ArrayList<>();
        for (String locale : new String[] {"ar-EG", "hi-IN"}) {
            for (String data : new String[] {"COMPAT", "CLDR"}) {
                List<String> said = child("-Djava.locale.providers=" + data, "names", locale);
                result.add(map("locale", locale, "data", data, "names", said.get(said.size() - 1)));
            }
        }
        return result;
    }

    /** What a put into a file that was deleted while it was in use, and released since, does to the process. */
    private String crash() throws Exception {
        List<String> said = child("-XX:ErrorFile=" + root.resolve("crash"), "append after the last release", root + "/crashing");
        return said.stream().filter(line -> line.contains("SIGSEGV")).findFirst().map(line -> "SIGSEGV").orElse(said.toString());
    }

    private static void appendAfterTheLastRelease(String folder) throws Exception {
        MappedFile file = new MappedFile(folder + "/00000000000000000000", 1 << 20);
        file.hold();
        file.destroy(60_000);
        System.out.println(file.appendMessage(new byte[] {1}));
        file.release();
        System.out.println(file.appendMessage(new byte[] {1}));
        System.exit(0);
    }

    /** Runs this class in another process; the lines that it prints. */
    private static List<String> child(String option, String... args) throws Exception {
        List<String> command = new ArrayList<>();
        command.add(Paths.get(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(java.lang.management.ManagementFactory.getRuntimeMXBean().getInputArguments());
        command.addAll(Arrays.asList("-XX:-CreateCoredumpOnCrash", "-Dfile.encoding=UTF-8", "-Dsun.stdout.encoding=UTF-8", option, "-cp",
            System.getProperty("java.class.path"), StoreFacts.class.getName()));
        command.addAll(Arrays.asList(args));
        Process process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.DISCARD).start();
        List<String> lines = new ArrayList<>();
        try (java.io.BufferedReader reader = new java.io.BufferedReader(
            new java.io.InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
            for (String line = reader.readLine(); line != null; line = reader.readLine()) {
                lines.add(line);
            }
        }
        process.waitFor();
        return lines;
    }

    private static List<Object> propertyStrings() {
        List<Object> result = new ArrayList<>();
        for (String text : new String[] {
            "", "A", "A\u0001", "\u0001b", "A\u0001b", "A\u0001b\u0002", "A\u0001b\u0002C\u0001d",
            "A\u0001b\u0002C\u0001d\u0002", "A\u0001\u0002C\u0001d", "A\u0001b\u0001c", "\u0001A\u0001b", "A\u0001\u0001",
            "A\u0001b\u0002A\u0001c", "A\u0001b\u0002A\u0001", "A\u0001b\u0002c\u0002D\u0001e", "\u0002\u0002A\u0001b",
            "AB", "ABC", "ABC\u0002D\u0001e", "A\u0001b\u0002\u0002\u0002C\u0001d", " \u0001 ", "KEYS\u0001k1 k2\u0002TAGS\u0001TagA",
            "A\u0001\ud83d", "\u0001\u0001\u0001", "A\u0002\u0001b\u0002", "ab\u0002\u0001c",
        }) {
            result.add(map("text", units(text),
                "map", utf16(MessageDecoder.string2messageProperties(text))));
        }
        return result;
    }

    /** Names and values as UTF-16 in hexadecimal, since a value may be a lone surrogate. */
    private static Map<String, String> utf16(Map<String, String> properties) {
        Map<String, String> result = new TreeMap<>();
        properties.forEach((name, value) -> result.put(units(name), units(value)));
        return result;
    }

    private static String units(String text) {
        ByteBuffer buffer = ByteBuffer.allocate(2 * text.length());
        for (char unit : text.toCharArray()) {
            buffer.putChar(unit);
        }
        return hex(buffer.array());
    }

    private static List<Object> writtenProperties() {
        List<Object> result = new ArrayList<>();
        for (String[] pairs : new String[][] {
            {}, {"A", "b"}, {"A", "b", "C", "d"}, {"A", ""}, {"A", null, "C", "d"}, {"A", "b\u0001c\u0002d"},
        }) {
            Map<String, String> properties = new LinkedHashMap<>();
            for (int i = 0; i < pairs.length; i += 2) {
                properties.put(pairs[i], pairs[i + 1]);
            }
            result.add(map("pairs", Arrays.asList(pairs),
                "text", hex(MessageDecoder.messageProperties2String(properties).getBytes(StandardCharsets.UTF_8))));
        }
        return result;
    }

    private static List<Object> decodedUtf8() {
        List<Object> result = new ArrayList<>();
        for (String bytes : new String[] {
            "", "41", "C3A9", "E4B8AD", "F09F9880", "80", "BF41", "C3", "C341", "C080", "C0AF", "C1BF", "E0", "E080", "E08080",
            "E4B8", "E4B841", "E441", "EDA080", "EDA080EDB080", "EDBFBF41", "F0", "F09F", "F09F98", "F09F9841", "F08080", "F0808080",
            "F48FBFBF", "F4908080", "F5808080", "F8808080", "FC80", "FE", "FF", "FFFF", "E4B8ADFFE4B8AD", "F09FFF", "E0A0", "ED9FBF",
            "EDA0", "EDA041", "F09F41", "F49080", "F888808080", "FC8480808080", "E0BF", "F0908041",
        }) {
            byte[] data = UtilAll.string2bytes(bytes);
            data = data == null ? new byte[0] : data;
            result.add(map("bytes", hex(data), "utf16", units(new String(data, 0, data.length, MessageDecoder.CHARSET_UTF8))));
        }
        return result;
    }

    private static List<Object> encodedUtf8() {
        List<Object> result = new ArrayList<>();
        for (String text : new String[] {"A\u00e9\u4e2d\ud83d\ude00", "\ud800", "\udc00", "a\ud800b", "\udc00\ud800", "\ud83d\ud83d\ude00"}) {
            result.add(map("utf16", units(text), "bytes", hex(text.getBytes(MessageDecoder.CHARSET_UTF8))));
        }
        return result;
    }

    private static InetSocketAddress host(String address, int port) throws Exception {
        return new InetSocketAddress(InetAddress.getByName(address), port);
    }

    private static MessageExtBrokerInner message(String topic, int queueId, byte[] body, String properties, int sysFlag)
        throws Exception {
        MessageExtBrokerInner message = new MessageExtBrokerInner();
        message.setTopic(topic);
        message.setQueueId(queueId);
        message.setBody(body);
        message.setBodyCRC(UtilAll.crc32(body));
        message.setPropertiesString(properties);
        message.setSysFlag(sysFlag);
        message.setFlag(-7);
        message.setBornTimestamp(1699999999999L);
        message.setStoreTimestamp(STORE_TIME);
        message.setBornHost(host("10.1.2.3", 54321));
        message.setStoreHost(host("127.0.0.1", 10911));
        message.setReconsumeTimes(3);
        message.setPreparedTransactionOffset(0x0102030405060708L);
        return message;
    }

    private static byte[] encode(MessageExtBrokerInner message) {
        CommitLog.MessageExtEncoder encoder = new CommitLog.MessageExtEncoder(1 << 20);
        if (encoder.encode(message) != null) {
            return null;
        }
        ByteBuffer buffer = encoder.getEncoderBuffer();
        byte[] result = new byte[buffer.getInt(0)];
        buffer.duplicate().get(result);
        return result;
    }

    private static byte[] text(String value) {
        return value.getBytes(StandardCharsets.UTF_8);
    }

    private List<Object> records() throws Exception {
        List<Object> result = new ArrayList<>();
        for (int flags = 0; flags < 4; flags++) {
            MessageExtBrokerInner message = message("TopicTest", 2, text("123456789"), "KEYS\u0001k1 k2\u0002TAGS\u0001TagA",
                flags == 3 ? 1 | 2 | 8 : 0);
            if ((flags & 1) != 0) {
                message.setBornHost(host("2001:db8::1", 54321));
                message.setBornHostV6Flag();
            }
            if ((flags & 2) != 0) {
                message.setStoreHost(host("::1", 10911));
                message.setStoreHostAddressV6Flag();
            }
            result.add(record(message));
        }
        result.add(record(message("T", 0, null, null, 0)));
        result.add(record(message("\u4e2d\u6587", 0, new byte[0], "", 4)));
        result.add(record(message("a\ud800b", 0, text("x"), "KEYS\u0001\udc00", 12)));
        return result;
    }

    private static Object record(MessageExtBrokerInner message) {
        return map("topic", units(message.getTopic()), "queue_id", message.getQueueId(),
            "body", message.getBody() == null ? null : hex(message.getBody()),
            "properties", message.getPropertiesString() == null ? null : units(message.getPropertiesString()),
            "sys_flag", message.getSysFlag(), "flag", message.getFlag(), "born_timestamp", message.getBornTimestamp(),
            "store_timestamp", message.getStoreTimestamp(), "reconsume_times", message.getReconsumeTimes(),
            "prepared_transaction_offset", message.getPreparedTransactionOffset(),
            "born_host", message.getBornHostString(), "born_port", ((InetSocketAddress) message.getBornHost()).getPort(),
            "store_host", ((InetSocketAddress) message.getStoreHost()).getAddress().getHostAddress(),
            "store_port", ((InetSocketAddress) message.getStoreHost()).getPort(),
            "bytes", hex(encode(message)));
    }

    /** What a batch of one message stores of the client's properties and of the batch's own. */
    private static List<Object> batchProperties() throws Exception {
        List<Object> result = new ArrayList<>();
        String[] ofClient = {"", "KEYS\u0001k", "KEYS\u0001k\u0002", "\u0002\u0002", "x", "KEYS\u0001\u0002TAGS\u0001t\u0002\u0002"};
        for (String client : ofClient) {
            for (boolean own : new boolean[] {false, true}) {
                byte[] record = batchRecord(text(client), own);
                byte[] kept = Arrays.copyOfRange(record, 91 + 1 + 1, record.length);
                result.add(map("client", units(client), "own", own, "stored", hex(kept),
                    "length", ByteBuffer.wrap(record).getShort(91 + 1 + 1 - 2)));
            }
        }
        return result;
    }

    /** Lengths that do not fit their field: what is stored, and what is read of it. */
    private List<Object> wrappedLengths() throws Exception {
        List<Object> result = new ArrayList<>();
        for (int length : new int[] {32750, 32758, 32767}) {
            char[] filler = new char[length];
            Arrays.fill(filler, 'x');
            byte[] record = batchRecord(text(new String(filler)), true);
            result.add(wrapped("client's properties of a batch", length, record, 91 + 1 + 1 - 2, 2));
        }
        for (int length : new int[] {127, 128, 200, 300}) {
            char[] filler = new char[length];
            Arrays.fill(filler, 'T');
            byte[] record = encode(message(new String(filler), 0, null, null, 0));
            result.add(wrapped("topic", length, record, 88, 1));
        }
        return result;
    }

    private Object wrapped(String what, int length, byte[] record, int place, int width) {
        DispatchRequest request = store.getCommitLog().checkMessageAndReturnSize(ByteBuffer.wrap(record), false, true);
        return map("what", what, "length", length, "record", record.length, "total_size", ByteBuffer.wrap(record).getInt(0),
            "stored", width == 1 ? record[place] : ByteBuffer.wrap(record).getShort(place),
            "success", request.isSuccess(), "msg_size", request.getMsgSize());
    }

    /** Files that someone still holds when they are deleted. */
    private Object held() throws Exception {
        Path path = root.resolve("held/00000000000000000000");
        MappedFile file = new MappedFile(path.toString(), 100);
        boolean before = file.appendMessage(new byte[] {1, 2, 3, 4});
        file.hold();
        List<Object> steps = new ArrayList<>();
        steps.add(map("do", "destroy", "result", file.destroy(1000), "exists", Files.exists(path), "available", file.isAvailable()));
        steps.add(map("do", "select", "result", file.selectMappedBuffer(0) != null));
        steps.add(map("do", "append", "result", file.appendMessage(new byte[] {5, 6}), "wrote", file.getWrotePosition(),
            "bytes", hex(Arrays.copyOf(Files.readAllBytes(path), 8))));
        steps.add(map("do", "flush", "result", file.flush(0)));
        steps.add(map("do", "destroy again", "result", file.destroy(60_000), "exists", Files.exists(path)));
        file.release();
        steps.add(map("do", "release", "exists", Files.exists(path), "over", file.isCleanupOver()));
        steps.add(map("do", "destroy once more", "result", file.destroy(60_000), "exists", Files.exists(path)));

        Path indexPath = root.resolve("held/20200101000000001");
        IndexFile index = new IndexFile(indexPath.toString(), 7, 12, 0, 0);
        index.putKey("T#a", 1, STORE_TIME);
        java.lang.reflect.Field mapped = IndexFile.class.getDeclaredField("mappedFile");
        mapped.setAccessible(true);
        ((MappedFile) mapped.get(index)).hold();
        List<Long> found = new ArrayList<>();
        boolean destroyed = index.destroy(3000);
        boolean put = index.putKey("T#a", 2, STORE_TIME);
        index.selectPhyOffset(found, "T#a", 32, 0, Long.MAX_VALUE, false);
        byte[] bytes = Files.readAllBytes(indexPath);
        boolean forced = index.destroy(0);
        return map("before", before, "steps", steps, "index", map("destroyed", destroyed, "put", put, "found", found,
            "count", ByteBuffer.wrap(bytes).getInt(36), "forced", forced, "exists", Files.exists(indexPath)));
    }

    /** The record of a batch's only message, whose body is one byte, with these properties and perhaps one of the batch. */
    private static byte[] batchRecord(byte[] properties, boolean own) throws Exception {
        ByteBuffer one = ByteBuffer.allocate(4 + 4 + 4 + 4 + 4 + 1 + 2 + properties.length);
        one.putInt(one.capacity()).putInt(0).putInt(0).putInt(0).putInt(1).put((byte) 'b');
        one.putShort((short) properties.length).put(properties);
        MessageExtBatch batch = new MessageExtBatch();
        batch.setTopic("T");
        batch.setBody(one.array());
        batch.setBornHost(host("127.0.0.1", 1));
        batch.setStoreHost(host("127.0.0.1", 2));
        if (own) {
            MessageAccessor.putProperty(batch, "CLUSTER", "c");
        }
        ByteBuffer stored = new CommitLog.MessageExtEncoder(1 << 20).encode(batch, new CommitLog.PutMessageContext("T-0"));
        byte[] record = new byte[stored.getInt(0)];
        stored.duplicate().get(record);
        return record;
    }

    private Object longestProperties() throws Exception {
        char[] filler = new char[32767];
        Arrays.fill(filler, 'x');
        String longest = new String(filler);
        return map("32767", encode(message("T", 0, null, longest, 0)).length, "32768", encode(message("T", 0, null, longest + "x", 0)));
    }

    /** Appends messages into a region of 400 bytes at physical offset 5120, filled with 0xEE before. */
    private List<Object> appends() throws Exception {
        List<Object> result = new ArrayList<>();
        for (int size : new int[] {400, 300, 299, 100, 99}) {
            CommitLog log = new CommitLog(store);
            CommitLog.DefaultAppendMessageCallback callback = log.new DefaultAppendMessageCallback(1 << 20);
            byte[] region = new byte[size];
            Arrays.fill(region, UNTOUCHED);
            ByteBuffer buffer = ByteBuffer.wrap(region);
            List<Object> steps = new ArrayList<>();
            for (int transaction : new int[] {0, 4, 12, 8, 0}) {
                MessageExtBrokerInner message = message("T", 1, null, null, transaction);
                message.setEncodedBuff(ByteBuffer.wrap(encode(message)));
                int position = buffer.position();
                AppendMessageResult appended = callback.doAppend(5120, buffer, size - position, message,
                    new CommitLog.PutMessageContext("T-1"));
                steps.add(map("sys_flag", transaction, "status", appended.getStatus().name(), "wrote_offset", appended.getWroteOffset(),
                    "wrote_bytes", appended.getWroteBytes(), "logics_offset", appended.getLogicsOffset()));
                if (appended.getStatus() != AppendMessageStatus.PUT_OK) {
                    break;
                }
            }
            result.add(map("size", size, "steps", steps, "bytes", hex(region)));
        }
        return result;
    }

    private Object request(String input, byte[] data, boolean checkCrc) {
        ByteBuffer buffer = ByteBuffer.wrap(data);
        DispatchRequest request = store.getCommitLog().checkMessageAndReturnSize(buffer, checkCrc, true);
        return map("input", input, "bytes", hex(data), "check_crc", checkCrc, "success", request.isSuccess(),
            "msg_size", request.getMsgSize(), "topic", units(request.getTopic()), "queue_id", request.getQueueId(),
            "commit_log_offset", request.getCommitLogOffset(), "tags_code", request.getTagsCode(),
            "store_timestamp", request.getStoreTimestamp(), "consume_queue_offset", request.getConsumeQueueOffset(),
            "keys", request.getKeys() == null ? null : units(request.getKeys()),
            "uniq_key", request.getUniqKey() == null ? null : units(request.getUniqKey()), "sys_flag", request.getSysFlag(),
            "prepared_transaction_offset", request.getPreparedTransactionOffset(), "position", buffer.position(),
            "properties", request.getPropertiesMap() == null ? null : utf16(request.getPropertiesMap()));
    }

    private static byte[] patched(byte[] data, int offset, int... bytes) {
        byte[] result = data.clone();
        for (int i = 0; i < bytes.length; i++) {
            result[offset + i] = (byte) bytes[i];
        }
        return result;
    }

    private List<Object> dispatchRequests() throws Exception {
        String keys = "KEYS\u0001k1  k2 \u0002UNIQ_KEY\u00010A\u0002TAGS\u0001TagA";
        byte[] plain = encode(message("TopicTest", 2, text("123456789"), keys, 0));
        byte[] bare = encode(message("T", 0, null, null, 0));
        List<Object> result = new ArrayList<>();
        result.add(request("all properties", plain, true));
        result.add(request("no properties", bare, true));
        result.add(request("no KEYS", encode(message("T", 0, null, "TAGS\u0001TagA", 0)), true));
        result.add(request("no TAGS", encode(message("T", 0, null, "KEYS\u0001a", 2)), true));
        result.add(request("multi-tags", encode(message("T", 0, null, "TAGS\u0001TagA||TagB", 2)), true));
        result.add(request("negative tags code", encode(message("T", 0, null, "TAGS\u0001polygenelubricants", 0)), true));
        result.add(request("properties without a pair", encode(message("T", 0, null, "x", 0)), true));
        result.add(request("wrong body, unchecked", patched(plain, 88, 0), false));
        result.add(request("wrong body, checked", patched(plain, 88, 0), true));
        result.add(request("wrong checksum of no body", patched(bare, 8, 0, 0, 0, 1), true));
        result.add(request("bad magic", patched(plain, 4, 0), true));
        result.add(request("zeros", new byte[100], true));
        result.add(request("blank", patched(new byte[20], 0, 0, 0, 0, 99, 0xcb, 0xd4, 0x31, 0x94), true));
        result.add(request("too short for a magic", new byte[7], true));
        result.add(request("cut in the properties", Arrays.copyOf(plain, plain.length - 1), true));
        result.add(request("total size one more", patched(plain, 3, plain.length + 1), true));
        result.add(request("total size one less", patched(plain, 3, plain.length - 1), true));
        result.add(request("total size too small for the hosts", patched(plain, 0, 0, 0, 0, 7), true));
        result.add(request("total size 0", patched(plain, 0, 0, 0, 0, 0), true));
        result.add(request("negative total size", patched(plain, 0, 0xff), true));
        result.add(request("negative body length", patched(bare, 84, 0xff, 0xff, 0xff, 0xff), true));
        result.add(request("negative properties length", patched(bare, bare.length - 2, 0xff, 0xff), true));
        result.add(request("negative topic length", patched(bare, 88, 0xff), true));
        result.add(request("foreign physical offset", patched(plain, 28, 0, 0, 0, 0, 0, 0, 9, 9), true));
        for (String delay : new String[] {"1", "3", "18", "99", "0", "-1", "+2", "x", "1 ", "2147483648"}) {
            result.add(request("DELAY " + delay, encode(message("SCHEDULE_TOPIC_XXXX", 2, null,
                "DELAY\u0001" + delay + "\u0002TAGS\u0001TagA", 0)), true));
        }
        result.add(request("DELAY under another topic", encode(message("T", 2, null, "DELAY\u0001x\u0002TAGS\u0001TagA", 0)), true));
        return result;
    }

    private static Map<String, Object> files(Path folder) throws Exception {
        Map<String, Object> result = new TreeMap<>();
        File[] files = folder.toFile().listFiles();
        for (File file : files == null ? new File[0] : files) {
            result.put(file.getName(), hex(Files.readAllBytes(file.toPath())));
        }
        return result;
    }

    private static DispatchRequest dispatch(long offset, int size, long tagsCode, long queueOffset) {
        return new DispatchRequest("T", 0, offset, size, tagsCode, STORE_TIME, queueOffset, null, null, 0, 0, null);
    }

    /** A queue of 5-unit files (81 bytes asked for) whose first message has logical offset 7. */
    private Object preBlank() throws Exception {
        store.getMessageStoreConfig().setEnableConsumeQueueExt(false);
        int fileSize = store.getMessageStoreConfig().getMappedFileSizeConsumeQueue();
        ConsumeQueue queue = new ConsumeQueue("T", 0, root + "/consumequeue", fileSize, store);
        for (int i = 0; i < 4; i++) {
            queue.putMessagePositionInfoWrapper(dispatch(1000 + 100 * i, 100, -1 - i, 7 + i), false);
        }
        store.getMessageStoreConfig().setEnableConsumeQueueExt(true);
        return map("file_size", fileSize, "min", queue.getMinOffsetInQueue(), "max", queue.getMaxOffsetInQueue(),
            "files", files(root.resolve("consumequeue/T/0")));
    }

    /** A queue with ext files of 70 bytes; each message brings a bit map of the given length. */
    private Object ext() throws Exception {
        int fileSize = store.getMessageStoreConfig().getMappedFileSizeConsumeQueue();
        ConsumeQueue queue = new ConsumeQueue("E", 3, root + "/consumequeue", fileSize, store);
        int[] lengths = {0, 8, 0, 26, 27, 46};
        for (int i = 0; i < lengths.length; i++) {
            DispatchRequest request = dispatch(100L * i, 100, 2598919 + i, i);
            byte[] bitMap = new byte[lengths[i]];
            Arrays.fill(bitMap, (byte) (0xA0 + i));
            request.setBitMap(lengths[i] == 0 ? null : bitMap);
            queue.putMessagePositionInfoWrapper(request, false);
        }
        return map("bit_map_lengths", lengths, "store_timestamp", STORE_TIME, "first_tags_code", 2598919,
            "queue_files", files(root.resolve("consumequeue/E/3")), "ext_files", files(root.resolve("consumequeue_ext/E/3")),
            "is_address", map("-2147483648", ConsumeQueueExt.isExtAddr(-2147483648L),
                "-2147483649", ConsumeQueueExt.isExtAddr(-2147483649L), "-9223372036854775808", ConsumeQueueExt.isExtAddr(Long.MIN_VALUE)));
    }

    private Object checkpoint() throws Exception {
        String path = root + "/points/checkpoint";
        StoreCheckpoint point = new StoreCheckpoint(path);
        byte[] fresh = Files.readAllBytes(Paths.get(path));
        point.setPhysicMsgTimestamp(1);
        point.setLogicsMsgTimestamp(-2);
        point.setIndexMsgTimestamp(Long.MAX_VALUE);
        point.flush();
        byte[] flushed = Files.readAllBytes(Paths.get(path));
        Map<String, Object> lengths = new LinkedHashMap<>();
        for (int length : new int[] {0, 1, 24, 4095, 4096, 5000}) {
            String other = root + "/points/checkpoint" + length;
            try (FileOutputStream out = new FileOutputStream(other)) {
                out.write(Arrays.copyOf(flushed, length));
            }
            StoreCheckpoint read = new StoreCheckpoint(other);
            lengths.put(String.valueOf(length), map("length", new File(other).length(), "physic", read.getPhysicMsgTimestamp(),
                "logics", read.getLogicsMsgTimestamp(), "index", read.getIndexMsgTimestamp()));
        }
        return map("fresh_length", fresh.length, "fresh_is_zero", Arrays.equals(fresh, new byte[4096]),
            "flushed", hex(Arrays.copyOf(flushed, 32)), "flushed_length", flushed.length, "opened", lengths);
    }
}
