import io.kaitai.struct.ByteBufferKaitaiStream;
import io.kaitai.struct.KaitaiStream;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;

/**
 * Prints what the readers that Kaitai compiled to Java read: a line for each structure, its fields separated by tabs, bytes in
 * hexadecimal. The input has a line for each file: kind, path, slots and entries.
 */
public final class Dump {

    private static final PrintStream OUT = new PrintStream(System.out, false, StandardCharsets.UTF_8);

    private Dump() {
    }

    public static void main(String[] args) throws Exception {
        BufferedReader files = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = files.readLine(); line != null; line = files.readLine()) {
            String[] parts = line.split("\t");
            print("file", parts[1]);
            KaitaiStream io = new ByteBufferKaitaiStream(parts[1]);
            dump(parts[0], io, Integer.parseInt(parts[2]), Integer.parseInt(parts[3]));
            io.close();
        }
        OUT.flush();
    }

    private static void dump(String kind, KaitaiStream io, int slots, int entries) {
        switch (kind) {
            case "index":
                index(io, slots, entries);
                break;
            case "queue":
                for (Rocketmq4Consumequeue.Unit unit : new Rocketmq4Consumequeue(io).units()) {
                    if (unit.isInUse()) {
                        print("unit", unit.phyOffset(), unit.lenRecord(),
                            unit.isExtAddress() ? "" : unit.tagsCode(), unit.isExtAddress() ? unit.ofsExtUnit() : "");
                    }
                }
                break;
            case "ext":
                for (Rocketmq4ConsumequeueExt.Unit unit : new Rocketmq4ConsumequeueExt(io).units()) {
                    if (unit.isUnit()) {
                        print("ext", unit.lenUnit(), unit.tagsCode(), unit.storeTimestamp(), unit.bitMap());
                    }
                }
                break;
            case "log":
                for (Rocketmq4Commitlog.Frame frame : new Rocketmq4Commitlog(io).frames()) {
                    if (frame.isRecord()) {
                        record(frame.lenTotal(), frame.record());
                    }
                }
                break;
            case "lenient":
                for (Rocketmq4CommitlogLenient.Step step : new Rocketmq4CommitlogLenient(io).steps()) {
                    if (step.isRecord()) {
                        print("found", step.ofsRecord(), readable(step));
                    }
                }
                break;
            case "dledger":
                for (Rocketmq4Dledger.Entry entry : new Rocketmq4Dledger(io).entries()) {
                    if (entry.isEntry()) {
                        print("entry", entry.pos(), entry.lenEntry(), entry.index(), entry.term(), entry.channel(),
                            entry.chainCrc(), entry.bodyCrc(), entry.lenBody(), entry.phyOffset());
                        record(entry.body().lenTotal(), entry.body().record());
                    }
                }
                break;
            case "dledger_index":
                for (Rocketmq4DledgerIndex.Unit unit : new Rocketmq4DledgerIndex(io).units()) {
                    if (unit.isInUse()) {
                        print("where", unit.pos(), unit.lenEntry(), unit.index(), unit.term());
                    }
                }
                break;
            default:
                Rocketmq4Checkpoint point = new Rocketmq4Checkpoint(io);
                print("checkpoint", point.physicMsgTimestamp(), point.logicsMsgTimestamp(), point.indexMsgTimestamp());
        }
    }

    private static void index(KaitaiStream io, int slots, int entries) {
        Rocketmq4Indexfile file = new Rocketmq4Indexfile(io, slots, entries);
        Rocketmq4Indexfile.Header header = file.header();
        print("header", header.beginTimestamp(), header.endTimestamp(), header.beginPhyOffset(), header.endPhyOffset(),
            header.hashSlotCount(), header.indexCount());
        for (Rocketmq4Indexfile.Entry entry : file.entries()) {
            print("index", entry.keyHash(), entry.phyOffset(), entry.timeDiff(), entry.prevEntry(), entry.storeTimestamp());
        }
    }

    private static Object readable(Rocketmq4CommitlogLenient.Step step) {
        try {
            return step.record().phyOffset();
        } catch (RuntimeException e) {
            return "unreadable";
        }
    }

    private static void record(int length, Rocketmq4Commitlog.Record record) {
        print("record", length, record.phyOffset(), record.queueId(), record.queueOffset(), record.sysFlag(), record.flag(),
            record.bornTimestamp(), record.storeTimestamp(), record.reconsumeTimes(), record.preparedTransactionOffset(),
            record.bodyCrc(), record.bornHost().address(), record.bornHost().port(), record.storeHost().address(),
            record.storeHost().port(), record.body(), record.topic(), record.properties());
    }

    private static void print(Object... fields) {
        StringBuilder line = new StringBuilder();
        for (Object field : fields) {
            if (line.length() > 0) {
                line.append('\t');
            }
            if (field instanceof byte[]) {
                for (byte each : (byte[]) field) {
                    line.append(Character.forDigit(each >> 4 & 15, 16)).append(Character.forDigit(each & 15, 16));
                }
            } else {
                line.append(field);
            }
        }
        OUT.println(line);
    }
}
