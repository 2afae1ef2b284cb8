package rocketspec.golden;

import java.io.File;
import java.nio.ByteBuffer;
import java.nio.file.Paths;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;
import org.apache.rocketmq.store.ConsumeQueue;
import org.apache.rocketmq.store.ConsumeQueueExt;
import org.apache.rocketmq.store.DefaultMessageStore;
import org.apache.rocketmq.store.MappedFile;
import org.apache.rocketmq.store.MappedFileQueue;
import org.apache.rocketmq.store.SelectMappedBufferResult;

/** Consume queues: bounds, every unit through ConsumeQueue.getIndexBuffer, every ext unit through getExt. */
final class QueueTruth {

    private final DefaultMessageStore store;
    private final Consumer<Map<String, Object>> out;

    QueueTruth(DefaultMessageStore store, Consumer<Map<String, Object>> out) {
        this.store = store;
        this.out = out;
    }

    void write() {
        for (String topic : new TreeMap<>(store.getConsumeQueueTable()).keySet()) {
            for (ConsumeQueue queue : new TreeMap<>(store.getConsumeQueueTable().get(topic)).values()) {
                MappedFileQueue files = Private.get(queue, "mappedFileQueue");
                if (files.getMappedFiles().isEmpty()) {
                    continue; // asked for, and so made in memory, but never written
                }
                out.accept(Json.object("type", "queue", "topic", topic, "queue_id", queue.getQueueId(),
                    "min", queue.getMinOffsetInQueue(), "max", queue.getMaxOffsetInQueue(),
                    "max_physic_offset", queue.getMaxPhysicOffset()));
                files(files, "queue_file");
                ConsumeQueueExt ext = Private.get(queue, "consumeQueueExt");
                MappedFileQueue extFiles = ext == null ? null : Private.get(ext, "mappedFileQueue");
                if (extFiles != null) {
                    files(extFiles, "ext_file");
                }
                long first = files.getFirstMappedFile().getFileFromOffset() / ConsumeQueue.CQ_STORE_UNIT_SIZE;
                for (long unit = first; unit < queue.getMaxOffsetInQueue(); unit++) {
                    unit(queue, files, ext, extFiles, unit);
                }
            }
        }
    }

    private void files(MappedFileQueue files, String type) {
        for (MappedFile file : files.getMappedFiles()) {
            out.accept(Json.object("type", type, "file", name(file), "base_offset", file.getFileFromOffset(),
                "size", (long) file.getFileSize(), "used", file.getWrotePosition()));
        }
    }

    private void unit(ConsumeQueue queue, MappedFileQueue files, ConsumeQueueExt ext, MappedFileQueue extFiles,
        long logicalOffset) {
        SelectMappedBufferResult result = select(queue, files, logicalOffset);
        ByteBuffer buffer = result.getByteBuffer();
        long phyOffset = buffer.getLong();
        int size = buffer.getInt();
        long tagsCode = buffer.getLong();
        result.release();
        MappedFile file = files.findMappedFileByOffset(logicalOffset * ConsumeQueue.CQ_STORE_UNIT_SIZE, false);
        out.accept(Json.object("type", "queue_unit", "file", name(file), "topic", queue.getTopic(),
            "queue_id", queue.getQueueId(), "logical_offset", logicalOffset, "phy_offset", phyOffset, "size", size,
            "tags_code", tagsCode));
        if (ext != null && queue.isExtAddr(tagsCode)) {
            ConsumeQueueExt.CqExtUnit unit = queue.getExt(tagsCode);
            MappedFile extFile = extFiles.findMappedFileByOffset(ext.unDecorate(tagsCode));
            out.accept(Json.object("type", "ext_unit", "file", name(extFile), "topic", queue.getTopic(),
                "queue_id", queue.getQueueId(), "logical_offset", logicalOffset, "address", tagsCode,
                "size", (int) unit.getSize(), "tags_code", unit.getTagsCode(),
                "store_timestamp", unit.getMsgStoreTime(), "bit_map", unit.getFilterBitMap()));
        }
    }

    /** The broker answers from the first unit on; units below it, whose messages are gone, come from their file. */
    private static SelectMappedBufferResult select(ConsumeQueue queue, MappedFileQueue files, long logicalOffset) {
        if (logicalOffset >= queue.getMinOffsetInQueue()) {
            return queue.getIndexBuffer(logicalOffset);
        }
        long at = logicalOffset * ConsumeQueue.CQ_STORE_UNIT_SIZE;
        MappedFile file = files.findMappedFileByOffset(at, false);
        return file.selectMappedBuffer((int) (at % file.getFileSize()), ConsumeQueue.CQ_STORE_UNIT_SIZE);
    }

    private static String name(MappedFile file) {
        return Truth.name(Paths.get(file.getFileName().replace(File.separatorChar, '/')));
    }
}
