import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.apache.rocketmq.common.BrokerConfig;
import org.apache.rocketmq.store.CommitLog;
import org.apache.rocketmq.store.DefaultMessageStore;
import org.apache.rocketmq.store.DispatchRequest;
import org.apache.rocketmq.store.config.MessageStoreConfig;
import org.apache.rocketmq.store.index.IndexFile;
import org.apache.rocketmq.store.stats.BrokerStatsManager;

/**
 * Times putKey and checkMessageAndReturnSize of the real store, one round for each line on stdin.
 *
 * <p>Arguments: hash slots, index entries, puts. The data are those of benchmarks/data.py: key i is 16 fixed
 * characters and 16 hexadecimal digits of i times an odd constant, its offset 1024 * i, its time 1700000000000 + i. Keys
 * are ready as strings; topic + "#" + key is joined inside the loop, as IndexService.buildKey does.
 *
 * <pre>
 * put FILE     makes FILE and puts all entries; answers "nanos accepted"
 * keep FILE    the same, and FILE stays
 * scan FILE    a commit log, record by record, as ReputMessageService reads it: bodies skipped, no CRC;
 *              answers "nanos records sum-of-tags-codes"
 * </pre>
 */
public final class StoreBench {
    private static final String TOPIC = "BenchTopic";
    private static final String PREFIX = "7F00000100002A9F";
    private static final long SCRAMBLE = 0x9E3779B97F4A7C15L;
    private static final long BEGIN = 1_700_000_000_000L;
    private static final char[] DIGITS = "0123456789ABCDEF".toCharArray();

    private final int slots;
    private final int entries;
    private final String[] keys;
    private CommitLog commitLog;

    private StoreBench(int slots, int entries, int count) {
        this.slots = slots;
        this.entries = entries;
        this.keys = new String[count];
        for (int i = 0; i < count; i++) {
            keys[i] = key(i);
        }
    }

    private static String key(long number) {
        long bits = number * SCRAMBLE;
        char[] digits = new char[16];
        for (int i = 0; i < 16; i++) {
            digits[i] = DIGITS[(int) (bits >>> (60 - 4 * i)) & 15];
        }
        return PREFIX + new String(digits);
    }

    private String put(String path, boolean keep) throws Exception {
        IndexFile file = new IndexFile(path, slots, entries, 0, 0);
        long accepted = 0;
        long start = System.nanoTime();
        for (int i = 0; i < keys.length; i++) {
            if (file.putKey(TOPIC + "#" + keys[i], 1024L * i, BEGIN + i)) {
                accepted++;
            }
        }
        long nanos = System.nanoTime() - start;
        if (keep) {
            file.flush();
        } else {
            file.destroy(0);
        }
        return nanos + " " + accepted;
    }

    private CommitLog commitLog() throws Exception {
        if (commitLog == null) {
            Path root = Files.createTempDirectory("rocketspec-bench-store");
            MessageStoreConfig config = new MessageStoreConfig();
            config.setStorePathRootDir(root.toString());
            config.setStorePathCommitLog(root.resolve("commitlog").toString());
            commitLog = new DefaultMessageStore(config, new BrokerStatsManager("bench", false), null, new BrokerConfig())
                .getCommitLog();
            try (var paths = Files.walk(root)) {
                paths.sorted(java.util.Comparator.reverseOrder()).forEach(path -> path.toFile().delete());
            }
        }
        return commitLog;
    }

    private String scan(Path path) throws Exception {
        CommitLog log = commitLog();
        try (FileChannel channel = FileChannel.open(path, StandardOpenOption.READ)) {
            MappedByteBuffer buffer = channel.map(FileChannel.MapMode.READ_ONLY, 0, channel.size());
            long records = 0;
            long codes = 0;
            long start = System.nanoTime();
            while (buffer.hasRemaining()) {
                DispatchRequest request = log.checkMessageAndReturnSize(buffer, false, false);
                if (!request.isSuccess() || request.getMsgSize() <= 0) {
                    break;
                }
                records++;
                codes += request.getTagsCode();
            }
            return System.nanoTime() - start + " " + records + " " + codes;
        }
    }

    public static void main(String[] arguments) throws Exception {
        int[] numbers = new int[3];
        for (int i = 0; i < 3; i++) {
            numbers[i] = Integer.parseInt(arguments[i]);
        }
        StoreBench bench = new StoreBench(numbers[0], numbers[1], numbers[2]);
        System.out.println("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ", 2);
            String answer;
            switch (words[0]) {
                case "scan":
                    answer = bench.scan(Path.of(words[1]));
                    break;
                default:
                    answer = bench.put(words[1], words[0].equals("keep"));
            }
            System.out.println(answer);
        }
        System.exit(0);
    }
}
