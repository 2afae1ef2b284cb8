import java.io.BufferedOutputStream;
import java.io.BufferedReader;
import java.io.FileOutputStream;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.zip.CRC32;
import org.apache.rocketmq.client.ClientConfig;
import org.apache.rocketmq.client.QueryResult;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.impl.MQAdminImpl;
import org.apache.rocketmq.client.impl.MQClientAPIImpl;
import org.apache.rocketmq.client.impl.factory.MQClientInstance;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.protocol.ResponseCode;
import org.apache.rocketmq.common.protocol.header.QueryMessageRequestHeader;
import org.apache.rocketmq.common.protocol.header.QueryMessageResponseHeader;
import org.apache.rocketmq.common.protocol.route.BrokerData;
import org.apache.rocketmq.common.protocol.route.TopicRouteData;
import org.apache.rocketmq.remoting.InvokeCallback;
import org.apache.rocketmq.remoting.netty.NettyClientConfig;
import org.apache.rocketmq.remoting.netty.ResponseFuture;
import org.apache.rocketmq.remoting.protocol.RemotingCommand;

/**
 * The real client's query by key over answers that are given to it, driven by test_real_client.py: INPUT OUTPUT.
 *
 * A line of input: topic and key (UTF-16 in hex), whether it is a unique key, the bytes of the broker's answer in hex.
 */
public final class ClientCompare {
    private static final HexFormat HEX = HexFormat.of();

    private ClientCompare() {
    }

    /** Answers as a broker would, with the bytes of this line. */
    private static final class Answering extends MQClientAPIImpl {
        private byte[] body;

        Answering() {
            super(new NettyClientConfig(), null, null, new ClientConfig());
        }

        @Override
        public void queryMessage(String address, QueryMessageRequestHeader header, long timeout, InvokeCallback callback,
            Boolean unique) {
            RemotingCommand response = RemotingCommand.createResponseCommand(QueryMessageResponseHeader.class);
            QueryMessageResponseHeader answer = (QueryMessageResponseHeader) response.readCustomHeader();
            answer.setIndexLastUpdateTimestamp(1L);
            answer.setIndexLastUpdatePhyoffset(1L);
            response.makeCustomHeaderToNet();
            response.setCode(ResponseCode.SUCCESS);
            response.setBody(body);
            ResponseFuture future = new ResponseFuture(null, 0, timeout, callback, null);
            future.setResponseCommand(response);
            callback.operationComplete(future);
        }
    }

    public static void main(String[] arguments) throws Exception {
        MQClientInstance client = new MQClientInstance(new ClientConfig(), 0, "compare");
        Answering answering = new Answering();
        field("mQClientAPIImpl").set(client, answering);
        @SuppressWarnings("unchecked")
        Map<String, TopicRouteData> routes = (Map<String, TopicRouteData>) field("topicRouteTable").get(client);
        MQAdminImpl admin = client.getMQAdminImpl();
        try (BufferedReader in = Files.newBufferedReader(Path.of(arguments[0]));
             PrintStream out = new PrintStream(new BufferedOutputStream(new FileOutputStream(arguments[1])), false, "US-ASCII")) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                String[] word = line.split(" ", -1);
                String topic = text(word[0]);
                routes.put(topic, route());
                answering.body = HEX.parseHex(word[3]);
                out.println(asked(admin, topic, text(word[1]), word[2].equals("1")));
            }
        }
        System.exit(0);  // the client's threads are still there
    }

    private static String asked(MQAdminImpl admin, String topic, String key, boolean unique) throws Exception {
        QueryResult result;
        try {
            result = unique ? admin.queryMessageByUniqKey(topic, key, 32, 0, Long.MAX_VALUE)
                : admin.queryMessage(topic, key, 32, 0, Long.MAX_VALUE);
        } catch (MQClientException exception) {
            return exception.getResponseCode() == ResponseCode.NO_MESSAGE ? "-" : "!" + exception.getResponseCode();
        }
        StringBuilder kept = new StringBuilder();
        for (MessageExt message : result.getMessageList()) {
            CRC32 crc = new CRC32();
            crc.update(message.getBody() == null ? new byte[0] : message.getBody());
            kept.append(message.getQueueOffset()).append(',').append(message.getCommitLogOffset()).append(',')
                .append(HEX.formatHex(message.getMsgId().getBytes(StandardCharsets.UTF_16BE))).append(',')
                .append(crc.getValue()).append(';');
        }
        return kept.toString();
    }

    private static TopicRouteData route() {
        HashMap<Long, String> addresses = new HashMap<>();
        addresses.put(0L, "127.0.0.1:1");
        List<BrokerData> brokers = new ArrayList<>();
        brokers.add(new BrokerData("cluster", "broker", addresses));
        TopicRouteData route = new TopicRouteData();
        route.setBrokerDatas(brokers);
        route.setQueueDatas(new ArrayList<>());
        return route;
    }

    private static Field field(String name) throws Exception {
        Field field = MQClientInstance.class.getDeclaredField(name);
        field.setAccessible(true);
        return field;
    }

    private static String text(String hex) {
        return new String(HEX.parseHex(hex), StandardCharsets.UTF_16BE);
    }
}
