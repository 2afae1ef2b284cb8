import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A starter adapter for adapter protocol 1: standard library only, one object a line on stdin and stdout.
 *
 * <p>Copy the folder, and put calls to your own code where this class calls {@link IndexFile}, the example. Everything
 * marked YOURS is what you change; the rest is the protocol. 64-bit integers travel as decimal strings, 32-bit ones as
 * numbers. Stdout belongs to the protocol: write your log to stderr.
 */
public final class Adapter {
    private static final String NAME = "my-index"; // YOURS
    private static final String VERSION = "0.1.0"; // YOURS

    // What is declared. The other operations, with their fields and results, wait for yours in run().
    private static final List<String> OPS = List.of("key.hash", "tags.code", "index.open", "index.put", "index.select",
        "index.time_matched", "index.header", "index.full", "index.flush", "index.close");

    /** Your code reported an error: a verdict, compared with what 4.9.3 does. Any other exception is errored. */
    private static final class Rejected extends Exception {
        private static final long serialVersionUID = 1L;

        Rejected(final String why) {
            super(why);
        }
    }

    private final Path directory;
    private final List<Object> files = new ArrayList<>();
    private IndexFile index; // YOURS

    private Adapter(final String directory) {
        this.directory = Path.of(directory);
    }

    private Map<String, Object> run(final Op op) throws Rejected {
        switch (op.text("op")) {
            case "key.hash":
                return Map.of("hash", IndexFile.keyHash(op.key())); // YOURS
            case "tags.code":
                return Map.of("tags_code", String.valueOf((long) op.units("tags").hashCode())); // YOURS
            case "index.open":
                return open(op);
            // YOURS: fill in what you have, and add its name to OPS
            case "service.open": // hash_slot_num, index_num, last_exit_ok, index_msg_timestamp: files
            case "service.build": // topic, uniq_key, keys, commit_log_offset, store_timestamp, sys_flag: {}
            case "service.query": // topic, key, max_num, begin, end: offsets, last_update_*
            case "service.delete_expired": // offset: files
            case "service.settle": // no fields: index_msg_timestamp
            case "queue.open": // topic, queue_id, file_size, load: {}
            case "queue.put": // offset, size, tags_code, cq_offset: put
            case "queue.get": // cq_offset: unit
            case "queue.bounds": // no fields: min, max, max_physic_offset
            case "queue.recover": // no fields: min, max, max_physic_offset
            case "queue.truncate": // phy_offset: min, max, max_physic_offset
            case "queue.correct_min": // phy_min_offset: min, max, max_physic_offset
            case "queue.delete_expired": // phy_offset: deleted, min, max, max_physic_offset
            case "queue.last_offset": // no fields: last_offset
            case "log.dispatch": // file, check_crc, read_body?: requests
            case "checkpoint.read": // no fields: the three times
            case "checkpoint.write": // the three times: the same
            case "index.read": // file, hash_slot_num, index_num: header, entries
            case "queue.read": // file: units
            case "log.read": // file: records
                return Map.of("unsupported", true);
            default:
                break;
        }
        if (!OPS.contains(op.text("op"))) {
            return Map.of("unsupported", true);
        }
        if (this.index == null) {
            throw new Rejected("no index file is open");
        }
        try {
            return onOpenFile(op);
        } catch (final IOException | ArithmeticException | IndexOutOfBoundsException thrown) { // YOURS
            throw new Rejected(thrown.toString());
        }
    }

    private Map<String, Object> open(final Op op) throws Rejected {
        release();
        final String file = op.text("file");
        this.files.add(Map.of("role", "index", "path", file));
        final int slots = op.i32("hash_slot_num");
        final int entries = op.i32("index_num");
        final long endPhyOffset = op.i64("end_phy_offset");
        final long endTimestamp = op.i64("end_timestamp");
        final boolean load = op.flag("load");
        try {
            this.index = // YOURS
                IndexFile.open(this.directory.resolve(file), slots, entries, endPhyOffset, endTimestamp, load);
        } catch (final IOException | IllegalArgumentException | IndexOutOfBoundsException thrown) { // YOURS
            throw new Rejected(thrown.toString());
        }
        return Map.of();
    }

    private Map<String, Object> onOpenFile(final Op op) throws IOException {
        switch (op.text("op")) {
            case "index.put":
                return Map.of("put", // YOURS
                    this.index.put(op.key(), op.i64("phy_offset"), op.i64("store_timestamp")));
            case "index.select":
                final List<Long> offsets = op.initial();
                this.index.select(offsets, op.key(), op.i32("max_num"), op.i64("begin"), op.i64("end")); // YOURS
                return Map.of("offsets", offsets.stream().map(String::valueOf).toList());
            case "index.time_matched":
                return Map.of("matched", this.index.timeMatched(op.i64("begin"), op.i64("end"))); // YOURS
            case "index.header": // YOURS: the header in memory
                return Map.of(
                    "begin_timestamp", String.valueOf(this.index.beginTimestamp),
                    "end_timestamp", String.valueOf(this.index.endTimestamp),
                    "begin_phy_offset", String.valueOf(this.index.beginPhyOffset),
                    "end_phy_offset", String.valueOf(this.index.endPhyOffset),
                    "hash_slot_count", this.index.hashSlotCount,
                    "index_count", this.index.indexCount);
            case "index.full":
                return Map.of("full", this.index.full()); // YOURS
            case "index.flush":
                this.index.flush(); // YOURS
                return Map.of();
            case "index.close":
                release();
                return Map.of();
            default:
                throw new IllegalStateException(op.text("op"));
        }
    }

    /** Closes the file, without flushing: the suite reads it, and removes it. */
    private void release() {
        if (this.index != null) {
            this.index.close(); // YOURS
        }
        this.index = null;
    }

    /** The answer to a case: one result per operation; later ones run even when one is rejected. */
    private static Map<String, Object> runCase(final Map<?, ?> message) {
        final Adapter adapter = new Adapter((String) message.get("dir"));
        final List<Object> results = new ArrayList<>();
        for (final Object fields : (List<?>) message.get("ops")) {
            try {
                results.add(adapter.run(new Op((Map<?, ?>) fields)));
            } catch (final Rejected rejected) {
                results.add(Map.of("rejected", rejected.getMessage()));
            } catch (final RuntimeException failure) {
                results.add(Map.of("errored", failure.toString()));
            }
        }
        adapter.release();
        return Map.of("id", message.get("id"), "results", results, "files", adapter.files);
    }

    private static Map<String, Object> hello() {
        final Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("protocol", 1);
        answer.put("name", NAME);
        answer.put("version", VERSION);
        answer.put("language", "java");
        answer.put("ops", OPS);
        answer.put("geometry", "any");
        answer.put("features", List.of("lone_surrogates"));
        answer.put("max_in_flight", 1);
        return answer;
    }

    public static void main(final String[] args) throws IOException {
        final PrintStream out = new PrintStream(new FileOutputStream(FileDescriptor.out), false, StandardCharsets.UTF_8);
        System.setOut(System.err); // what a library prints must not reach the protocol
        final BufferedReader in = new BufferedReader(
            new InputStreamReader(new FileInputStream(FileDescriptor.in), StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            final Map<?, ?> message = (Map<?, ?>) Json.parse(line);
            final Object answer;
            switch ((String) message.get("cmd")) {
                case "hello":
                    answer = hello();
                    break;
                case "case":
                    answer = runCase(message);
                    break;
                case "bye":
                    return;
                default:
                    throw new IOException("unknown command " + message.get("cmd"));
            }
            out.print(Json.text(answer) + "\n");
            out.flush();
        }
    }

    /** One operation, and its fields read strictly. */
    private record Op(Map<?, ?> fields) {
        private <T> T field(final String name, final Class<T> type) {
            final Object value = this.fields.get(name);
            if (!type.isInstance(value)) {
                throw new IllegalArgumentException(name + " is " + value);
            }
            return type.cast(value);
        }

        String text(final String name) {
            return field(name, String.class);
        }

        int i32(final String name) {
            return Math.toIntExact(field(name, Long.class));
        }

        long i64(final String name) {
            return Long.parseLong(text(name));
        }

        boolean flag(final String name) {
            return field(name, Boolean.class);
        }

        List<Long> initial() {
            final List<Long> offsets = new ArrayList<>();
            if (this.fields.containsKey("initial")) {
                for (final Object offset : field("initial", List.class)) {
                    offsets.add(Long.parseLong((String) offset));
                }
            }
            return offsets;
        }

        String key() {
            return units("key");
        }

        /** A key or tags: text, or UTF-16 code units in hex when it holds a lone surrogate; null is empty here. */
        String units(final String name) {
            if (!this.fields.containsKey(name + "_utf16")) {
                return this.fields.get(name) == null ? "" : text(name);
            }
            final String hex = text(name + "_utf16");
            final StringBuilder units = new StringBuilder();
            for (int i = 0; i < hex.length(); i += 4) {
                units.append((char) Integer.parseInt(hex, i, i + 4, 16));
            }
            return units.toString();
        }
    }
}
