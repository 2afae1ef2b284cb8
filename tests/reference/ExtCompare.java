import java.io.File;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import org.apache.rocketmq.store.ConsumeQueueExt;
import org.apache.rocketmq.store.MappedFile;

/**
 * The real ext queue, driven by test_real_ext.py: INPUT OUTPUT DIRECTORY.
 *
 * One operation a line; a line in answer: what it returned or threw, the state in memory, and a checksum of each file.
 */
public final class ExtCompare extends StoreDriver {
    private ConsumeQueueExt ext;

    private ExtCompare(Path scratch) {
        super(scratch);
    }

    public static void main(String[] arguments) throws Exception {
        run(new ExtCompare(Path.of(arguments[2])), arguments[0], arguments[1]);
    }

    @Override
    String operate(String[] word) throws Exception {
        switch (word[0]) {
            case "ext.open" -> {
                drop();
                ext = new ConsumeQueueExt("T", 0, root.resolve("consumequeue_ext").toString(),
                    Integer.parseInt(word[1]), Integer.parseInt(word[2]));
            }
            case "ext.load" -> {
                return "" + ext.load();
            }
            case "ext.put" -> {
                byte[] bitMap = word[3].equals("-") ? null : HexFormat.of().parseHex(word[3]);
                return "" + ext.put(new ConsumeQueueExt.CqExtUnit(number(word[1]), number(word[2]), bitMap));
            }
            case "ext.get" -> {
                ConsumeQueueExt.CqExtUnit unit = ext.get(number(word[1]));
                if (unit == null) {
                    return "null";
                }
                byte[] bitMap = unit.getFilterBitMap();
                return unit.getSize() + "," + unit.getTagsCode() + "," + unit.getMsgStoreTime() + ","
                    + (bitMap == null ? "" : HexFormat.of().formatHex(bitMap));
            }
            case "ext.recover" -> ext.recover();
            case "ext.truncate_max" -> ext.truncateByMaxAddress(number(word[1]));
            case "ext.truncate_min" -> ext.truncateByMinAddress(number(word[1]));
            default -> throw new AssertionError(word[0]);
        }
        return "-";
    }

    @Override
    String state() throws Exception {
        return ext == null ? "-" : positions(field(ext, "mappedFileQueue"));
    }

    /** Checksum and length of every file, by name. */
    @Override
    String files() throws IOException {
        File[] files = root.resolve("consumequeue_ext/T/0").toFile().listFiles();
        if (files == null || files.length == 0) {
            return "-";
        }
        Arrays.sort(files);
        StringBuilder text = new StringBuilder();
        for (File file : files) {
            text.append(file.getName()).append(summary(file.toPath()));
        }
        return text.toString();
    }

    @Override
    void drop() throws Exception {
        List<MappedFile> open = new ArrayList<>();
        collect(ext, open);
        close(open);
        ext = null;
    }

    private static long number(String word) {
        return Long.parseLong(word);
    }
}
