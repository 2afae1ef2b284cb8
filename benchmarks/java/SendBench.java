import java.util.Arrays;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.message.Message;

/** Sends messages at a steady rate and prints the latencies in us: median, 99th percentile, greatest. */
public final class SendBench {
    private SendBench() {
    }

    public static void main(String[] args) throws Exception {
        String topic = args[1];
        int count = Integer.parseInt(args[2]);
        long pause = 1_000_000_000L / Integer.parseInt(args[3]);
        byte[] body = new byte[Integer.parseInt(args[4])];
        DefaultMQProducer producer = new DefaultMQProducer("bench");
        producer.setNamesrvAddr(args[0]);
        producer.setSendMsgTimeout(30_000);
        producer.start();
        for (int i = 0, failed = 0; i < 500; i++) {
            try {
                producer.send(new Message(topic, body));
            } catch (Exception e) { // no route yet
                if (++failed > 100) {
                    throw e;
                }
                Thread.sleep(200);
            }
        }
        long[] taken = new long[count];
        long next = System.nanoTime();
        for (int i = 0; i < count; i++) {
            while (System.nanoTime() < next) {
                Thread.sleep(0, 200_000);
            }
            Message message = new Message(topic, body);
            message.setKeys("key-" + i);
            long begin = System.nanoTime();
            producer.send(message);
            taken[i] = System.nanoTime() - begin;
            next += pause;
        }
        producer.shutdown();
        Arrays.sort(taken);
        System.out.println("= " + taken[count / 2] / 1000 + " " + taken[count - 1 - count / 100] / 1000 + " "
            + taken[count - 1] / 1000);
        Runtime.getRuntime().halt(0);
    }
}
