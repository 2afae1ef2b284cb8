package rocketspec.golden;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import java.util.TimeZone;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.broker.BrokerController;
import org.apache.rocketmq.broker.BrokerStartup;

/** A broker in a process of its own, whose requests are recorded in a file as they are dispatched. */
public final class BrokerProcess {

    private static final String READY = "the broker is ready";
    private static final String RECORD = "dispatched.jsonl";
    private static final long PATIENCE_SECONDS = 60;

    private final Path folder;
    private final Process process;

    BrokerProcess(Path folder, int start) throws IOException {
        this.folder = folder;
        List<String> command = new ArrayList<>();
        command.add(Paths.get(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(ManagementFactory.getRuntimeMXBean().getInputArguments());
        command.add("-cp");
        command.add(System.getProperty("java.class.path"));
        command.add("-Drocketmq.home.dir=" + Paths.get("home").toAbsolutePath());
        command.add(BrokerProcess.class.getName());
        command.add(Integer.toString(start));
        command.add(TimeZone.getDefault().getID());
        process = new ProcessBuilder(command).directory(folder.toAbsolutePath().normalize().toFile())
            .redirectError(new File("broker-process.log")).start();
        BufferedReader lines =
            new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
        for (String line = lines.readLine(); !READY.equals(line); line = lines.readLine()) {
            Truth.check(line != null, "the broker's process did not start");
        }
    }

    /** kill -9, by the process that this object started and no other. */
    void kill() throws InterruptedException {
        process.destroyForcibly();
        end();
    }

    /** Stops it cleanly, when it has dispatched all that it has. */
    void stop() throws IOException, InterruptedException {
        process.getOutputStream().close();
        end();
        Truth.check(process.exitValue() == 0, "the broker's process ended with " + process.exitValue());
    }

    private void end() throws InterruptedException {
        Truth.check(process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS), "the broker's process does not end");
    }

    /** What it dispatched. */
    List<RecordingStore.Dispatched> dispatched() throws IOException {
        return DispatchLine.read(folder.resolve(RECORD));
    }

    /** The other side: runs until its input ends. */
    public static void main(String[] args) {
        try {
            TimeZone.setDefault(TimeZone.getTimeZone(args[1]));
            RecordingStore.recordTo(Paths.get(RECORD), Integer.parseInt(args[0]));
            BrokerController broker =
                BrokerStartup.createBrokerController(new String[] {"-c", "broker.properties"});
            BrokerStartup.start(broker);
            System.out.println(READY);
            while (System.in.read() >= 0) {
                continue;
            }
            while (broker.getMessageStore().dispatchBehindBytes() > 0) {
                Thread.sleep(5);
            }
            broker.shutdown();
            Runtime.getRuntime().halt(0);
        } catch (Throwable e) {
            e.printStackTrace();
            Runtime.getRuntime().halt(1);
        }
    }
}
