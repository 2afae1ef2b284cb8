import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.TreeMap;
import org.apache.rocketmq.common.BrokerConfig;
import org.apache.rocketmq.store.DefaultMessageStore;
import org.apache.rocketmq.store.DispatchRequest;
import org.apache.rocketmq.store.config.MessageStoreConfig;
import org.apache.rocketmq.store.stats.BrokerStatsManager;

/** What the JDK and the real store say to inputs that test_real_jar.py made: MODE INPUT OUTPUT DIRECTORY. */
public final class Compare {
    public static void main(String[] arguments) throws Exception {
        try (PrintStream out = new PrintStream(new BufferedOutputStream(new FileOutputStream(arguments[2])), false, "US-ASCII")) {
            switch (arguments[0]) {
                case "text" -> text(arguments[1], out);
                case "dispatch" -> dispatch(arguments[1], arguments[3], out);
                default -> throw new IllegalArgumentException(arguments[0]);
            }
        }
        System.exit(0);  // the store's threads are still there
    }

    /** Every input as UTF-8, then for each char whether it is a digit. */
    private static void text(String input, PrintStream out) throws IOException {
        try (DataInputStream in = new DataInputStream(new BufferedInputStream(new FileInputStream(input)))) {
            for (byte[] data = next(in); data != null; data = next(in)) {
                out.println(hex(new String(data, StandardCharsets.UTF_8)));
            }
        }
        StringBuilder digits = new StringBuilder();
        for (int character = 0; character < 65536; character++) {
            digits.append((char) ('a' + 1 + Character.digit((char) character, 10)));
        }
        out.println(digits);
    }

    /** The requests of each buffer, on one line. Flags: 1 check the CRC, 2 read the body, 4 levels are parsed. */
    private static void dispatch(String input, String directory, PrintStream out) throws Exception {
        MessageStoreConfig config = new MessageStoreConfig();
        config.setStorePathRootDir(directory);
        config.setStorePathCommitLog(directory + "/commitlog");
        DefaultMessageStore[] stores = new DefaultMessageStore[2];
        for (int i = 0; i < 2; i++) {
            stores[i] = new DefaultMessageStore(config, new BrokerStatsManager("c", false), null, new BrokerConfig());
        }
        stores[1].getScheduleMessageService().parseDelayLevel();
        try (DataInputStream in = new DataInputStream(new BufferedInputStream(new FileInputStream(input)))) {
            for (byte[] data = next(in); data != null; data = next(in)) {
                int flags = data[0];
                ByteBuffer buffer = ByteBuffer.wrap(data, 1, data.length - 1).slice();
                StringBuilder line = new StringBuilder();
                while (buffer.hasRemaining()) {
                    DispatchRequest request = stores[flags >> 2].getCommitLog()
                        .checkMessageAndReturnSize(buffer, (flags & 1) != 0, (flags & 2) != 0);
                    line.append(show(request)).append(';');
                    if (!request.isSuccess() || request.getMsgSize() == 0) {
                        break;
                    }
                }
                out.println(line);
            }
        }
    }

    private static String show(DispatchRequest request) {
        StringBuilder properties = new StringBuilder();
        if (request.getPropertiesMap() == null) {
            properties.append("null");
        } else {
            new TreeMap<>(request.getPropertiesMap()).forEach(
                (name, value) -> properties.append(hex(name)).append('=').append(hex(value)).append('&'));
        }
        return String.join(",", hex(request.getTopic()), "" + request.getQueueId(), "" + request.getCommitLogOffset(),
            "" + request.getMsgSize(), "" + request.getTagsCode(), "" + request.getStoreTimestamp(),
            "" + request.getConsumeQueueOffset(), hex(request.getKeys()), hex(request.getUniqKey()),
            "" + request.getSysFlag(), "" + request.getPreparedTransactionOffset(), "" + request.isSuccess(), properties);
    }

    private static byte[] next(DataInputStream in) throws IOException {
        try {
            byte[] data = new byte[in.readInt()];
            in.readFully(data);
            return data;
        } catch (EOFException end) {
            return null;
        }
    }

    private static String hex(String text) {
        return text == null ? "null" : "x" + HexFormat.of().formatHex(text.getBytes(StandardCharsets.UTF_16BE));
    }
}
