import java.io.File;
import java.io.FileOutputStream;
import java.io.OutputStream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.MiniYARNCluster;

/** A resource manager and two node managers on loopback, whose settings go to the file given, until stdin ends. */
public final class MiniYarn {
    public static void main(String[] args) throws Exception {
        File site = new File(args[0]);
        YarnConfiguration configuration = new YarnConfiguration();
        configuration.set(
                "yarn.resourcemanager.scheduler.class",
                "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fifo.FifoScheduler");
        configuration.set("yarn.scheduler.minimum-allocation-mb", "128");
        configuration.set("yarn.nodemanager.resource.memory-mb", "4096");
        configuration.set("yarn.nodemanager.vmem-check-enabled", "false");
        configuration.set("yarn.nodemanager.pmem-check-enabled", "false");
        configuration.set(
                "yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage", "100");
        configuration.set("yarn.minicluster.fixed.ports", "false");
        configuration.set("fs.defaultFS", "file:///");
        MiniYARNCluster cluster = new MiniYARNCluster("rocketspec", 2, 1, 1);
        cluster.init(configuration);
        cluster.start();
        if (!cluster.waitForNodeManagersToConnect(60_000)) {
            throw new IllegalStateException("the node managers did not connect");
        }
        Configuration started = new Configuration(cluster.getConfig());
        try (OutputStream out = new FileOutputStream(site)) {
            started.writeXml(out);
        }
        System.out.println("ready");
        System.out.flush();
        while (System.in.read() >= 0) {
            // The test holds the other end.
        }
        cluster.stop();
        System.exit(0);
    }
}
