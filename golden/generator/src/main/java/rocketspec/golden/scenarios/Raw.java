package rocketspec.golden.scenarios;

import java.net.InetSocketAddress;
import java.net.SocketAddress;
import org.apache.rocketmq.common.message.MessageClientIDSetter;
import org.apache.rocketmq.common.message.MessageDecoder;
import org.apache.rocketmq.store.MessageExtBrokerInner;
import rocketspec.golden.Session;

/** Records that no client sends. */
final class Raw {

    private Raw() {
    }

    /** A record of a transaction type, as only other users of the store write them. */
    static void record(Session session, String topic, int type, int i) {
        SocketAddress host = new InetSocketAddress("127.0.0.1", 10911);
        MessageExtBrokerInner message = new MessageExtBrokerInner();
        message.setTopic(topic);
        message.setBody(("raw " + i).getBytes());
        message.setTags("TagRaw");
        message.setKeys("raw-" + i);
        MessageClientIDSetter.setUniqID(message);
        message.setSysFlag(type);
        message.setQueueId(0);
        message.setBornTimestamp(System.currentTimeMillis());
        message.setBornHost(host);
        message.setStoreHost(host);
        message.setPropertiesString(MessageDecoder.messageProperties2String(message.getProperties()));
        session.store().putMessage(message);
    }
}
