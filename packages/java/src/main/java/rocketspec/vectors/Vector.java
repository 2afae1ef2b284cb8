package rocketspec.vectors;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** One case: operations, and what is expected: what the real 4.9.3 answered and wrote, or what another release does. */
public final class Vector {
    private final JsonObject data;
    private final JsonObject expected;
    private final JsonObject clauses;

    Vector(final JsonObject data, final JsonObject clauses, final String release) {
        final JsonObject others = data.getAsJsonObject("releases");
        this.data = data;
        this.expected = others != null && others.has(release) ? others.getAsJsonObject(release) : data;
        this.clauses = clauses;
    }

    /** CLAUSE/slug. */
    public String id() {
        return this.data.get("id").getAsString();
    }

    @Override
    public String toString() {
        return id();
    }

    /**
     * Runs the case in a temporary directory.
     *
     * @throws NotOffered the implementation lacks an operation of the case
     * @throws AssertionError an answer or a byte differs; the message names the clause
     */
    public void check(final IndexFileUnderTest implementation) throws Exception {
        checkNames();
        final Path directory = Files.createTempDirectory("rocketmq-vector");
        try {
            for (final Map.Entry<String, JsonElement> file : this.data.getAsJsonObject("files").entrySet()) {
                final Path path = directory.resolve(file.getKey());
                Files.createDirectories(path.getParent());
                Files.write(path, Bytes.of(file.getValue().getAsJsonObject()));
            }
            final List<String> differences = new ArrayList<>();
            try {
                answers(new Operations(implementation, directory), differences);
            } finally {
                implementation.close();
            }
            files(left(directory), differences);
            if (!differences.isEmpty()) {
                throw new AssertionError(message(differences));
            }
        } finally {
            remove(directory);
        }
    }

    /** A name in a case that somebody else wrote must not lead out of the case's directory. */
    private void checkNames() {
        final List<String> names = new ArrayList<>(this.data.getAsJsonObject("files").keySet());
        for (final JsonElement operation : this.data.getAsJsonArray("ops")) {
            final JsonElement file = operation.getAsJsonObject().get("file");
            if (file != null) {
                names.add(file.getAsString());
            }
        }
        for (final String name : names) {
            if (!name.matches("[^/\\\\:]+(/[^/\\\\:]+)*") || ("/" + name + "/").contains("/../")) {
                throw new AssertionError(id() + ": file " + name + " is not a relative path without ..");
            }
        }
    }

    private void answers(final Operations operations, final List<String> differences) throws Exception {
        for (int i = 0; i < this.data.getAsJsonArray("ops").size(); i++) {
            final JsonObject operation = this.data.getAsJsonArray("ops").get(i).getAsJsonObject();
            final JsonObject expected = this.expected.getAsJsonArray("results").get(i).getAsJsonObject();
            final JsonObject actual = operations.run(operation);
            final String place = "operation " + i + ", " + operation.get("op").getAsString() + ": ";
            if (expected.has("rejected") || actual.has("rejected")) {
                if (expected.has("rejected") != actual.has("rejected")) {
                    differences.add(place + "expected " + expected + ", actual " + actual);
                }
                continue;
            }
            for (final Map.Entry<String, JsonElement> field : expected.entrySet()) {
                final JsonElement found = actual.get(field.getKey());
                if (!field.getValue().equals(found)) {
                    differences.add(place + field.getKey() + ": expected " + field.getValue() + ", actual " + found);
                }
            }
        }
    }

    /** The files that are there, those that the clock has named as {@code index/new-1} and so on. */
    private Map<String, byte[]> left(final Path directory) throws IOException {
        final boolean named = this.data.getAsJsonArray("ops").toString().contains("service.build");
        final Map<String, byte[]> found = new TreeMap<>();
        final List<Path> paths;
        try (Stream<Path> walk = Files.walk(directory)) {
            paths = walk.filter(Files::isRegularFile).sorted().collect(Collectors.toList());
        }
        int made = 0;
        for (final Path path : paths) {
            String name = directory.relativize(path).toString().replace('\\', '/');
            if (named && name.matches("index/[0-9]{17}") && !this.data.getAsJsonObject("files").has(name)) {
                name = "index/new-" + ++made;
            }
            found.put(name, Files.readAllBytes(path));
        }
        return found;
    }

    private void files(final Map<String, byte[]> found, final List<String> differences) {
        final JsonObject expected = this.expected.getAsJsonObject("left");
        for (final Map.Entry<String, JsonElement> file : expected.entrySet()) {
            final String difference =
                Bytes.difference(Bytes.of(file.getValue().getAsJsonObject()), found.remove(file.getKey()));
            if (difference != null) {
                differences.add("file " + file.getKey() + difference);
            }
        }
        for (final String name : found.keySet()) {
            differences.add("file " + name + ": expected none");
        }
    }

    private String message(final List<String> differences) {
        final String clause = id().substring(0, id().indexOf('/'));
        final JsonObject rule = this.clauses.getAsJsonObject(clause);
        return id() + " breaks " + clause + " (" + rule.get("level").getAsString() + "): "
            + rule.get("text").getAsString() + "\n  "
            + String.join("\n  ", differences.subList(0, Math.min(differences.size(), 5)))
            + "\n  " + this.data.get("description").getAsString();
    }

    private static void remove(final Path directory) throws IOException {
        try (Stream<Path> walk = Files.walk(directory)) {
            for (final Path path : walk.sorted(Comparator.reverseOrder()).collect(Collectors.toList())) {
                Files.delete(path);
            }
        }
    }
}
