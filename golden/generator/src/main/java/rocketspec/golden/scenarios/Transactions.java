package rocketspec.golden.scenarios;

import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.rocketmq.client.producer.LocalTransactionState;
import org.apache.rocketmq.client.producer.TransactionListener;
import org.apache.rocketmq.client.producer.TransactionMQProducer;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.sysflag.MessageSysFlag;
import rocketspec.golden.Scenario;
import rocketspec.golden.Session;

/** Half messages, what becomes of them, and records of all four transaction types. */
public final class Transactions implements Scenario {

    private static final String UNTIL_CHECKED = "until-checked";
    private static final String FOR_EVER = "for-ever";

    @Override
    public String description() {
        return "Transactions: half messages that were committed, rolled back, committed when the broker asked, and"
            + " given up as unknown after two checks; operation messages; plain messages between them; raw PREPARED"
            + " and ROLLBACK records with keys at the start, put through the store itself, which the broker's own"
            + " transactions never write.";
    }

    @Override
    public long seed() {
        return 4930105;
    }

    @Override
    public Map<String, String> config() {
        Map<String, String> config = new LinkedHashMap<>();
        config.put("maxHashSlotNum", "31");
        config.put("maxIndexNum", "100");
        config.put("mappedFileSizeCommitLog", "16384");
        config.put("mappedFileSizeConsumeQueue", "400");
        config.put("transactionTimeOut", "2000");
        config.put("transactionCheckInterval", "1000");
        config.put("transactionCheckMax", "2");
        return config;
    }

    @Override
    public void run(Session session) throws Exception {
        session.topic("Paid", 2);
        session.topic("Plain", 1);
        Raw.record(session, "Plain", MessageSysFlag.TRANSACTION_ROLLBACK_TYPE, 0);
        Raw.record(session, "Plain", MessageSysFlag.TRANSACTION_PREPARED_TYPE, 1);
        Raw.record(session, "Plain", MessageSysFlag.TRANSACTION_COMMIT_TYPE, 2);
        Raw.record(session, "Plain", MessageSysFlag.TRANSACTION_NOT_TYPE, 3);
        TransactionMQProducer producer = producer(session);
        for (int i = 0; i < 60; i++) {
            String fate = i % 15 == 3 ? UNTIL_CHECKED : i % 20 == 7 ? FOR_EVER : i % 4 == 1 ? "rollback" : "commit";
            Message message = Texts.message("Paid", Texts.pick(session.random(), Texts.TAGS),
                "order-" + i % 17 + " " + fate, "payment " + i);
            producer.sendMessageInTransaction(message, fate);
            if (i % 5 == 0) {
                session.send(Texts.message("Plain", null, "order-" + i % 17, "plain " + i), 0);
            }
            session.settle();
            Thread.sleep(session.indexIsFull() ? 1100 : 2);
        }
        session.awaitUnits("TRANS_CHECK_MAX_TIME_TOPIC", 1, 3);
        session.settle();
        producer.shutdown();
    }

    private static TransactionMQProducer producer(Session session) throws Exception {
        TransactionMQProducer producer = new TransactionMQProducer("golden-transactions");
        producer.setNamesrvAddr(session.namesrvAddress());
        producer.setClientIP("127.0.0.1");
        producer.setInstanceName("golden-transactions");
        producer.setVipChannelEnabled(false);
        producer.setTransactionListener(new TransactionListener() {
            @Override
            public LocalTransactionState executeLocalTransaction(Message message, Object fate) {
                return fate.equals("commit") ? LocalTransactionState.COMMIT_MESSAGE
                    : fate.equals("rollback") ? LocalTransactionState.ROLLBACK_MESSAGE
                    : LocalTransactionState.UNKNOW;
            }

            @Override
            public LocalTransactionState checkLocalTransaction(MessageExt message) {
                return message.getKeys().endsWith(UNTIL_CHECKED) ? LocalTransactionState.COMMIT_MESSAGE
                    : LocalTransactionState.UNKNOW;
            }
        });
        producer.start();
        return producer;
    }
}
