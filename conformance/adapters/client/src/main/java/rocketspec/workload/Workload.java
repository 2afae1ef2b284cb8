package rocketspec.workload;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import org.apache.rocketmq.client.QueryResult;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.PullResult;
import org.apache.rocketmq.client.consumer.PullStatus;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.impl.CommunicationMode;
import org.apache.rocketmq.client.impl.factory.MQClientInstance;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.LocalTransactionState;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.TransactionListener;
import org.apache.rocketmq.client.producer.TransactionMQProducer;
import org.apache.rocketmq.common.TopicConfig;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageAccessor;
import org.apache.rocketmq.common.message.MessageBatch;
import org.apache.rocketmq.common.message.MessageClientIDSetter;
import org.apache.rocketmq.common.message.MessageDecoder;
import org.apache.rocketmq.common.message.MessageId;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;
import org.apache.rocketmq.common.protocol.header.SendMessageRequestHeader;
import org.apache.rocketmq.common.sysflag.MessageSysFlag;
import org.apache.rocketmq.tools.admin.DefaultMQAdminExt;

/**
 * Carries out a workload through the real client: one JSON action a line on stdin, one JSON result a line on stdout after
 * "= ". An action that the broker refuses gives {"error": ...}.
 *
 * <p>Argument: the address of the name server.
 */
public final class Workload {

    private static final long PATIENCE_MILLIS = 60_000;
    private static final int PULLED_AT_ONCE = 32;
    private static final String GROUP = "rocketspec-workload";

    private final Gson gson = new GsonBuilder().serializeNulls().disableHtmlEscaping().create();
    private final DefaultMQProducer producer = new DefaultMQProducer(GROUP);
    private final TransactionMQProducer transactions = new TransactionMQProducer(GROUP + "-transactions");
    private final DefaultMQPullConsumer consumer = new DefaultMQPullConsumer(GROUP + "-reader");
    private final DefaultMQAdminExt admin = new DefaultMQAdminExt(GROUP + "-admin");
    private final Map<String, MessageQueue> queues = new HashMap<>();

    private Workload(String namesrv) throws MQClientException {
        producer.setNamesrvAddr(namesrv);
        producer.setVipChannelEnabled(false);
        producer.setRetryTimesWhenSendFailed(0);
        producer.setSendMsgTimeout(10_000);
        producer.setInstanceName("producer");
        producer.start();
        transactions.setNamesrvAddr(namesrv);
        transactions.setVipChannelEnabled(false);
        transactions.setInstanceName("transactions");
        transactions.setTransactionListener(new Listener());
        transactions.start();
        consumer.setNamesrvAddr(namesrv);
        consumer.setVipChannelEnabled(false);
        consumer.setInstanceName("reader");
        consumer.start();
        admin.setNamesrvAddr(namesrv);
        admin.setVipChannelEnabled(false);
        admin.setInstanceName("admin");
        admin.start();
    }

    /** Ends a transaction as its message's property asks for; the broker's later question is answered the same way. */
    private static final class Listener implements TransactionListener {
        @Override
        public LocalTransactionState executeLocalTransaction(Message message, Object argument) {
            return state((String) argument);
        }

        @Override
        public LocalTransactionState checkLocalTransaction(MessageExt message) {
            return state(message.getUserProperty("outcome"));
        }

        private static LocalTransactionState state(String outcome) {
            switch (outcome) {
                case "commit":
                    return LocalTransactionState.COMMIT_MESSAGE;
                case "rollback":
                    return LocalTransactionState.ROLLBACK_MESSAGE;
                default:
                    return LocalTransactionState.UNKNOW;
            }
        }
    }

    public static void main(String[] args) throws Exception {
        PrintStream answers = new PrintStream(System.out, true, "UTF-8");
        Workload workload = new Workload(args[0]);
        answers.println("= {}");
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            Object answer;
            try {
                answer = workload.answer(JsonParser.parseString(line).getAsJsonObject());
            } catch (Exception e) {
                answer = Map.of("error", String.valueOf(e));
            }
            answers.println("= " + workload.gson.toJson(answer));
        }
        Runtime.getRuntime().halt(0);
    }

    private Object answer(JsonObject action) throws Exception {
        switch (action.get("do").getAsString()) {
            case "topic":
                return topic(action.get("topic").getAsString(), action.get("queues").getAsInt());
            case "send":
                return sent(producer.send(message(action), queue(action)));
            case "batch":
                List<Message> messages = new ArrayList<>();
                for (JsonElement one : action.getAsJsonArray("messages")) {
                    messages.add(message(one.getAsJsonObject()));
                }
                return sent(producer.send(messages, queue(action)));
            case "raw_batch":
                return sent(producer.send(rawBatch(action), queue(action)));
            case "transaction":
                Message message = message(action);
                String outcome = action.get("outcome").getAsString();
                message.putUserProperty("outcome", outcome);
                return sent(transactions.sendMessageInTransaction(message, outcome));
            case "rolled_back":
                return rolledBack(action);
            case "query":
                return found(() -> admin.queryMessage(action.get("topic").getAsString(), action.get("key").getAsString(),
                    action.get("max").getAsInt(), action.get("begin").getAsLong(), action.get("end").getAsLong()));
            case "unique":
                return found(() -> admin.queryMessageByUniqKey(action.get("topic").getAsString(),
                    action.get("id").getAsString(), 32, 0, Long.MAX_VALUE));
            case "read":
                return read(queue(action), action.get("begin").getAsLong(), action.get("count").getAsInt());
            case "bounds":
                return Map.of("min", consumer.minOffset(queue(action)), "max", consumer.maxOffset(queue(action)));
            case "by_time":
                return Map.of("offset", consumer.searchOffset(queue(action), action.get("time").getAsLong()));
            case "send_back":
                return sendBack(action);
            case "pause":
                Thread.sleep(action.get("ms").getAsLong());
                return Map.of();
            default:
                throw new IllegalArgumentException(action.toString());
        }
    }

    /** Makes a topic on every master, and waits until the client sees its queues. */
    private Object topic(String name, int number) throws Exception {
        TopicConfig config = new TopicConfig(name);
        config.setReadQueueNums(number);
        config.setWriteQueueNums(number);
        long deadline = System.currentTimeMillis() + PATIENCE_MILLIS;
        for (;;) {
            try {
                for (Object broker : admin.examineBrokerClusterInfo().getBrokerAddrTable().values()) {
                    // BrokerData has another package since 5.1
                    Object address = broker.getClass().getMethod("selectBrokerAddr").invoke(broker);
                    admin.createAndUpdateTopicConfig((String) address, config);
                }
                List<MessageQueue> seen = producer.fetchPublishMessageQueues(name);
                if (seen.size() >= number) {
                    for (MessageQueue queue : seen) {
                        queues.putIfAbsent(name + "/" + queue.getQueueId(), queue);
                    }
                    return Map.of("queues", seen.size());
                }
            } catch (Exception e) {
                if (System.currentTimeMillis() > deadline) {
                    throw e;
                }
            }
            Thread.sleep(50);
        }
    }

    private MessageQueue queue(JsonObject action) throws Exception {
        String topic = action.get("topic").getAsString();
        int number = action.get("queue").getAsInt();
        MessageQueue known = queues.get(topic + "/" + number);
        if (known == null) {  // a topic that the broker made, such as the one of retries
            String broker = queues.values().iterator().next().getBrokerName();
            known = new MessageQueue(topic, broker, number);
        }
        return known;
    }

    private static Message message(JsonObject action) {
        Message message = new Message(action.get("topic").getAsString(),
            Base64.getDecoder().decode(action.get("body").getAsString()));
        if (action.has("tags")) {
            message.setTags(action.get("tags").getAsString());
        }
        if (action.has("keys")) {
            message.setKeys(action.get("keys").getAsString());
        }
        if (action.has("delay")) {
            message.setDelayTimeLevel(action.get("delay").getAsInt());
        }
        if (action.has("flag")) {
            message.setFlag(action.get("flag").getAsInt());
        }
        if (action.has("properties")) {
            for (Map.Entry<String, JsonElement> one : action.getAsJsonObject("properties").entrySet()) {
                message.putUserProperty(one.getKey(), one.getValue().getAsString());
            }
        }
        if (action.has("system")) {  // names that putUserProperty refuses
            for (Map.Entry<String, JsonElement> one : action.getAsJsonObject("system").entrySet()) {
                MessageAccessor.putProperty(message, one.getKey(), one.getValue().getAsString());
            }
        }
        return message;
    }

    /** A batch whose messages have the properties that are given in bytes, and no others of the client. */
    private static Message rawBatch(JsonObject action) {
        List<Message> messages = new ArrayList<>();
        ByteBuffer body = ByteBuffer.allocate(1 << 20);
        for (JsonElement one : action.getAsJsonArray("messages")) {
            Message message = message(one.getAsJsonObject());
            MessageClientIDSetter.setUniqID(message);
            messages.add(message);
            byte[] properties = Base64.getDecoder().decode(one.getAsJsonObject().get("raw").getAsString());
            // MessageDecoder.encodeMessage: total size, magic, CRC, flag, body, properties
            body.putInt(22 + message.getBody().length + properties.length);
            body.putInt(0).putInt(0).putInt(message.getFlag());
            body.putInt(message.getBody().length).put(message.getBody());
            body.putShort((short) properties.length).put(properties);
        }
        MessageBatch batch = MessageBatch.generateFromList(messages);
        batch.setBody(Arrays.copyOf(body.array(), body.position()));
        return batch;
    }

    /** Stores a message with the flag of a transaction that was rolled back, which no producer sends. */
    private Object rolledBack(JsonObject action) throws Exception {
        MessageQueue queue = queue(action);
        Message message = message(action);
        MessageClientIDSetter.setUniqID(message);
        SendMessageRequestHeader header = new SendMessageRequestHeader();
        header.setProducerGroup(GROUP);
        header.setTopic(message.getTopic());
        header.setDefaultTopic(message.getTopic());
        header.setDefaultTopicQueueNums(1);
        header.setQueueId(queue.getQueueId());
        header.setSysFlag(MessageSysFlag.TRANSACTION_ROLLBACK_TYPE);
        header.setBornTimestamp(System.currentTimeMillis());
        header.setFlag(0);
        header.setProperties(MessageDecoder.messageProperties2String(message.getProperties()));
        MQClientInstance client = producer.getDefaultMQProducerImpl().getmQClientFactory();
        String address = client.findBrokerAddressInPublish(queue.getBrokerName());
        return sent(client.getMQClientAPIImpl().sendMessage(address, queue.getBrokerName(), message, header, PATIENCE_MILLIS,
            CommunicationMode.SYNC, null, producer.getDefaultMQProducerImpl()));
    }

    /** What the broker acknowledged: status, unique keys, physical offsets, queue and logical offset. */
    private static Object sent(SendResult result) throws Exception {
        Map<String, Object> answer = new HashMap<>();
        answer.put("status", result.getSendStatus().name());
        answer.put("unique_keys", result.getMsgId() == null ? List.of() : List.of(result.getMsgId().split(",")));
        List<Long> offsets = new ArrayList<>();
        if (result.getOffsetMsgId() != null) {
            for (String text : result.getOffsetMsgId().split(",")) {
                MessageId id = MessageDecoder.decodeMessageId(text);
                offsets.add(id.getOffset());
                InetSocketAddress host = (InetSocketAddress) id.getAddress();
                answer.put("store_host", host.getAddress().getHostAddress() + ":" + host.getPort());
            }
        }
        answer.put("phy_offsets", offsets);
        answer.put("topic", result.getMessageQueue().getTopic());
        answer.put("queue", result.getMessageQueue().getQueueId());
        answer.put("queue_offset", result.getQueueOffset());
        return answer;
    }

    /** The messages of a query; the client throws where there are none. */
    private static Object found(Callable<QueryResult> query) throws Exception {
        try {
            QueryResult result = query.call();
            Map<String, Object> answer = new HashMap<>(rows(result.getMessageList()));
            answer.put("last_update", result.getIndexLastUpdateTimestamp());
            return answer;
        } catch (MQClientException e) {
            if (String.valueOf(e.getMessage()).contains("no message")) {
                return Map.of("messages", List.of());
            }
            throw e;
        }
    }

    /** The messages of a queue from a logical offset on. */
    private Object read(MessageQueue queue, long begin, int count) throws Exception {
        List<MessageExt> found = new ArrayList<>();
        long offset = begin;
        while (found.size() < count) {
            PullResult pulled = consumer.pull(queue, "*", offset, PULLED_AT_ONCE);
            if (pulled.getPullStatus() == PullStatus.FOUND) {
                found.addAll(pulled.getMsgFoundList());
            } else if (pulled.getPullStatus() != PullStatus.NO_MATCHED_MSG || pulled.getNextBeginOffset() <= offset) {
                break;
            }
            offset = pulled.getNextBeginOffset();
        }
        return rows(found);
    }

    /** Gives the oldest message of a queue back to the broker, which stores a retry of it, or a dead letter if the delay level is negative. */
    private Object sendBack(JsonObject action) throws Exception {
        MessageQueue queue = queue(action);
        PullResult pulled = consumer.pullBlockIfNotFound(queue, "*", consumer.minOffset(queue), 1);
        if (pulled.getPullStatus() != PullStatus.FOUND) {
            throw new IllegalStateException("nothing to send back: " + pulled.getPullStatus());
        }
        consumer.sendMessageBack(pulled.getMsgFoundList().get(0), action.get("delay").getAsInt(), queue.getBrokerName(),
            GROUP + "-reader");
        return Map.of();
    }

    private static Map<String, Object> rows(List<MessageExt> messages) {
        List<Object> rows = new ArrayList<>();
        for (MessageExt message : messages) {
            rows.add(List.of(message.getCommitLogOffset(), message.getTopic(), message.getQueueId(),
                message.getQueueOffset(), String.valueOf(message.getMsgId()), message.getStoreTimestamp()));
        }
        return Map.of("messages", rows);
    }
}
