import java.io.File;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.MiniDFSCluster;

/** One name node and one data node on loopback, in the directory given, until stdin ends. */
public final class MiniHdfs {
    public static void main(String[] args) throws Exception {
        Configuration configuration = new Configuration();
        configuration.set(MiniDFSCluster.HDFS_MINIDFS_BASEDIR, new File(args[0]).getAbsolutePath());
        configuration.set("dfs.datanode.hostname", "127.0.0.1");
        configuration.set("dfs.permissions.enabled", "false");
        configuration.set("dfs.namenode.fs-limits.min-block-size", "4096");
        configuration.set("dfs.blocksize", "1048576");
        MiniDFSCluster cluster = new MiniDFSCluster.Builder(configuration).numDataNodes(1).build();
        cluster.waitActive();
        System.out.println(cluster.getNameNodePort() + " " + cluster.getNameNode().getHttpAddress().getPort());
        System.out.flush();
        while (System.in.read() >= 0) {
            // The test holds the other end.
        }
        cluster.shutdown();
        System.exit(0);
    }
}
