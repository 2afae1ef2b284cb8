import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.BufferedReader;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.TreeMap;
import org.apache.rocketmq.common.BrokerConfig;
import org.apache.rocketmq.store.DefaultMessageStore;
import org.apache.rocketmq.store.DispatchRequest;
import org.apache.rocketmq.store.config.MessageStoreConfig;
import org.apache.rocketmq.store.index.IndexFile;
import org.apache.rocketmq.store.index.IndexHeader;
import org.apache.rocketmq.store.stats.BrokerStatsManager;

/** What the JDK and the real store say to inputs that test_real_jar.py made: MODE INPUT OUTPUT DIRECTORY. */
public final class Compare {
    public static void main(String[] arguments) throws Exception {
        try (PrintStream out = new PrintStream(new BufferedOutputStream(new FileOutputStream(arguments[2])), false, "US-ASCII")) {
            switch (arguments[0]) {
                case "text" -> text(arguments[1], out);
                case "dispatch" -> dispatch(arguments[1], arguments[3], out);
                case "index" -> index(Path.of(arguments[1]), out);
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

    /** One operation a line, one result a line. */
    private static void index(Path input, PrintStream out) throws Exception {
        IndexFile index = null;
        try (BufferedReader in = Files.newBufferedReader(input)) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                String[] word = line.split(" ", -1);
                try {
                    switch (word[0]) {
                        case "open" -> {
                            index = null;
                            IndexFile opened = new IndexFile(word[1], Integer.parseInt(word[2]), Integer.parseInt(word[3]),
                                Long.parseLong(word[4]), Long.parseLong(word[5]));
                            if (word[6].equals("1")) {
                                opened.load();
                            }
                            index = opened;
                            out.println("-");
                        }
                        case "put" -> out.println(index.putKey(text(word[1]), Long.parseLong(word[2]), Long.parseLong(word[3])));
                        case "select" -> {
                            List<Long> offsets = new ArrayList<>();
                            index.selectPhyOffset(offsets, text(word[1]), Integer.parseInt(word[2]),
                                Long.parseLong(word[3]), Long.parseLong(word[4]), false);
                            out.println(offsets.toString().replace(" ", ""));
                        }
                        case "matched" -> out.println(index.isTimeMatched(Long.parseLong(word[1]), Long.parseLong(word[2])));
                        case "full" -> out.println(index.isWriteFull());
                        case "flush" -> {
                            index.flush();
                            out.println("-");
                        }
                        case "header" -> {
                            Field field = IndexFile.class.getDeclaredField("indexHeader");
                            field.setAccessible(true);
                            IndexHeader header = (IndexHeader) field.get(index);
                            out.println(header.getBeginTimestamp() + "," + header.getEndTimestamp() + ","
                                + header.getBeginPhyOffset() + "," + header.getEndPhyOffset() + ","
                                + header.getHashSlotCount().get() + "," + header.getIndexCount());
                        }
                        case "bytes" -> out.println(HexFormat.of().formatHex(Files.readAllBytes(Path.of(word[1]))));
                        default -> throw new AssertionError(line);
                    }
                } catch (Exception exception) {
                    out.println("!" + exception.getClass().getSimpleName());
                }
            }
        }
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

    private static String text(String hex) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < hex.length(); i += 4) {
            text.append((char) Integer.parseInt(hex.substring(i, i + 4), 16));
        }
        return text.toString();
    }

    private static String hex(String text) {
        return text == null ? "null" : "x" + HexFormat.of().formatHex(text.getBytes(StandardCharsets.UTF_16BE));
    }
}
