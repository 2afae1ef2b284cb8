package rocketspec.adapter;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.BufferedOutputStream;
import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;

/**
 * Speaks rocketspec's adapter protocol 1 on stdin and stdout for whatever RocketMQ store is on the class path.
 *
 * <p>One JSON object a line each way. Cases are run in the order in which they come, so that the suite may send
 * {@link #MAX_IN_FLIGHT} of them before it reads an answer. Stdout belongs to the protocol: whatever library code
 * prints goes to stderr.
 */
public final class Main {
    /** Cases that may wait in the pipe: enough to hide its latency, few enough to fit its buffer. */
    private static final int MAX_IN_FLIGHT = 16;

    private static final int BUFFER_BYTES = 1 << 16;

    private Main() {
    }

    public static void main(final String[] args) throws IOException {
        final OutputStream out =
            new BufferedOutputStream(new FileOutputStream(FileDescriptor.out), BUFFER_BYTES);
        System.setOut(System.err);
        final BufferedReader in = new BufferedReader(
            new InputStreamReader(new FileInputStream(FileDescriptor.in), StandardCharsets.UTF_8), BUFFER_BYTES);

        IndexFileApi.check();
        // A further family of operations is one more class in this list.
        final CaseRunner runner = new CaseRunner(List.of(new HashOps(), new IndexOps(), new TagsOps(), new QueueOps(),
            new ServiceOps(), new LogOps(), new CheckpointOps()));

        for (String line = in.readLine(); line != null; line = in.readLine()) {
            if (line.isEmpty()) {
                continue;
            }
            final JsonObject message = JsonParser.parseString(line).getAsJsonObject();
            final String command = message.get("cmd").getAsString();
            switch (command) {
                case "hello" -> write(out, hello(runner));
                case "case" -> write(out, runner.run(message));
                case "bye" -> {
                    return;
                }
                default -> throw new IOException("unknown command: " + command);
            }
        }
    }

    private static CharSequence hello(final CaseRunner runner) {
        final JsonText text = new JsonText();
        text.raw("{\"protocol\":1,\"name\":\"rocketmq-store\",\"version\":").string(StoreJar.version());
        text.raw(",\"language\":\"java\",\"ops\":[");
        String separator = "";
        for (final String op : runner.ops()) {
            text.raw(separator).string(op);
            separator = ",";
        }
        text.raw("],\"geometry\":\"any\",\"features\":[\"lone_surrogates\"],\"max_in_flight\":");
        return text.raw(Integer.toString(MAX_IN_FLIGHT)).raw("}").text();
    }

    private static void write(final OutputStream out, final CharSequence line) throws IOException {
        out.write(line.toString().getBytes(StandardCharsets.UTF_8));
        out.write('\n');
        out.flush();
    }
}
