package rocketspec.golden;

import com.alibaba.fastjson.JSON;
import com.alibaba.fastjson.JSONObject;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.rocketmq.store.DispatchRequest;

/** A dispatch request as a line of the truth, and back: a broker in another process hands its requests over so. */
final class DispatchLine {

    private DispatchLine() {
    }

    static Map<String, Object> of(RecordingStore.Dispatched dispatched) {
        DispatchRequest request = dispatched.request;
        return Json.object(
            "type", "dispatch",
            "start", dispatched.start,
            "topic", request.getTopic(),
            "queue_id", request.getQueueId(),
            "commit_log_offset", request.getCommitLogOffset(),
            "msg_size", request.getMsgSize(),
            "tags_code", request.getTagsCode(),
            "store_timestamp", request.getStoreTimestamp(),
            "consume_queue_offset", request.getConsumeQueueOffset(),
            "keys", request.getKeys(),
            "uniq_key", request.getUniqKey(),
            "sys_flag", request.getSysFlag(),
            "prepared_transaction_offset", request.getPreparedTransactionOffset(),
            "properties", request.getPropertiesMap() == null ? null : new TreeMap<>(request.getPropertiesMap()),
            "bit_map", request.getBitMap(),
            "success", request.isSuccess());
    }

    /** The requests that a file holds; the last line is left out when the process was killed while writing it. */
    static List<RecordingStore.Dispatched> read(Path path) throws IOException {
        String text = new String(Files.readAllBytes(path), StandardCharsets.US_ASCII);
        List<RecordingStore.Dispatched> found = new ArrayList<>();
        for (String line : text.substring(0, text.lastIndexOf('\n') + 1).split("\n")) {
            if (!line.isEmpty()) {
                found.add(parse(JSON.parseObject(line)));
            }
        }
        return found;
    }

    private static RecordingStore.Dispatched parse(JSONObject line) {
        Map<String, String> properties = null;
        if (line.getJSONObject("properties") != null) {
            properties = new HashMap<>();
            for (String name : line.getJSONObject("properties").keySet()) {
                properties.put(name, line.getJSONObject("properties").getString(name));
            }
        }
        DispatchRequest request = new DispatchRequest(line.getString("topic"), line.getIntValue("queue_id"),
            line.getLongValue("commit_log_offset"), line.getIntValue("msg_size"), line.getLongValue("tags_code"),
            line.getLongValue("store_timestamp"), line.getLongValue("consume_queue_offset"), line.getString("keys"),
            line.getString("uniq_key"), line.getIntValue("sys_flag"),
            line.getLongValue("prepared_transaction_offset"), properties);
        if (line.getString("bit_map") != null) {
            request.setBitMap(Base64.getDecoder().decode(line.getString("bit_map")));
        }
        return new RecordingStore.Dispatched(line.getIntValue("start"), request);
    }
}
