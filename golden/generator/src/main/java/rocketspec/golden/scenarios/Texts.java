package rocketspec.golden.scenarios;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.apache.rocketmq.common.message.Message;

/** Messages, and the words that scenarios choose from: ASCII, CJK, emoji, and strings whose hash codes are peculiar. */
final class Texts {

    /** {@code AaTopic#Aa}, {@code AaTopic#BB}, {@code BBTopic#Aa} and {@code BBTopic#BB} have one hash code. */
    static final List<String> COLLIDING_KEYS = Collections.unmodifiableList(Arrays.asList("Aa", "BB"));

    static final List<String> KEYS = Collections.unmodifiableList(Arrays.asList(
        "order-1001", "order-1002", "order-1003", "user:42", "user:43", "sku/7", "a", "0", "-1", "#", "a#b",
        "k=v", "\u8ba2\u5355\u0031", "\u8ba2\u5355\u0032", "\u6ce8\u6587", "\uc8fc\ubb38", "caf\u00e9", "cafe\u0301",
        "\ud83d\ude80", "\ud83d\ude80\ud83d\ude80", "\ud83d\udc69\u200d\ud83d\ude80", "k\ud83d\ude00x",
        "\ud842\udfb7\u91ce\u5bb6", "\u00ff", "\u0080", "\u07ff\u0800\uffff"));

    static final List<String> TAGS = Collections.unmodifiableList(Arrays.asList(
        "TagA", "TagB", "TagA||TagB", "*", "a", "polygenelubricants", "\u6807\u7b7e", "\ud83c\udff7\ufe0f", "tag with spaces"));

    private static final String LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789 \u4f60\u597d\u4e16\u754c";

    private Texts() {
    }

    static <T> T pick(Random random, List<T> items) {
        return items.get(random.nextInt(items.size()));
    }

    static String words(Random random, int length) {
        StringBuilder text = new StringBuilder();
        while (text.length() < length) {
            text.append(LETTERS.charAt(random.nextInt(LETTERS.length())));
        }
        return text.toString();
    }

    /** A message; null tags and keys are left out, empty ones are not. */
    static Message message(String topic, String tags, String keys, String body) {
        Message message = new Message(topic, body.getBytes(StandardCharsets.UTF_8));
        if (tags != null) {
            message.setTags(tags);
        }
        if (keys != null) {
            message.setKeys(keys);
        }
        return message;
    }
}
