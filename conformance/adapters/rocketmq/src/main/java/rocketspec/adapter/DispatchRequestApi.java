package rocketspec.adapter;

import java.util.Arrays;
import java.util.Map;

/** The real DispatchRequest, with its unique key and its outcome: 3.2.6 has neither. */
final class DispatchRequestApi {
    private final Class<?> type;
    private final Call create;
    private final boolean takesProperties;
    private final Call topic;
    private final Call queueId;
    private final Call commitLogOffset;
    private final Call msgSize;
    private final Call tagsCode;
    private final Call storeTimestamp;
    private final Call consumeQueueOffset;
    private final Call keys;
    private final Call uniqKey;
    private final Call sysFlag;
    private final Call success;

    /** @throws ReflectiveOperationException when the class has drifted too far, or not yet far enough */
    DispatchRequestApi() throws ReflectiveOperationException {
        this.type = StoreJar.find("store.DispatchRequest");
        final Class<?>[] since40 = {String.class, int.class, long.class, int.class, long.class, long.class,
            long.class, String.class, String.class, int.class, long.class};
        final Class<?>[] withProperties = Arrays.copyOf(since40, since40.length + 1);
        withProperties[since40.length] = Map.class;
        Call found;
        boolean properties = true;
        try {
            found = Call.constructor(this.type, withProperties);
        } catch (final NoSuchMethodException early) {
            found = Call.constructor(this.type, since40);
            properties = false;
        }
        this.create = found;
        this.takesProperties = properties;
        this.topic = Call.method(this.type, "getTopic");
        this.queueId = Call.method(this.type, "getQueueId");
        this.commitLogOffset = Call.method(this.type, "getCommitLogOffset");
        this.msgSize = Call.method(this.type, "getMsgSize");
        this.tagsCode = Call.method(this.type, "getTagsCode");
        this.storeTimestamp = Call.method(this.type, "getStoreTimestamp");
        this.consumeQueueOffset = Call.method(this.type, "getConsumeQueueOffset");
        this.keys = Call.method(this.type, "getKeys");
        this.uniqKey = Call.method(this.type, "getUniqKey");
        this.sysFlag = Call.method(this.type, "getSysFlag");
        this.success = Call.method(this.type, "isSuccess");
    }

    Class<?> type() {
        return this.type;
    }

    /** A request as the index service reads it; what it never looks at is zero. */
    Object create(
        final String topicName, final String keyList, final String unique, final long offset, final long time,
        final int flags) throws Throwable {
        return this.takesProperties
            ? this.create.run(null, topicName, 0, offset, 0, 0L, time, 0L, keyList, unique, flags, 0L, null)
            : this.create.run(null, topicName, 0, offset, 0, 0L, time, 0L, keyList, unique, flags, 0L);
    }

    boolean success(final Object request) throws Throwable {
        return (boolean) this.success.run(request);
    }

    int msgSize(final Object request) throws Throwable {
        return (int) this.msgSize.run(request);
    }

    void write(final Object request, final JsonText result) throws Throwable {
        result.raw("{").text("topic", (String) this.topic.run(request)).raw(",")
            .i32("queue_id", (int) this.queueId.run(request)).raw(",")
            .i64("commit_log_offset", (long) this.commitLogOffset.run(request)).raw(",")
            .i32("msg_size", msgSize(request)).raw(",")
            .i64("tags_code", (long) this.tagsCode.run(request)).raw(",")
            .i64("store_timestamp", (long) this.storeTimestamp.run(request)).raw(",")
            .i64("consume_queue_offset", (long) this.consumeQueueOffset.run(request)).raw(",")
            .text("keys", (String) this.keys.run(request)).raw(",")
            .text("uniq_key", (String) this.uniqKey.run(request)).raw(",")
            .i32("sys_flag", (int) this.sysFlag.run(request)).raw(",")
            .flag("success", success(request)).raw("}");
    }
}
