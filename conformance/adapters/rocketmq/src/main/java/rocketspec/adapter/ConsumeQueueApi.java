package rocketspec.adapter;

import java.lang.reflect.Field;
import java.util.Collection;

/** The real ConsumeQueue of the jar: 3.x spells some names in its own way, 5.x takes the interface of the store. */
final class ConsumeQueueApi {
    /** ConsumeQueue(String topic, int queueId, String storePath, int mappedFileSize, store). */
    final Call create;
    final Call load;
    /** putMessagePositionInfo(long, int, long, long): boolean; private. */
    final Call put;
    /** getIndexBuffer(long): SelectMappedBufferResult or null. */
    final Call get;
    final Call minOffset;
    final Call maxOffset;
    final Call maxPhysicOffset;
    final Call recover;
    final Call truncate;
    final Call correctMin;
    final Call deleteExpired;
    final Call lastOffset;

    private final Field queue;
    private final Field files;

    /** @throws ReflectiveOperationException when the class has drifted too far */
    ConsumeQueueApi() throws ReflectiveOperationException {
        final Class<?> type = StoreJar.find("store.ConsumeQueue");
        this.create = create(type);
        this.load = Call.method(type, "load");
        this.put = Call.method(type, "putMessagePositionInfo|putMessagePostionInfo",
            long.class, int.class, long.class, long.class);
        this.get = Call.method(type, "getIndexBuffer", long.class);
        this.minOffset = Call.method(type, "getMinOffsetInQueue|getMinOffsetInQuque");
        this.maxOffset = Call.method(type, "getMaxOffsetInQueue|getMaxOffsetInQuque");
        this.maxPhysicOffset = Call.method(type, "getMaxPhysicOffset");
        this.recover = Call.method(type, "recover");
        this.truncate = Call.method(type, "truncateDirtyLogicFiles", long.class);
        this.correctMin = Call.method(type, "correctMinOffset", long.class);
        this.deleteExpired = Call.method(type, "deleteExpiredFile", long.class);
        this.lastOffset = Call.method(type, "getLastOffset");
        this.queue = Call.field(type, "mappedFileQueue|mapedFileQueue");
        this.files = Call.field(this.queue.getType(), "mappedFiles|mapedFiles");
    }

    private static Call create(final Class<?> type) throws ReflectiveOperationException {
        final Class<?> store = BareStore.type();
        try {
            return Call.constructor(type, String.class, int.class, String.class, int.class, store);
        } catch (final NoSuchMethodException since5) {
            final Class<?> face = StoreJar.find("store.MessageStore");
            return Call.constructor(type, String.class, int.class, String.class, int.class, face);
        }
    }

    /** Unmaps and closes every file that the queue still holds. */
    void close(final Object consumeQueue) throws Throwable {
        for (final Object file : (Collection<?>) this.files.get(this.queue.get(consumeQueue))) {
            MappedFiles.close(file);
        }
    }
}
