package rocketspec.golden;

import java.util.Map;

/**
 * What one golden store is made of. A scenario is one public class in {@code rocketspec.golden.scenarios};
 * its name in kebab case is the name of the store ({@code SmallRoll} makes {@code small-roll}).
 */
public interface Scenario {

    /** One sentence for the manifest: what a reader can learn from this store. */
    String description();

    /** The same for a further store that the scenario makes in a folder of this name. */
    default String description(String part) {
        return description();
    }

    /** Seeds {@link Session#random()}; all that is not the clock's follows from it. */
    long seed();

    /** Time zone of the broker: index files are named by its wall clock. */
    default String timeZone() {
        return "UTC";
    }

    /** Broker and store settings that differ from 4.9.3's defaults. */
    Map<String, String> config();

    /** The address of broker and client: loopback, of one family or the other. */
    default String address() {
        return Broker.LOOPBACK;
    }

    /** Whether the broker runs in a process of its own, so that it can be killed. */
    default boolean apart() {
        return false;
    }

    /** Members of the broker's DLedger group, its own included; settings decide whether there is a group at all. */
    default int members() {
        return 1;
    }

    /** Drives the running broker; the session stops it afterwards. */
    void run(Session session) throws Exception;
}
