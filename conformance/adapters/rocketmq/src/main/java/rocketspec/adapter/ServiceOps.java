package rocketspec.adapter;

import java.io.File;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/** {@code service.*} on one real IndexService, with a checkpoint that lies outside the case's directory. */
final class ServiceOps implements OpFamily {
    private static final String FOLDER = "index";
    private static final String FLUSH_THREAD = "FlushIndexFileThread";

    private final IndexServiceApi api;
    private final StoreCheckpointApi checkpoints;
    private final List<Object> made = new ArrayList<>();
    /** One for all cases: what a case may see of it, its times, are set by each open. */
    private Object checkpoint;
    private File directory;
    private Set<CaseFile> files;
    private Object open;

    ServiceOps() {
        IndexServiceApi found;
        StoreCheckpointApi foundCheckpoints = null;
        try {
            found = new IndexServiceApi();
            foundCheckpoints = new StoreCheckpointApi();
        } catch (final ReflectiveOperationException | LinkageError drift) {
            System.err.println("no service.*: " + drift);
            found = null;
        }
        this.api = found;
        this.checkpoints = foundCheckpoints;
    }

    @Override
    public List<String> ops() {
        return this.api == null ? List.of() : List.of("service.open", "service.build", "service.query",
            "service.delete_expired", "service.settle");
    }

    @Override
    public void start(final File caseDirectory, final Set<CaseFile> caseFiles) {
        this.directory = caseDirectory;
        this.files = caseFiles;
    }

    @Override
    public void run(final String op, final Fields fields, final JsonText result) throws Throwable {
        if (op.equals("service.open")) {
            open(fields);
            result.raw("{").i32("files", this.api.files(this.open).size()).raw("}");
            return;
        }
        if (this.open == null) {
            throw new Rejected("no index service is open");
        }
        result.raw("{");
        switch (op) {
            case "service.build" -> build(fields);
            case "service.query" -> query(fields, result);
            case "service.delete_expired" -> {
                this.api.deleteExpired.run(this.open, fields.i64("offset"));
                result.i32("files", this.api.files(this.open).size());
            }
            case "service.settle" -> {
                awaitFlush();
                result.i64("index_msg_timestamp", this.checkpoints.times(this.checkpoint)[2]);
            }
            default -> throw new IllegalStateException(op);
        }
        result.raw("}");
    }

    /** The constructor and load(), whose false the store ignores. */
    private void open(final Fields fields) throws Throwable {
        this.open = null;
        if (this.checkpoint == null) {
            this.checkpoint = checkpointOutside();
        }
        this.checkpoints.set(this.checkpoint, 0, 0, fields.i64("index_msg_timestamp"));
        final BareStore store = new BareStore();
        store.set("storeCheckpoint", this.checkpoint);
        store.configure("setStorePathRootDir", String.class, this.directory.getPath());
        store.configure("setMaxHashSlotNum", int.class, fields.i32("hash_slot_num"));
        store.configure("setMaxIndexNum", int.class, fields.i32("index_num"));
        final boolean lastExitOk = fields.flag("last_exit_ok");

        final Object service = this.api.create.run(null, store.store());
        this.made.add(service);
        try {
            this.api.load.run(service, lastExitOk);
        } catch (final Rejected thrown) {
            Jvm.collectHalfMade();
            throw thrown;
        }
        this.open = service;
    }

    /** The folder entry goes at once where the system lets a mapped file go, so that a killed process leaves none. */
    private Object checkpointOutside() throws Throwable {
        final File file;
        try {
            file = File.createTempFile("rocketspec", ".checkpoint");
        } catch (final IOException full) {
            throw new IllegalStateException("no temporary file for the checkpoint", full);
        }
        final Object made = this.checkpoints.open(file.getPath());
        if (!file.delete()) {
            file.deleteOnExit();
        }
        return made;
    }

    /**
     * Builds, then waits for what a new file entails: the flush of the file before it, in a thread of its own, and
     * the end of the millisecond that it is named by.
     */
    private void build(final Fields fields) throws Throwable {
        final Object request = this.api.requests.create(fields.string("topic"), fields.utf16OrNull("keys"),
            fields.utf16OrNull("uniq_key"), fields.i64("commit_log_offset"), fields.i64("store_timestamp"),
            fields.i32("sys_flag"));
        final int before = this.api.files(this.open).size();
        try {
            this.api.build.run(this.open, request);
        } catch (final Rejected thrown) {
            Jvm.collectHalfMade();
            throw thrown;
        } finally {
            if (this.api.files(this.open).size() != before) {
                awaitFlush();
                awaitNextMillisecond();
            }
        }
    }

    private static void awaitFlush() throws InterruptedException {
        Thread[] threads = new Thread[Thread.activeCount() + 8];
        while (Thread.enumerate(threads) == threads.length) {
            threads = new Thread[2 * threads.length];
        }
        for (final Thread thread : threads) {
            if (thread != null && thread.getName().equals(FLUSH_THREAD)) {
                thread.join();
            }
        }
    }

    private static void awaitNextMillisecond() {
        final long named = System.currentTimeMillis();
        while (System.currentTimeMillis() == named) {
            Thread.onSpinWait();
        }
    }

    private void query(final Fields fields, final JsonText result) throws Throwable {
        final Object answer = this.api.query.run(this.open, fields.string("topic"), fields.utf16("key"),
            fields.i32("max_num"), fields.i64("begin"), fields.i64("end"));
        @SuppressWarnings("unchecked")
        final List<Long> offsets = (List<Long>) this.api.offsets.run(answer);
        result.i64List("offsets", offsets).raw(",")
            .i64("last_update_timestamp", (long) this.api.lastUpdateTimestamp.run(answer)).raw(",")
            .i64("last_update_phy_offset", (long) this.api.lastUpdatePhyOffset.run(answer));
    }

    @Override
    public void release() {
        if (this.made.isEmpty()) {
            return;
        }
        try {
            awaitFlush();
            for (final Object service : this.made) {
                for (final Object indexFile : this.api.files(service)) {
                    IndexFileApi.close(indexFile);
                }
            }
        } catch (final Throwable failure) {
            throw new IllegalStateException("an index service was not released", failure);
        }
        this.made.clear();
        this.open = null;
        MappedFiles.list(this.directory, FOLDER, "index", this.files);
    }
}
