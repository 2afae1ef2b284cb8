package rocketspec.golden;

import com.google.common.net.InetAddresses;
import io.openmessaging.storage.dledger.entry.DLedgerEntry;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Comparator;
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
import org.apache.rocketmq.common.topic.TopicValidator;
import org.apache.rocketmq.store.DefaultMessageStore;
import org.apache.rocketmq.store.DispatchRequest;
import org.apache.rocketmq.store.dledger.DLedgerCommitLog;

/** The commit log: every file walked by CommitLog.checkMessageAndReturnSize, every record by the MessageDecoder. */
final class LogTruth {

    private final DefaultMessageStore store;
    private final Left left;
    private final Consumer<Map<String, Object>> out;
    private final List<DispatchRequest> records = new ArrayList<>();
    private final DledgerTruth dledger;

    LogTruth(DefaultMessageStore store, Left left, Consumer<Map<String, Object>> out) {
        this.store = store;
        this.left = left;
        this.out = out;
        this.dledger = store.getCommitLog() instanceof DLedgerCommitLog
            ? new DledgerTruth((DLedgerCommitLog) store.getCommitLog(), out) : null;
    }

    /** Writes the lines; returns the requests that the records give, in the order of the log. */
    List<DispatchRequest> write() throws IOException {
        Map<Long, RecordingStore.Dispatched> live = new HashMap<>();
        for (RecordingStore.Dispatched each : left.dispatched) {
            live.putIfAbsent(each.request.getCommitLogOffset(), each);
        }
        List<Path> files = files();
        for (Path file : files) {
            walk(file, live);
        }
        if (dledger != null) {
            dledger.write();
        }
        if (left.clean) {
            long first = base(files.get(0));
            long expected = live.keySet().stream().filter(offset -> offset >= first).count();
            Truth.check(records.size() == expected, records.size() + " records, " + expected + " of them dispatched");
        }
        return records;
    }

    private List<Path> files() throws IOException {
        try (Stream<Path> all = Files.walk(left.root)) {
            return all.filter(Files::isRegularFile).filter(path -> isLog(left.root.relativize(path)))
                .sorted(Comparator.comparingLong(LogTruth::base)).collect(Collectors.toList());
        }
    }

    /** Whether a file, named relative to the store, is one of the commit log's. */
    private static boolean isLog(Path name) {
        return name.getName(0).toString().startsWith("commitlog") || DledgerTruth.isData(name);
    }

    private static long base(Path file) {
        return Long.parseLong(file.getFileName().toString());
    }

    private void walk(Path file, Map<Long, RecordingStore.Dispatched> live) throws IOException {
        List<Map<String, Object>> lines = new ArrayList<>();
        long base = base(file);
        boolean framed = DledgerTruth.isData(left.root.relativize(file));
        String end = "end";
        int at = 0;
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
            ByteBuffer buffer = channel.map(FileChannel.MapMode.READ_ONLY, 0, channel.size());
            while (buffer.hasRemaining()) {
                if (framed && base + at >= dledger.writePos()) {
                    end = buffer.getInt(at) == 0 ? "zeros" : "stale";
                    break;
                }
                DispatchRequest request = store.getCommitLog().checkMessageAndReturnSize(buffer, true, true);
                if (!request.isSuccess()) {
                    Truth.check(buffer.getInt(at) == 0, "a torn record at " + (base + at));
                    end = "zeros";
                    break;
                }
                if (request.getMsgSize() == 0) {
                    end = "blank";
                    lines.add(framed ? dledger.endMark(file, base + at, buffer, at)
                        : Json.object("type", "log_blank", "file", Truth.name(file), "phy_offset", base + at,
                            "size", buffer.getInt(at)));
                    break;
                }
                long offset = base + at;
                if (framed) {
                    lines.add(dledger.entry(file, offset, buffer, at));
                    offset += DLedgerEntry.BODY_OFFSET;
                }
                compare(request, live.get(offset));
                lines.add(record(file, offset, request));
                records.add(request);
                at += framed ? request.getBufferSize() : request.getMsgSize();
            }
            out.accept(Json.object("type", "log_file", "file", Truth.name(file), "base_offset", base,
                "size", channel.size(), "used", at, "ends_in", end));
        }
        lines.forEach(out);
    }

    /** Reading the file again must give what the running broker dispatched. */
    private void compare(DispatchRequest read, RecordingStore.Dispatched dispatched) {
        if (dispatched == null) {
            Truth.check(!left.clean, "never dispatched: " + read);
            return;
        }
        DispatchRequest live = dispatched.request;
        // A record that only recovery dispatched, before it knew the delay levels, has the hash of its tags.
        boolean undelayed = dispatched.start > 1 && read.getTopic().equals(TopicValidator.RMQ_SYS_SCHEDULE_TOPIC);
        Truth.check(read.getTopic().equals(live.getTopic())
            && read.getQueueId() == live.getQueueId()
            && read.getCommitLogOffset() == live.getCommitLogOffset()
            && read.getMsgSize() == live.getMsgSize()
            && (read.getTagsCode() == live.getTagsCode() || undelayed)
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
        String ip = InetAddresses.toAddrString(host.getAddress()); // RFC 5952: ::1
        return (ip.indexOf(':') < 0 ? ip : "[" + ip + "]") + ":" + host.getPort();
    }
}
