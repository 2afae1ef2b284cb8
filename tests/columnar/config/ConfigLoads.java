import com.alibaba.fastjson.JSON;
import com.alibaba.fastjson.serializer.SerializerFeature;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.rocketmq.broker.offset.ConsumerOffsetManager;
import org.apache.rocketmq.broker.subscription.SubscriptionGroupManager;
import org.apache.rocketmq.broker.topic.TopicConfigManager;
import org.apache.rocketmq.common.ConfigManager;
import org.apache.rocketmq.store.schedule.DelayOffsetSerializeWrapper;

/** Loads files of config/ with the real managers: a line "KIND FILE" each, answered with {"load": ..., "table": ...}. */
public class ConfigLoads {
    static class Offsets extends ConsumerOffsetManager {
        String path;
        @Override public String configFilePath() { return path; }
    }

    static class Topics extends TopicConfigManager {
        String path;
        @Override public String configFilePath() { return path; }
    }

    static class Groups extends SubscriptionGroupManager {
        String path;
        @Override public String configFilePath() { return path; }
    }

    /** As ScheduleMessageService decodes, which needs a store. */
    static class Delays extends ConfigManager {
        String path;
        final Map<Integer, Long> table = new ConcurrentHashMap<>();
        @Override public String configFilePath() { return path; }
        @Override public String encode() { return null; }
        @Override public String encode(boolean pretty) { return null; }
        @Override public void decode(String text) {
            DelayOffsetSerializeWrapper read = DelayOffsetSerializeWrapper.fromJson(text, DelayOffsetSerializeWrapper.class);
            if (read != null) table.putAll(read.getOffsetTable());
        }
    }

    static Map<String, Object> loaded(String kind, String path) {
        Map<String, Object> answer = new LinkedHashMap<>();
        if (kind.equals("consumer_offsets")) {
            Offsets manager = new Offsets();
            manager.path = path;
            answer.put("load", manager.load());
            answer.put("table", manager.getOffsetTable());
        } else if (kind.equals("topics")) {
            Topics manager = new Topics();
            manager.path = path;
            answer.put("load", manager.load());
            answer.put("table", manager.getTopicConfigTable());
        } else if (kind.equals("subscription_groups")) {
            Groups manager = new Groups();
            manager.getSubscriptionGroupTable().clear();
            manager.path = path;
            answer.put("load", manager.load());
            answer.put("table", manager.getSubscriptionGroupTable());
        } else {
            Delays manager = new Delays();
            manager.path = path;
            answer.put("load", manager.load());
            answer.put("table", manager.table);
        }
        return answer;
    }

    public static void main(String[] arguments) throws Exception {
        List<String> answers = new ArrayList<>();
        for (String line : Files.readAllLines(Path.of(arguments[0]))) {
            String[] parts = line.split(" ", 2);
            answers.add(JSON.toJSONString(loaded(parts[0], parts[1]), SerializerFeature.WriteMapNullValue,
                SerializerFeature.BrowserCompatible, SerializerFeature.WriteNonStringKeyAsString,
                SerializerFeature.DisableCircularReferenceDetect));
        }
        Files.write(Path.of(arguments[1]), answers);
    }
}
