import io.openmessaging.storage.dledger.DLedgerConfig;
import io.openmessaging.storage.dledger.MemberState;
import io.openmessaging.storage.dledger.store.file.DLedgerMmapFileStore;
import java.io.File;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.security.Permission;
import java.util.Arrays;

/**
 * Recovers members of a DLedger group with the real classes. Arguments: a file with one member's directory a line, the file
 * for the answers, and the bytes of a data file. An answer: the log's end, the last entry's number and the data files that are
 * left; or "exit", or "thrown".
 */
public final class DledgerRecoveries {

    private DledgerRecoveries() {
    }

    @SuppressWarnings("removal")
    public static void main(String[] args) throws Exception {
        SecurityManager usual = System.getSecurityManager();
        System.setSecurityManager(new SecurityManager() {
            @Override
            public void checkExit(int status) {
                throw new SecurityException("exit");
            }

            @Override
            public void checkPermission(Permission permission) {
            }
        });
        try (PrintStream answers = new PrintStream(args[1], "US-ASCII")) {
            for (String member : Files.readAllLines(Paths.get(args[0]))) {
                answers.println(recovered(member, Integer.parseInt(args[2])));
            }
        }
        System.setSecurityManager(usual);
    }

    private static String recovered(String member, int size) throws Exception {
        File folder = new File(member);
        DLedgerConfig config = new DLedgerConfig();
        config.setStoreBaseDir(folder.getParent());
        config.setSelfId(folder.getName().substring("dledger-".length()));
        config.setMappedFileSizeForEntryData(size);
        DLedgerMmapFileStore store = new DLedgerMmapFileStore(config, new MemberState(config));
        try {
            store.load();
            store.recover();
            String[] files = new File(folder, "data").list();
            Arrays.sort(files);
            return store.getWritePos() + " " + store.getLedgerEndIndex() + " " + String.join(",", files);
        } catch (SecurityException error) {
            return "exit";
        } catch (Throwable error) {
            return "thrown";
        } finally {
            store.getDataFileList().destroy();
            store.getIndexFileList().destroy();
        }
    }
}
