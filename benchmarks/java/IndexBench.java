import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.apache.rocketmq.store.index.IndexFile;

/**
 * Times putKey and selectPhyOffset of the real IndexFile, one round for each line on stdin.
 *
 * <p>Arguments: hash slots, index entries, puts. The data are those of benchmarks/data.py: key i is 16 fixed characters
 * and 16 hexadecimal digits of i times an odd constant, its offset 1024 * i, its time 1700000000000 + i. Keys are ready
 * as strings; topic + "#" + key is joined inside the loop, as IndexService.buildKey does.
 *
 * <pre>
 * put FILE     makes FILE and puts all entries; answers "nanos accepted"
 * keep FILE    the same, and later selects go to this file
 * select       every key once, in an order of its own; answers "nanos hits sum-of-offsets"
 * </pre>
 */
public final class IndexBench {
    private static final String TOPIC = "BenchTopic";
    private static final String PREFIX = "7F00000100002A9F";
    private static final long SCRAMBLE = 0x9E3779B97F4A7C15L;
    private static final int STRIDE = 7_368_787;
    private static final int MAX_NUM = 64;
    private static final long BEGIN = 1_700_000_000_000L;
    private static final char[] DIGITS = "0123456789ABCDEF".toCharArray();

    private final int slots;
    private final int entries;
    private final String[] keys;
    private final String[] queries;
    private IndexFile kept;

    private IndexBench(int slots, int entries, int count) {
        this.slots = slots;
        this.entries = entries;
        this.keys = new String[count];
        this.queries = new String[count];
        for (int i = 0; i < count; i++) {
            keys[i] = key(i);
        }
        for (int i = 0; i < count; i++) {
            queries[i] = key((long) i * STRIDE % count);
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
            kept = file;
        } else {
            file.destroy(0);
        }
        return nanos + " " + accepted;
    }

    private String select() {
        List<Long> offsets = new ArrayList<>(MAX_NUM);
        long hits = 0;
        long sum = 0;
        long start = System.nanoTime();
        for (String query : queries) {
            offsets.clear();
            kept.selectPhyOffset(offsets, TOPIC + "#" + query, MAX_NUM, 0, Long.MAX_VALUE, false);
            hits += offsets.size();
            for (int i = 0; i < offsets.size(); i++) {
                sum += offsets.get(i);
            }
        }
        return System.nanoTime() - start + " " + hits + " " + sum;
    }

    public static void main(String[] arguments) throws Exception {
        int[] numbers = new int[3];
        for (int i = 0; i < 3; i++) {
            numbers[i] = Integer.parseInt(arguments[i]);
        }
        IndexBench bench = new IndexBench(numbers[0], numbers[1], numbers[2]);
        System.out.println("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            int space = line.indexOf(' ');
            String word = space < 0 ? line : line.substring(0, space);
            System.out.println(word.equals("select") ? bench.select() : bench.put(line.substring(space + 1), word.equals("keep")));
        }
    }
}
