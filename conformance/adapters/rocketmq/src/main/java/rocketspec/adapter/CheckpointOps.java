package rocketspec.adapter;

import java.io.File;
import java.util.List;
import java.util.Set;

/** {@code checkpoint.*}: each operation is a StoreCheckpoint of its own on the file. */
final class CheckpointOps implements OpFamily {
    private static final String NAME = "checkpoint";

    private final StoreCheckpointApi api;
    private File directory;
    private Set<CaseFile> files;

    CheckpointOps() {
        StoreCheckpointApi found;
        try {
            found = new StoreCheckpointApi();
        } catch (final ReflectiveOperationException | LinkageError drift) {
            System.err.println("no checkpoint.*: " + drift);
            found = null;
        }
        this.api = found;
    }

    @Override
    public List<String> ops() {
        return this.api == null ? List.of() : List.of("checkpoint.read", "checkpoint.write");
    }

    @Override
    public void start(final File caseDirectory, final Set<CaseFile> caseFiles) {
        this.directory = caseDirectory;
        this.files = caseFiles;
    }

    @Override
    public void run(final String op, final Fields fields, final JsonText result) throws Throwable {
        this.files.add(new CaseFile("checkpoint", NAME));
        final Object checkpoint = this.api.open(new File(this.directory, NAME).getPath());
        try {
            if (op.equals("checkpoint.write")) {
                this.api.set(checkpoint, fields.i64("physic_msg_timestamp"), fields.i64("logics_msg_timestamp"),
                    fields.i64("index_msg_timestamp"));
                this.api.flush(checkpoint);
            }
            final long[] times = this.api.times(checkpoint);
            result.raw("{").i64("physic_msg_timestamp", times[0]).raw(",")
                .i64("logics_msg_timestamp", times[1]).raw(",")
                .i64("index_msg_timestamp", times[2]).raw("}");
        } finally {
            this.api.close(checkpoint);
        }
    }

    @Override
    public void release() {
    }
}
