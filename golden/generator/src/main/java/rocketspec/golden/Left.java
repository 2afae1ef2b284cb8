package rocketspec.golden;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;

/** What a broker left: the unchanged files, and what is known of how they came about. */
final class Left {

    /** The store's directory. */
    final Path root;

    /** What was dispatched, in that order; a broker that was killed may have dispatched one more. */
    final List<RecordingStore.Dispatched> dispatched;

    /** Lines of files that were there once. */
    final List<Map<String, Object>> deletions = new ArrayList<>();

    /** Whether the broker stopped cleanly: everything in the log was dispatched, and nothing else. */
    final boolean clean;

    private Left(Path root, List<RecordingStore.Dispatched> dispatched, List<Map<String, Object>> deletions,
        boolean clean) {
        this.root = root;
        this.dispatched = Collections.unmodifiableList(new ArrayList<>(dispatched));
        this.deletions.addAll(deletions);
        this.clean = clean;
    }

    static Left cleanly(Path root, List<RecordingStore.Dispatched> dispatched, List<Map<String, Object>> deletions) {
        return new Left(root, dispatched, deletions, true);
    }

    static Left uncleanly(Path root, List<RecordingStore.Dispatched> dispatched) {
        return new Left(root, dispatched, Collections.emptyList(), false);
    }

    /** How many index files a restart deleted: always the newest ones. */
    int indexFilesLost() {
        return (int) deletions.stream().filter(line -> line.get("by").equals("restart")
            && line.get("file").toString().startsWith("index/")).count();
    }

    /** How many index files were deleted because their messages were: always the oldest ones. */
    int indexFilesExpired() {
        return (int) deletions.stream().filter(line -> line.get("by").equals("expiry")
            && line.get("file").toString().startsWith("index/")).count();
    }
}
