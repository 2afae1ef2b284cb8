package rocketspec.adapter;

import java.io.File;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/** {@code queue.*} on one real ConsumeQueue, without an extension file. */
final class QueueOps implements OpFamily {
    private final ConsumeQueueApi api;
    private final List<Object> made = new ArrayList<>();
    private final Set<String> folders = new LinkedHashSet<>();
    private File directory;
    private Set<CaseFile> files;
    private Object open;

    QueueOps() {
        ConsumeQueueApi found;
        try {
            found = new ConsumeQueueApi();
        } catch (final ReflectiveOperationException | LinkageError drift) {
            System.err.println("no queue.*: " + drift);
            found = null;
        }
        this.api = found;
    }

    @Override
    public List<String> ops() {
        return this.api == null ? List.of() : List.of("queue.open", "queue.put", "queue.get", "queue.bounds",
            "queue.recover", "queue.truncate", "queue.correct_min", "queue.delete_expired", "queue.last_offset");
    }

    @Override
    public void start(final File caseDirectory, final Set<CaseFile> caseFiles) {
        this.directory = caseDirectory;
        this.files = caseFiles;
    }

    @Override
    public void run(final String op, final Fields fields, final JsonText result) throws Throwable {
        if (op.equals("queue.open")) {
            open(fields);
            result.raw("{}");
            return;
        }
        if (this.open == null) {
            throw new Rejected("no queue is open");
        }
        result.raw("{");
        switch (op) {
            case "queue.put" -> result.flag("put", (boolean) this.api.put.run(this.open, fields.i64("offset"),
                fields.i32("size"), fields.i64("tags_code"), fields.i64("cq_offset")));
            case "queue.get" -> get(fields, result);
            case "queue.bounds" -> bounds(result);
            case "queue.recover" -> {
                this.api.recover.run(this.open);
                bounds(result);
            }
            case "queue.truncate" -> {
                this.api.truncate.run(this.open, fields.i64("phy_offset"));
                bounds(result);
            }
            case "queue.correct_min" -> {
                this.api.correctMin.run(this.open, fields.i64("phy_min_offset"));
                bounds(result);
            }
            case "queue.delete_expired" -> {
                final int deleted = (int) this.api.deleteExpired.run(this.open, fields.i64("phy_offset"));
                result.i32("deleted", deleted).raw(",");
                bounds(result);
            }
            case "queue.last_offset" -> result.i64("last_offset", (long) this.api.lastOffset.run(this.open));
            default -> throw new IllegalStateException(op);
        }
        result.raw("}");
    }

    /** The constructor, with the file size as the configuration rounds it, then load() where asked for. */
    private void open(final Fields fields) throws Throwable {
        final String topic = fields.string("topic");
        final int queueId = fields.i32("queue_id");
        final int fileSize = fields.i32("file_size");
        final boolean load = fields.flag("load");

        this.open = null;
        this.folders.add("consumequeue/" + topic + "/" + queueId);
        final BareStore store = new BareStore();
        store.configure("setMappedFileSizeConsumeQueue|setMapedFileSizeConsumeQueue", int.class, fileSize);
        final int rounded = (int) store.configured("getMappedFileSizeConsumeQueue|getMapedFileSizeConsumeQueue");
        final String folder = new File(this.directory, "consumequeue").getPath();
        final Object opened = this.api.create.run(null, topic, queueId, folder, rounded, store.store());
        this.made.add(opened);
        if (load && !(boolean) this.api.load.run(opened)) {
            throw new Rejected("load returned false");
        }
        this.open = opened;
    }

    /** The unit as getIndexBuffer shows it, its hold on the file given back. */
    private void get(final Fields fields, final JsonText result) throws Throwable {
        final Object selected = this.api.get.run(this.open, fields.i64("cq_offset"));
        if (selected == null) {
            result.raw("\"unit\":null");
            return;
        }
        try {
            final ByteBuffer unit = (ByteBuffer) Call.method(selected.getClass(), "getByteBuffer").run(selected);
            result.raw("\"unit\":{").i64("offset", unit.getLong()).raw(",").i32("size", unit.getInt()).raw(",")
                .i64("tags_code", unit.getLong()).raw("}");
        } finally {
            Call.method(selected.getClass(), "release").run(selected);
        }
    }

    private void bounds(final JsonText result) throws Throwable {
        result.i64("min", (long) this.api.minOffset.run(this.open)).raw(",")
            .i64("max", (long) this.api.maxOffset.run(this.open)).raw(",")
            .i64("max_physic_offset", (long) this.api.maxPhysicOffset.run(this.open));
    }

    @Override
    public void release() {
        for (final Object queue : this.made) {
            try {
                this.api.close(queue);
            } catch (final Throwable failure) {
                throw new IllegalStateException("a queue was not released", failure);
            }
        }
        this.made.clear();
        this.open = null;
        for (final String folder : this.folders) {
            MappedFiles.list(this.directory, folder, "queue", this.files);
        }
        this.folders.clear();
    }
}
