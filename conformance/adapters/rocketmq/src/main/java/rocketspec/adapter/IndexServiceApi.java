package rocketspec.adapter;

import java.lang.reflect.Field;
import java.util.List;

/** The real IndexService, which builds one DispatchRequest at a time since 4.0.0. */
final class IndexServiceApi {
    /** IndexService(DefaultMessageStore). */
    final Call create;
    /** load(boolean lastExitOK): boolean. */
    final Call load;
    /** buildIndex(DispatchRequest). */
    final Call build;
    /** queryOffset(String topic, String key, int maxNum, long begin, long end): QueryOffsetResult. */
    final Call query;
    final Call deleteExpired;
    final Call offsets;
    final Call lastUpdateTimestamp;
    final Call lastUpdatePhyOffset;
    final DispatchRequestApi requests = new DispatchRequestApi();

    private final Field files;

    /** @throws ReflectiveOperationException when the class has drifted too far, or not yet far enough */
    IndexServiceApi() throws ReflectiveOperationException {
        final Class<?> type = StoreJar.find("store.index.IndexService");
        this.create = Call.constructor(type, BareStore.type());
        this.load = Call.method(type, "load", boolean.class);
        this.build = Call.method(type, "buildIndex", this.requests.type());
        this.query =
            Call.method(type, "queryOffset", String.class, String.class, int.class, long.class, long.class);
        this.deleteExpired = Call.method(type, "deleteExpiredFile", long.class);
        this.files = Call.field(type, "indexFileList");
        final Class<?> answer = StoreJar.find("store.index.QueryOffsetResult");
        this.offsets = Call.method(answer, "getPhyOffsets");
        this.lastUpdateTimestamp = Call.method(answer, "getIndexLastUpdateTimestamp");
        this.lastUpdatePhyOffset = Call.method(answer, "getIndexLastUpdatePhyoffset");
    }

    /** The IndexFile objects that the service holds, oldest first. */
    List<?> files(final Object service) throws IllegalAccessException {
        return (List<?>) this.files.get(service);
    }
}
