package rocketspec.adapter;

import java.io.File;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/** {@code index.*} on one real IndexFile. */
final class IndexOps implements OpFamily {
    private final List<Object> mapped = new ArrayList<>();
    private File directory;
    private Set<CaseFile> files;
    private Object open;

    @Override
    public List<String> ops() {
        return List.of("index.open", "index.put", "index.select", "index.time_matched", "index.header",
            "index.full", "index.flush", "index.close");
    }

    @Override
    public void start(final File caseDirectory, final Set<CaseFile> caseFiles) {
        this.directory = caseDirectory;
        this.files = caseFiles;
        this.open = null;
    }

    @Override
    public void run(final String op, final Fields fields, final JsonText result) throws Throwable {
        if (op.equals("index.open")) {
            open(fields);
            result.raw("{}");
            return;
        }
        if (this.open == null) {
            throw new Rejected("no index file is open");
        }
        switch (op) {
            case "index.put" -> put(fields, result);
            case "index.select" -> select(fields, result);
            case "index.time_matched" -> timeMatched(fields, result);
            case "index.header" -> header(result);
            case "index.full" -> full(result);
            case "index.flush" -> flush(result);
            case "index.close" -> {
                close();
                result.raw("{}");
            }
            default -> throw new IllegalStateException(op);
        }
    }

    /** The constructor, which makes or maps the file and writes the seeds, then load() where asked for. */
    private void open(final Fields fields) throws Throwable {
        final String path = fields.string("file");
        final String file = new File(this.directory, path).getPath();
        final int slots = fields.i32("hash_slot_num");
        final int entries = fields.i32("index_num");
        final long endPhyOffset = fields.i64("end_phy_offset");
        final long endTimestamp = fields.i64("end_timestamp");
        final boolean load = fields.flag("load");

        this.open = null;
        this.files.add(new CaseFile("index", path));
        Object opened;
        try {
            opened = (Object) IndexFileApi.NEW.invokeExact(file, slots, entries, endPhyOffset, endTimestamp);
        } catch (final IndexOutOfBoundsException outside) {
            Jvm.collectHalfMade();
            throw Rejected.by(outside);
        } catch (final Throwable thrown) {
            throw Rejected.by(thrown);
        }
        this.mapped.add(opened);
        if (load) {
            try {
                IndexFileApi.LOAD.invokeExact(opened);
            } catch (final Throwable thrown) {
                throw Rejected.by(thrown);
            }
        }
        this.open = opened;
    }

    private void put(final Fields fields, final JsonText result) throws Throwable {
        final String key = fields.utf16("key");
        final long phyOffset = fields.i64("phy_offset");
        final long storeTimestamp = fields.i64("store_timestamp");
        final boolean put;
        try {
            put = (boolean) IndexFileApi.PUT.invokeExact(this.open, key, phyOffset, storeTimestamp);
        } catch (final Throwable thrown) {
            throw Rejected.by(thrown);
        }
        result.raw("{").flag("put", put).raw("}");
    }

    private void select(final Fields fields, final JsonText result) throws Throwable {
        final String key = fields.utf16("key");
        final int maxNum = fields.i32("max_num");
        final long begin = fields.i64("begin");
        final long end = fields.i64("end");
        final List<Long> offsets = fields.i64List("initial");
        try {
            IndexFileApi.SELECT.invokeExact(this.open, offsets, key, maxNum, begin, end);
        } catch (final Throwable thrown) {
            throw Rejected.by(thrown);
        }
        result.raw("{").i64List("offsets", offsets).raw("}");
    }

    private void timeMatched(final Fields fields, final JsonText result) throws Throwable {
        final long begin = fields.i64("begin");
        final long end = fields.i64("end");
        final boolean matched;
        try {
            matched = (boolean) IndexFileApi.TIME_MATCHED.invokeExact(this.open, begin, end);
        } catch (final Throwable thrown) {
            throw Rejected.by(thrown);
        }
        result.raw("{").flag("matched", matched).raw("}");
    }

    /** The header as the object holds it in memory, which a fresh or torn file need not equal. */
    private void header(final JsonText result) throws Throwable {
        final Object header = (Object) IndexFileApi.HEADER.invokeExact(this.open);
        final Number hashSlotCount = (Number) IndexFileApi.HASH_SLOT_COUNT.invokeExact(header);
        result.raw("{")
            .i64("begin_timestamp", (long) IndexFileApi.BEGIN_TIMESTAMP.invokeExact(header)).raw(",")
            .i64("end_timestamp", (long) IndexFileApi.END_TIMESTAMP.invokeExact(header)).raw(",")
            .i64("begin_phy_offset", (long) IndexFileApi.BEGIN_PHY_OFFSET.invokeExact(header)).raw(",")
            .i64("end_phy_offset", (long) IndexFileApi.END_PHY_OFFSET.invokeExact(header)).raw(",")
            .i32("hash_slot_count", hashSlotCount.intValue()).raw(",")
            .i32("index_count", (int) IndexFileApi.INDEX_COUNT.invokeExact(header)).raw("}");
    }

    private void full(final JsonText result) throws Throwable {
        result.raw("{").flag("full", (boolean) IndexFileApi.FULL.invokeExact(this.open)).raw("}");
    }

    private void flush(final JsonText result) throws Throwable {
        try {
            IndexFileApi.FLUSH.invokeExact(this.open);
        } catch (final Throwable thrown) {
            throw Rejected.by(thrown);
        }
        result.raw("{}");
    }

    /** 4.9.3 has no close: dropping the object is all there is, and unmapping only frees the file. */
    private void close() throws Throwable {
        this.mapped.remove(this.open);
        final Object closing = this.open;
        this.open = null;
        IndexFileApi.close(closing);
    }

    @Override
    public void release() {
        for (final Object indexFile : this.mapped) {
            try {
                IndexFileApi.close(indexFile);
            } catch (final Throwable failure) {
                throw new IllegalStateException("an index file was not released", failure);
            }
        }
        this.mapped.clear();
        this.open = null;
    }
}
