import io.openmessaging.storage.dledger.utils.IOUtils;
import java.io.File;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardWatchEventKinds;
import java.nio.file.WatchEvent;
import java.nio.file.WatchKey;
import java.nio.file.WatchService;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.common.MixAll;

/** Prints in which order the files of `config/` and of DLedger are written, by the kernel's events. */
public class Writes {
    interface Writer {
        void write(String text, String file) throws Exception;
    }

    public static void main(String[] args) throws Exception {
        observe("MixAll", MixAll::string2File);
        observe("IOUtils", IOUtils::string2File);
    }

    static void observe(String name, Writer writer) throws Exception {
        Path folder = Files.createTempDirectory(name);
        writer.write("1", folder + "/F");
        System.out.println(name + " first" + events(folder, () -> writer.write("1", folder + "/G")));
        System.out.println(name + " second" + events(folder, () -> writer.write("2", folder + "/F"))
            + " F.bak=" + Files.readString(folder.resolve("F.bak")));
        Files.write(folder.resolve("F"), new byte[] {'a', (byte) 0xff});
        writer.write("", folder + "/F");
        System.out.println(name + " text F.bak=" + Files.readString(folder.resolve("F.bak")));
        writer.write("3", folder + "/F");
        System.out.println(name + " empty F.bak=" + Files.readString(folder.resolve("F.bak")));
        new File(folder + "/G.bak").mkdir();
        try {
            writer.write("2", folder + "/G");
        } catch (Exception error) {
            System.out.println(name + " stopped G=" + Files.readString(folder.resolve("G")) + " G.tmp=" + Files.readString(folder.resolve("G.tmp")));
        }
    }

    interface Step {
        void run() throws Exception;
    }

    static StringBuilder events(Path folder, Step step) throws Exception {
        StringBuilder line = new StringBuilder();
        try (WatchService watch = FileSystems.getDefault().newWatchService()) {
            folder.register(watch, StandardWatchEventKinds.ENTRY_CREATE, StandardWatchEventKinds.ENTRY_DELETE);
            step.run();
            for (WatchKey key; (key = watch.poll(1, TimeUnit.SECONDS)) != null; key.reset()) {
                for (WatchEvent<?> event : key.pollEvents()) {
                    line.append(event.kind() == StandardWatchEventKinds.ENTRY_CREATE ? " +" : " -").append(event.context());
                }
            }
        }
        return line;
    }
}
