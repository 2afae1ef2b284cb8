import java.io.BufferedOutputStream;
import java.io.BufferedReader;
import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.io.RandomAccessFile;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.List;
import java.util.zip.CRC32;
import org.apache.rocketmq.store.ConsumeQueue;
import org.apache.rocketmq.store.ConsumeQueueExt;
import org.apache.rocketmq.store.MappedFile;
import org.apache.rocketmq.store.MappedFileQueue;
import org.apache.rocketmq.store.index.IndexFile;
import org.apache.rocketmq.store.index.IndexHeader;
import org.apache.rocketmq.store.index.IndexService;

/**
 * What ExtCompare and StartCompare have in common: one operation per input line, and one answer line with what it returned
 * or threw, the state in memory, and a checksum of each file.
 */
abstract class StoreDriver {
    final Path scratch;
    Path root;

    StoreDriver(Path scratch) {
        this.scratch = scratch;
    }

    /** An operation that only this driver has: what it returned. */
    abstract String operate(String[] word) throws Exception;

    abstract String state() throws Exception;

    abstract String files() throws Exception;

    /** Closes what is open as the end of a process does: unmapped, nothing flushed. */
    abstract void drop() throws Exception;

    /** Runs the lines of a file, then ends the process. */
    static void run(StoreDriver driver, String input, String output) throws Exception {
        Thread.currentThread().setUncaughtExceptionHandler((thread, error) -> {
            error.printStackTrace();
            Runtime.getRuntime().halt(1);  // the store's threads would go on
        });
        try (BufferedReader in = Files.newBufferedReader(Path.of(input));
             PrintStream out = new PrintStream(new BufferedOutputStream(new FileOutputStream(output)), false, "US-ASCII")) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                String answer;
                try {
                    answer = driver.run(line.split(" ", -1));
                } catch (InvocationTargetException exception) {
                    answer = "!" + exception.getCause().getClass().getSimpleName();
                } catch (Exception exception) {
                    answer = "!" + exception.getClass().getSimpleName();
                }
                out.println(answer + " " + driver.state() + " " + driver.files());
            }
        }
        System.exit(0);  // the stores' threads are still there
    }

    private String run(String[] word) throws Exception {
        switch (word[0]) {
            case "root" -> {
                drop();
                root = scratch.resolve(word[1]);
            }
            case "write" -> {
                try (RandomAccessFile file = new RandomAccessFile(make(word[1]), "rw")) {
                    file.seek(Long.parseLong(word[2]));
                    file.write(HexFormat.of().parseHex(word[3]));
                }
            }
            case "length" -> {
                try (RandomAccessFile file = new RandomAccessFile(make(word[1]), "rw")) {
                    file.setLength(Long.parseLong(word[2]));
                }
            }
            case "remove" -> Files.delete(root.resolve(word[1]));
            case "drop" -> drop();
            default -> {
                return operate(word);
            }
        }
        return "-";
    }

    private File make(String name) throws IOException {
        Path path = root.resolve(name);
        Files.createDirectories(path.getParent());
        return path.toFile();
    }

    // --- parts of a state ---------------------------------------------------------------------------------------

    /** First offset and write position of each file of a MappedFileQueue. */
    static String positions(Object files) {
        StringBuilder text = new StringBuilder();
        for (MappedFile file : ((MappedFileQueue) files).getMappedFiles()) {
            text.append(file.getFileFromOffset()).append(':').append(file.getWrotePosition()).append('/');
        }
        return text.append('.').toString();
    }

    /** Positions of a queue's files, and of its ext files. */
    static String positionsOf(ConsumeQueue queue) throws Exception {
        Object ext = field(queue, "consumeQueueExt");
        return positions(field(queue, "mappedFileQueue"))
            + (ext == null ? "" : "," + positions(field(ext, "mappedFileQueue")));
    }

    static String header(IndexFile file) throws Exception {
        IndexHeader header = (IndexHeader) field(file, "indexHeader");
        return header.getBeginTimestamp() + "," + header.getEndTimestamp() + "," + header.getBeginPhyOffset() + ","
            + header.getEndPhyOffset() + "," + header.getHashSlotCount() + "," + header.getIndexCount();
    }

    @SuppressWarnings("unchecked")
    static List<IndexFile> indexFiles(IndexService service) throws Exception {
        return (List<IndexFile>) field(service, "indexFileList");
    }

    /** Length and checksum of a file. */
    static String summary(Path path) throws IOException {
        CRC32 checksum = new CRC32();
        byte[] data = Files.readAllBytes(path);
        checksum.update(data);
        return "=" + data.length + ":" + Long.toHexString(checksum.getValue()) + ";";
    }

    // --- what is open -------------------------------------------------------------------------------------------

    static void collect(ConsumeQueue queue, List<MappedFile> open) throws Exception {
        open.addAll(((MappedFileQueue) field(queue, "mappedFileQueue")).getMappedFiles());
        collect((ConsumeQueueExt) field(queue, "consumeQueueExt"), open);
    }

    static void collect(ConsumeQueueExt ext, List<MappedFile> open) throws Exception {
        if (ext != null) {
            open.addAll(((MappedFileQueue) field(ext, "mappedFileQueue")).getMappedFiles());
        }
    }

    static void collect(IndexService service, List<MappedFile> open) throws Exception {
        for (IndexFile file : indexFiles(service)) {
            open.add((MappedFile) field(file, "mappedFile"));
        }
    }

    static void close(List<MappedFile> open) throws IOException {
        for (MappedFile file : open) {
            MappedFile.clean(file.getMappedByteBuffer());
            file.getFileChannel().close();
        }
    }

    // --- words and private members ------------------------------------------------------------------------------

    /** A text that is given as "x" and four hexadecimal digits for each char. */
    static String text(String hex) {
        if (hex.equals("null")) {
            return null;
        }
        StringBuilder text = new StringBuilder();
        for (int i = 1; i < hex.length(); i += 4) {
            text.append((char) Integer.parseInt(hex.substring(i, i + 4), 16));
        }
        return text.toString();
    }

    static Object field(Object object, String name) throws Exception {
        return field(object.getClass(), name).get(object);
    }

    static Field field(Class<?> type, String name) throws Exception {
        Field field = type.getDeclaredField(name);
        field.setAccessible(true);
        return field;
    }

    static Method method(Class<?> type, String name) {
        for (Method method : type.getDeclaredMethods()) {
            if (method.getName().equals(name)) {
                method.setAccessible(true);
                return method;
            }
        }
        throw new AssertionError(name);
    }
}
