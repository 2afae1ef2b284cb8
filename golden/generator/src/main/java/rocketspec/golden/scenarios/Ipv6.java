package rocketspec.golden.scenarios;

import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageClientIDSetter;
import org.apache.rocketmq.common.message.MessageDecoder;
import org.apache.rocketmq.store.MessageExtBrokerInner;
import rocketspec.golden.Scenario;
import rocketspec.golden.Session;

/** Hosts of 20 bytes. */
public final class Ipv6 implements Scenario {

    @Override
    public String description() {
        return "IPv6: a broker and a client at ::1, so that both host fields are 20 bytes long, in single and batched"
            + " messages; and records of each mixture of families, put through the store itself.";
    }

    @Override
    public long seed() {
        return 4930108;
    }

    @Override
    public String address() {
        return "::1";
    }

    @Override
    public Map<String, String> config() {
        Map<String, String> config = new LinkedHashMap<>();
        config.put("maxHashSlotNum", "31");
        config.put("maxIndexNum", "100");
        config.put("mappedFileSizeCommitLog", "16384");
        config.put("mappedFileSizeConsumeQueue", "400");
        return config;
    }

    @Override
    public void run(Session session) throws Exception {
        session.topic("Six", 2);
        String[] hosts = {"127.0.0.1", "::1", "2001:db8::7"};
        for (int i = 0; i < 80; i++) {
            if (i % 8 == 5) {
                raw(session, i, hosts[i / 8 % 3], hosts[i / 24 % 3]);
            } else if (i % 8 == 6) {
                List<Message> messages = new ArrayList<>();
                for (int n = 0; n < 3; n++) {
                    messages.add(Texts.message("Six", "TagBatch", "batch-" + n, "batched " + i + "." + n));
                }
                session.sendBatch(messages, 1);
            } else {
                session.send(Texts.message("Six", Texts.pick(session.random(), Texts.TAGS), "key-" + i % 9,
                    "message " + i), i % 2);
            }
            session.settle();
            Thread.sleep(session.indexIsFull() ? 1100 : 2);
        }
    }

    private static void raw(Session session, int i, String bornHost, String storeHost) {
        MessageExtBrokerInner message = new MessageExtBrokerInner();
        message.setTopic("Six");
        message.setBody(("raw " + i).getBytes());
        message.setTags("TagRaw");
        message.setKeys("raw-" + i);
        MessageClientIDSetter.setUniqID(message);
        message.setQueueId(0);
        message.setBornTimestamp(System.currentTimeMillis());
        message.setBornHost(new InetSocketAddress(bornHost, 40000 + i));
        message.setStoreHost(new InetSocketAddress(storeHost, 10911));
        message.setPropertiesString(MessageDecoder.messageProperties2String(message.getProperties()));
        session.store().putMessage(message);
    }
}
