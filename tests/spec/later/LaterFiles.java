package org.apache.rocketmq.store;

import java.nio.ByteBuffer;
import org.apache.rocketmq.store.timer.Slot;
import org.apache.rocketmq.store.timer.TimerLog;
import org.apache.rocketmq.store.timer.TimerWheel;

/** Files that single classes of a later release wrote, from fixed values; prints what the same classes read in them. */
public class LaterFiles {
    static final long BEGIN = 1_700_000_000_000L;

    public static void main(String[] args) throws Exception {
        String folder = args[0];
        checkpoint(folder + "/checkpoint");
        timer(folder);
        System.exit(0);
    }

    static void checkpoint(String path) throws Exception {
        StoreCheckpoint point = new StoreCheckpoint(path);
        point.setPhysicMsgTimestamp(BEGIN + 1);
        point.setLogicsMsgTimestamp(BEGIN + 2);
        point.setIndexMsgTimestamp(BEGIN + 3);
        point.setMasterFlushedOffset(4);
        point.setConfirmPhyOffset(5);
        point.setLogicsPhysicalOffset(6);
        point.shutdown();
    }

    static void timer(String folder) throws Exception {
        TimerWheel wheel = new TimerWheel(folder + "/timerwheel", 8, 1000);
        TimerLog log = new TimerLog(folder + "/timerlog", 52 * 4 + 30);
        log.load();
        for (int n = 0; n < 11; n++) {
            long delayed = BEGIN + 1000 * (n % 3 + 14);
            Slot slot = wheel.getSlot(delayed);
            ByteBuffer unit = ByteBuffer.allocate(TimerLog.UNIT_SIZE);
            unit.putInt(TimerLog.UNIT_SIZE).putLong(slot.lastPos).putInt(n == 5 ? 5 : 1).putLong(BEGIN + n);
            unit.putInt((int) (delayed - BEGIN - n)).putLong(200L * n).putInt(200 + n).putInt(-n).putLong(0);
            long position = log.append(unit.array(), 0, TimerLog.UNIT_SIZE);
            wheel.putSlot(delayed, slot.firstPos == -1 ? position : slot.firstPos, position, slot.num + 1, slot.magic);
            System.out.println("unit " + position + " " + slot.lastPos + " " + delayed);
        }
        for (int n = 0; n < 16; n++) {
            Slot slot = wheel.getRawSlot(BEGIN + 1000 * n);
            if (slot.timeMs != 0) {
                System.out.println("slot " + wheel.getSlotIndex(BEGIN + 1000 * n) + " " + slot.timeMs + " " + slot.firstPos + " "
                    + slot.lastPos + " " + slot.num + " " + slot.magic);
            }
        }
        wheel.backup(123);
        wheel.shutdown();
        log.shutdown();
    }
}
