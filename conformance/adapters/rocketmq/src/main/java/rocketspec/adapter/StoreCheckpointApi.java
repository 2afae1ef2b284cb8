package rocketspec.adapter;

/** The real StoreCheckpoint: three of its times, whatever else a later version keeps in the file. */
final class StoreCheckpointApi {
    private final Class<?> type;
    private final Call create;
    private final Call flush;
    private final Call[] getters;
    private final Call[] setters;

    /** @throws ReflectiveOperationException when the class has drifted too far */
    StoreCheckpointApi() throws ReflectiveOperationException {
        this.type = StoreJar.find("store.StoreCheckpoint");
        this.create = Call.constructor(this.type, String.class);
        this.flush = Call.method(this.type, "flush");
        final String[] names = {"PhysicMsgTimestamp", "LogicsMsgTimestamp", "IndexMsgTimestamp"};
        this.getters = new Call[names.length];
        this.setters = new Call[names.length];
        for (int i = 0; i < names.length; i++) {
            this.getters[i] = Call.method(this.type, "get" + names[i]);
            this.setters[i] = Call.method(this.type, "set" + names[i], long.class);
        }
    }

    /** Maps the file, made or extended to 4096 bytes, and reads it. */
    Object open(final String path) throws Throwable {
        return this.create.run(null, path);
    }

    void set(final Object checkpoint, final long physic, final long logics, final long index) throws Throwable {
        this.setters[0].run(checkpoint, physic);
        this.setters[1].run(checkpoint, logics);
        this.setters[2].run(checkpoint, index);
    }

    /** The physic, the logics and the index time in memory. */
    long[] times(final Object checkpoint) throws Throwable {
        final long[] times = new long[this.getters.length];
        for (int i = 0; i < times.length; i++) {
            times[i] = (long) this.getters[i].run(checkpoint);
        }
        return times;
    }

    void flush(final Object checkpoint) throws Throwable {
        this.flush.run(checkpoint);
    }

    /** Unmaps and closes. Not shutdown(), which would write the times once more. */
    void close(final Object checkpoint) throws Throwable {
        MappedFiles.close(checkpoint);
    }
}
