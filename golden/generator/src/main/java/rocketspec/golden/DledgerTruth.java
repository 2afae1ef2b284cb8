package rocketspec.golden;

import io.openmessaging.storage.dledger.entry.DLedgerEntry;
import io.openmessaging.storage.dledger.entry.DLedgerEntryCoder;
import io.openmessaging.storage.dledger.store.file.DLedgerMmapFileStore;
import io.openmessaging.storage.dledger.store.file.MmapFile;
import io.openmessaging.storage.dledger.store.file.MmapFileList;
import io.openmessaging.storage.dledger.utils.Pair;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Map;
import java.util.function.Consumer;
import org.apache.rocketmq.store.dledger.DLedgerCommitLog;

/** What DLedger adds to a commit log: a header before each record, a mark at a file's end, an index of entries. */
final class DledgerTruth {

    private final DLedgerCommitLog log;
    private final DLedgerMmapFileStore entries;
    private final Consumer<Map<String, Object>> out;

    DledgerTruth(DLedgerCommitLog log, Consumer<Map<String, Object>> out) {
        this.log = log;
        this.entries = (DLedgerMmapFileStore) log.getdLedgerServer().getdLedgerStore();
        this.out = out;
    }

    /** Whether a file, named relative to the store, holds entries. */
    static boolean isData(Path name) {
        return name.getNameCount() == 3 && name.getName(0).toString().startsWith("dledger-")
            && name.getName(1).toString().equals("data");
    }

    /** Where the next entry would be written; the bytes there may be stale. */
    long writePos() {
        return entries.getWritePos();
    }

    /** The entry at a position; DLedger's own index must lead there. */
    Map<String, Object> entry(Path file, long pos, ByteBuffer buffer, int at) {
        ByteBuffer bytes = buffer.duplicate();
        bytes.position(at);
        DLedgerEntry entry = DLedgerEntryCoder.decode(bytes);
        Pair<Long, Integer> indexed = entries.getEntryPosAndSize(entry.getIndex());
        Truth.check(indexed.getKey() == pos && indexed.getValue() == entry.getSize(),
            "the index of entries leads elsewhere than to " + pos);
        return Json.object("type", "log_entry", "file", Truth.name(file), "pos", entry.getPos(),
            "size", entry.getSize(), "index", entry.getIndex(), "term", entry.getTerm(), "magic", entry.getMagic(),
            "channel", entry.getChannel(), "chain_crc", entry.getChainCrc(), "body_crc", entry.getBodyCrc(),
            "body_size", entry.getBody().length, "phy_offset", pos + DLedgerEntry.BODY_OFFSET);
    }

    Map<String, Object> endMark(Path file, long pos, ByteBuffer buffer, int at) {
        Truth.check(buffer.getInt(at) == MmapFileList.BLANK_MAGIC_CODE, "no end mark at " + pos);
        return Json.object("type", "log_end_mark", "file", Truth.name(file), "pos", pos, "size", buffer.getInt(at + 4));
    }

    /** The bounds of the log, and the files of DLedger's own index. */
    void write() {
        out.accept(Json.object("type", "dledger", "begin_index", entries.getLedgerBeginIndex(),
            "end_index", entries.getLedgerEndIndex(), "end_term", entries.getLedgerEndTerm(),
            "committed_index", entries.getCommittedIndex(), "committed_pos", entries.getCommittedPos(),
            "write_pos", entries.getWritePos(), "min_offset", log.getMinOffset(), "max_offset", log.getMaxOffset(),
            "divided_offset", log.getDividedCommitlogOffset()));
        for (MmapFile file : entries.getIndexFileList().getMappedFiles()) {
            out.accept(Json.object("type", "entry_index_file", "file", Truth.name(Paths.get(file.getFileName())),
                "base_offset", file.getFileFromOffset(), "size", (long) file.getFileSize(),
                "start", file.getStartPosition(), "used", file.getWrotePosition()));
        }
    }
}
