package rocketspec.adapter;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.File;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import rocketspec.vectors.Header;
import rocketspec.vectors.IndexFileUnderTest;

/** The real classes behind the interface of the vectors: IndexFile by its ten methods, all others as the adapter does. */
final class RealStore implements IndexFileUnderTest {
    private final List<Object> mapped = new ArrayList<>();
    private final List<OpFamily> others =
        List.of(new TagsOps(), new QueueOps(), new ServiceOps(), new LogOps(), new CheckpointOps());
    private Object file;
    private boolean started;

    @FunctionalInterface
    private interface Body<T> {
        T run() throws Throwable;
    }

    private static <T> T call(final Body<T> body) throws Exception {
        try {
            return body.run();
        } catch (final Exception | Error thrown) {
            throw thrown;
        } catch (final Throwable thrown) {
            throw new AssertionError(thrown);
        }
    }

    @Override
    public int keyHash(final String key) throws Exception {
        final Object withoutFile = IndexFileApi.withoutFile();
        return call(() -> (int) IndexFileApi.HASH.invokeExact(withoutFile, key));
    }

    @Override
    public void open(final Path path, final int hashSlotNum, final int indexNum, final long endPhyOffset,
        final long endTimestamp, final boolean load) throws Exception {
        final Object opened = call(() -> (Object) IndexFileApi.NEW.invokeExact(
            path.toString(), hashSlotNum, indexNum, endPhyOffset, endTimestamp));
        this.mapped.add(opened);
        if (load) {
            call(() -> {
                IndexFileApi.LOAD.invokeExact(opened);
                return null;
            });
        }
        this.file = opened;
    }

    @Override
    public boolean put(final String key, final long phyOffset, final long storeTimestamp) throws Exception {
        return call(() -> (boolean) IndexFileApi.PUT.invokeExact(this.file, key, phyOffset, storeTimestamp));
    }

    @Override
    public void select(final List<Long> offsets, final String key, final int maxNum, final long begin,
        final long end) throws Exception {
        call(() -> {
            IndexFileApi.SELECT.invokeExact(this.file, offsets, key, maxNum, begin, end);
            return null;
        });
    }

    @Override
    public boolean timeMatched(final long begin, final long end) throws Exception {
        return call(() -> (boolean) IndexFileApi.TIME_MATCHED.invokeExact(this.file, begin, end));
    }

    @Override
    public Header header() throws Exception {
        return call(() -> {
            final Object header = (Object) IndexFileApi.HEADER.invokeExact(this.file);
            return new Header((long) IndexFileApi.BEGIN_TIMESTAMP.invokeExact(header),
                (long) IndexFileApi.END_TIMESTAMP.invokeExact(header),
                (long) IndexFileApi.BEGIN_PHY_OFFSET.invokeExact(header),
                (long) IndexFileApi.END_PHY_OFFSET.invokeExact(header),
                ((Number) IndexFileApi.HASH_SLOT_COUNT.invokeExact(header)).intValue(),
                (int) IndexFileApi.INDEX_COUNT.invokeExact(header));
        });
    }

    @Override
    public boolean full() throws Exception {
        return call(() -> (boolean) IndexFileApi.FULL.invokeExact(this.file));
    }

    @Override
    public void flush() throws Exception {
        call(() -> {
            IndexFileApi.FLUSH.invokeExact(this.file);
            return null;
        });
    }

    @Override
    public void close() throws Exception {
        for (final Object opened : this.mapped) {
            call(() -> {
                IndexFileApi.close(opened);
                return null;
            });
        }
        this.mapped.clear();
        if (this.started) {
            this.others.forEach(OpFamily::release);
        }
    }

    @Override
    public String other(final Path directory, final String operation) throws Exception {
        if (!this.started) {
            final File folder = directory.toFile();
            this.others.forEach(family -> family.start(folder, new LinkedHashSet<>()));
            this.started = true;
        }
        final JsonObject op = JsonParser.parseString(operation).getAsJsonObject();
        final String name = op.get("op").getAsString();
        final OpFamily family = this.others.stream().filter(one -> one.ops().contains(name)).findFirst().orElseThrow();
        final JsonText result = new JsonText();
        return call(() -> {
            family.run(name, new Fields(op), result);
            return result.text().toString();
        });
    }
}
