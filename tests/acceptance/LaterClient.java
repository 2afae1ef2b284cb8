import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.client.QueryResult;
import org.apache.rocketmq.client.consumer.AckCallback;
import org.apache.rocketmq.client.consumer.AckResult;
import org.apache.rocketmq.client.consumer.PopCallback;
import org.apache.rocketmq.client.consumer.PopResult;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.impl.MQAdminImpl;
import org.apache.rocketmq.client.impl.MQClientAPIImpl;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.TopicConfig;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageConst;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;
import org.apache.rocketmq.remoting.protocol.ResponseCode;
import org.apache.rocketmq.remoting.protocol.header.AckMessageRequestHeader;
import org.apache.rocketmq.remoting.protocol.header.PopMessageRequestHeader;

/**
 * What only a client of 5.x does, with the client of the broker's own release: POP and timer messages, or batches for batch queues.
 *
 * <p>Arguments: the name server's address, the broker's address and name, and `pop` or `batch`. It prints the broker's answers, one a line:
 * `key`, `unique` or `tag`, the topic, the key, and physical offsets.
 */
public final class LaterClient {

    private static final int MESSAGES = 60;
    private static final String GROUP = "later-group";

    public static void main(String[] args) {
        try {
            run(args);
            System.out.flush();
            Runtime.getRuntime().halt(0);
        } catch (Throwable error) {
            error.printStackTrace();
            Runtime.getRuntime().halt(1);
        }
    }

    private static void run(String[] args) throws Exception {
        String address = args[1];
        String brokerName = args[2];
        DefaultMQProducer producer = new DefaultMQProducer("later-producer");
        producer.setNamesrvAddr(args[0]);
        producer.setSendMsgTimeout(10_000);
        producer.start();
        MQClientAPIImpl api = producer.getDefaultMQProducerImpl().getMqClientFactory().getMQClientAPIImpl();
        MQAdminImpl admin = producer.getDefaultMQProducerImpl().getMqClientFactory().getMQAdminImpl();
        List<String> topics = args[3].equals("pop") ? List.of("Popped", "Timed") : List.of("Batched");
        List<String[]> asked = new ArrayList<>();
        for (String topic : topics) {
            TopicConfig config = new TopicConfig(topic, 2, 2);
            if (topic.equals("Batched")) {
                config.setAttributes(Map.of("+queue.type", "BatchCQ"));
            }
            api.createTopic(address, "TBW102", config, 10_000);
            for (int n = 0; n < MESSAGES; n++) {
                MessageQueue queue = new MessageQueue(topic, brokerName, n % 2);
                List<Message> messages = new ArrayList<>();
                for (int i = 0; i <= (topic.equals("Batched") ? n % 4 : 0); i++) {
                    messages.add(message(topic, n, i));
                }
                if (topic.equals("Timed")) {
                    messages.get(0).setDelayTimeMs(n % 2 == 0 ? 2_000 : 3_600_000);
                }
                boolean batch = topic.equals("Batched") && n % 3 > 0;
                String id = batch ? producer.send(messages, queue).getMsgId() : producer.send(messages.get(0), queue).getMsgId();
                asked.add(new String[] {"key", topic, messages.get(0).getKeys()});
                asked.add(new String[] {"unique", topic, id.split(",")[0]});
            }
        }
        if (args[3].equals("pop")) {
            pop(api, address, brokerName);
        }
        Thread.sleep(8_000); // timers come due, popped messages that nobody acknowledged come back
        for (String[] one : asked) {
            print(one[0], one[1], one[2], () -> one[0].equals("key") ? admin.queryMessage(one[1], one[2], 64, 0, Long.MAX_VALUE)
                : admin.queryMessageByUniqKey(one[1], one[2], 64, 0, Long.MAX_VALUE));
        }
        for (var method : MQAdminImpl.class.getMethods()) {
            if (method.getName().equals("queryMessage") && method.getParameterCount() == 9) { // since 5.4.0
                for (String topic : topics) {
                    print("tag", topic, "Tag1", () -> (QueryResult) method.invoke(admin, null, topic, "Tag1", 64, 0L, Long.MAX_VALUE,
                        false, "T", null));
                }
            }
        }
    }

    private static Message message(String topic, int number, int place) {
        byte[] body = ("body " + number + " " + place).getBytes(StandardCharsets.UTF_8);
        return new Message(topic, "Tag" + number % 5, topic + "-" + number + "-" + place, body);
    }

    private static void print(String kind, String topic, String key, Callable<QueryResult> query) throws Exception {
        Set<Long> offsets = new TreeSet<>();
        try {
            query.call().getMessageList().forEach(message -> offsets.add(message.getCommitLogOffset()));
        } catch (MQClientException none) {
            if (none.getResponseCode() != ResponseCode.NO_MESSAGE) {
                throw none;
            }
        }
        StringBuilder line = new StringBuilder(kind + " " + topic + " " + key);
        offsets.forEach(offset -> line.append(" ").append(offset));
        System.out.println(line);
    }

    /** Pops messages of both queues and acknowledges every other one. */
    private static void pop(MQClientAPIImpl api, String address, String brokerName) throws Exception {
        for (int round = 0; round < 4; round++) {
            PopMessageRequestHeader header = new PopMessageRequestHeader();
            header.setConsumerGroup(GROUP);
            header.setTopic("Popped");
            header.setQueueId(-1);
            header.setMaxMsgNums(10);
            header.setInvisibleTime(2_000);
            header.setPollTime(1_000);
            header.setBornTime(System.currentTimeMillis());
            header.setInitMode(0);
            header.setExpType("TAG");
            header.setExp("*");
            header.setOrder(false);
            CompletableFuture<PopResult> popped = new CompletableFuture<>();
            api.popMessageAsync(brokerName, address, header, 10_000, new PopCallback() {
                @Override
                public void onSuccess(PopResult result) {
                    popped.complete(result);
                }

                @Override
                public void onException(Throwable error) {
                    popped.completeExceptionally(error);
                }
            });
            List<MessageExt> messages = popped.get(20, TimeUnit.SECONDS).getMsgFoundList();
            for (int n = 0; messages != null && n < messages.size(); n += 2) {
                acknowledge(api, address, messages.get(n));
            }
        }
    }

    private static void acknowledge(MQClientAPIImpl api, String address, MessageExt message) throws Exception {
        AckMessageRequestHeader header = new AckMessageRequestHeader();
        header.setConsumerGroup(GROUP);
        header.setTopic(message.getTopic());
        header.setQueueId(message.getQueueId());
        header.setExtraInfo(message.getProperty(MessageConst.PROPERTY_POP_CK));
        header.setOffset(message.getQueueOffset());
        CompletableFuture<AckResult> done = new CompletableFuture<>();
        api.ackMessageAsync(address, 10_000, new AckCallback() {
            @Override
            public void onSuccess(AckResult result) {
                done.complete(result);
            }

            @Override
            public void onException(Throwable error) {
                done.completeExceptionally(error);
            }
        }, header);
        done.get(20, TimeUnit.SECONDS);
    }
}
