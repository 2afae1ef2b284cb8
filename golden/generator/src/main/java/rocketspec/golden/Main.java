package rocketspec.golden;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.Map;
import java.util.TimeZone;

/**
 * Makes one golden store in the working directory: {@code store/} as the broker left it, {@code truth.jsonl}
 * (what Java says of it) and {@code run.json} (how it was made).
 */
public final class Main {

    private Main() {
    }

    public static void main(String[] args) {
        try {
            make(args[0]);
            // Not exit: the broker's shutdown hook would stop it a second time.
            Runtime.getRuntime().halt(0);
        } catch (Throwable e) {
            e.printStackTrace();
            Runtime.getRuntime().halt(1);
        }
    }

    private static void make(String name) throws Exception {
        Scenario scenario = scenario(name);
        TimeZone.setDefault(TimeZone.getTimeZone(scenario.timeZone()));
        Broker broker = new Broker(scenario.config());
        broker.start();
        Session session = new Session(broker, scenario.seed());
        scenario.run(session);
        session.close();
        Truth.write(RecordingStore.current(), RecordingStore.dispatched(), Paths.get("truth.jsonl"));
        Map<String, Object> run = Json.object(
            "description", scenario.description(),
            "seed", scenario.seed(),
            "time_zone", scenario.timeZone(),
            "config", broker.config(),
            "store", Truth.sizes(RecordingStore.current()),
            "jdk", System.getProperty("java.vm.name") + " " + System.getProperty("java.runtime.version"),
            "os", System.getProperty("os.name") + " " + System.getProperty("os.arch"));
        Files.write(Paths.get("run.json"), Json.write(run).getBytes(StandardCharsets.UTF_8));
    }

    private static Scenario scenario(String name) throws ReflectiveOperationException {
        StringBuilder type = new StringBuilder(Main.class.getPackage().getName()).append(".scenarios.");
        for (String part : name.split("-")) {
            type.append(Character.toUpperCase(part.charAt(0))).append(part.substring(1));
        }
        return (Scenario) Class.forName(type.toString()).getDeclaredConstructor().newInstance();
    }
}
