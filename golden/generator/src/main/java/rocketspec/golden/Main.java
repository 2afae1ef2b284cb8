package rocketspec.golden;

import java.util.TimeZone;

/**
 * Makes one golden store in the working directory: {@code store/} as the broker left it, {@code truth.jsonl}
 * (what Java says of it) and {@code run.json} (how it was made). Some scenarios make further stores, each in a folder.
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
        // Read when the first socket is made: addresses of the other family need both.
        System.setProperty("java.net.preferIPv4Stack", Boolean.toString(scenario.address().indexOf(':') < 0));
        Broker broker = new Broker(scenario);
        Session session = new Session(broker, scenario);
        scenario.run(session);
        for (Outcome outcome : session.close()) {
            outcome.write(scenario);
        }
    }

    private static Scenario scenario(String name) throws ReflectiveOperationException {
        StringBuilder type = new StringBuilder(Main.class.getPackage().getName()).append(".scenarios.");
        for (String part : name.split("-")) {
            type.append(Character.toUpperCase(part.charAt(0))).append(part.substring(1));
        }
        return (Scenario) Class.forName(type.toString()).getDeclaredConstructor().newInstance();
    }
}
