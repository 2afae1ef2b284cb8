package rocketspec.golden;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.rocketmq.common.UtilAll;
import org.apache.rocketmq.common.message.MessageConst;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.store.DefaultMessageStore;
import org.apache.rocketmq.store.DispatchRequest;

/** The commit log: every file walked by CommitLog.checkMessageAndReturnSize, every record by the MessageDecoder. */
final class LogTruth {

    private final DefaultMessageStore store;
    private final Consumer<Map<String, Object>> out;

    LogTruth(DefaultMessageStore store, Consumer<Map<String, Object>> out) {
        this.store = store;
        this.out = out;
    }

    void write(List<RecordingStore.Dispatched> dispatched) throws IOException {
        Map<Long, DispatchRequest> live = new HashMap<>();
        for (RecordingStore.Dispatched each : dispatched) {
            live.put(each.request.getCommitLogOffset(), each.request);
        }
        int records = 0;
        for (Path file : files()) {
            records += walk(file, live);
        }
        Truth.check(records == live.size(), records + " records, " + live.size() + " of them dispatched");
    }

    private static List<Path> files() throws IOException {
        try (Stream<Path> list = Files.list(Broker.STORE.resolve("commitlog"))) {
            return list.sorted().collect(Collectors.toList());
        }
    }

    private int walk(Path file, Map<Long, DispatchRequest> live) throws IOException {
        List<Map<String, Object>> lines = new ArrayList<>();
        long base = Long.parseLong(file.getFileName().toString());
        String end = "end";
        int at = 0;
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
            ByteBuffer buffer = channel.map(FileChannel.MapMode.READ_ONLY, 0, channel.size());
            while (buffer.hasRemaining()) {
                DispatchRequest request = store.getCommitLog().checkMessageAndReturnSize(buffer, true, true);
                if (!request.isSuccess()) {
                    end = "zeros";
                    break;
                }
                if (request.getMsgSize() == 0) {
                    end = "blank";
                    lines.add(Json.object("type", "log_blank", "file", Truth.name(file), "phy_offset", base + at,
                        "size", buffer.getInt(at)));
                    break;
                }
                compare(request, live.get(base + at));
                lines.add(record(file, base + at, request));
                at += request.getMsgSize();
            }
            out.accept(Json.object("type", "log_file", "file", Truth.name(file), "base_offset", base,
                "size", channel.size(), "used", at, "ends_in", end));
        }
        lines.forEach(out);
        return lines.size() - (end.equals("blank") ? 1 : 0);
    }

    /** Reading the file again must give what the running broker dispatched. */
    private static void compare(DispatchRequest read, DispatchRequest live) {
        Truth.check(live != null, "never dispatched: " + read);
        Truth.check(read.getTopic().equals(live.getTopic())
            && read.getQueueId() == live.getQueueId()
            && read.getCommitLogOffset() == live.getCommitLogOffset()
            && read.getMsgSize() == live.getMsgSize()
            && read.getTagsCode() == live.getTagsCode()
            && read.getStoreTimestamp() == live.getStoreTimestamp()
            && read.getConsumeQueueOffset() == live.getConsumeQueueOffset()
            && String.valueOf(read.getKeys()).equals(String.valueOf(live.getKeys()))
            && String.valueOf(read.getUniqKey()).equals(String.valueOf(live.getUniqKey()))
            && read.getSysFlag() == live.getSysFlag()
            && read.getPropertiesMap().equals(live.getPropertiesMap()), read + " and " + live);
    }

    private Map<String, Object> record(Path file, long offset, DispatchRequest request) {
        MessageExt message = store.lookMessageByOffset(offset);
        return Json.object(
            "type", "log_record",
            "file", Truth.name(file),
            "phy_offset", message.getCommitLogOffset(),
            "size", message.getStoreSize(),
            "topic", message.getTopic(),
            "queue_id", message.getQueueId(),
            "queue_offset", message.getQueueOffset(),
            "sys_flag", message.getSysFlag(),
            "flag", message.getFlag(),
            "born_timestamp", message.getBornTimestamp(),
            "born_host", host(message.getBornHost()),
            "store_timestamp", message.getStoreTimestamp(),
            "store_host", host(message.getStoreHost()),
            "reconsume_times", message.getReconsumeTimes(),
            "prepared_transaction_offset", message.getPreparedTransactionOffset(),
            "body", message.getBody(),
            "body_crc", message.getBodyCRC() & 0xFFFFFFFFL,
            "crc_ok", message.getBodyCRC() == UtilAll.crc32(message.getBody()),
            "keys", message.getKeys(),
            "uniq_key", message.getProperty(MessageConst.PROPERTY_UNIQ_CLIENT_MESSAGE_ID_KEYIDX),
            "tags", message.getTags(),
            "tags_code", request.getTagsCode(),
            "properties", new TreeMap<>(message.getProperties()));
    }

    private static String host(SocketAddress address) {
        InetSocketAddress host = (InetSocketAddress) address;
        String ip = host.getAddress().getHostAddress();
        return (ip.indexOf(':') < 0 ? ip : "[" + ip + "]") + ":" + host.getPort();
    }
}
