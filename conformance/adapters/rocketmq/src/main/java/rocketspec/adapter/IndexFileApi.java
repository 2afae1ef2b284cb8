package rocketspec.adapter;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.util.Arrays;
import java.util.List;

/**
 * Handles on the real IndexFile and IndexHeader, whatever the version on the class path.
 *
 * <p>Nothing here is compiled against RocketMQ: the package differs in 3.x, and {@code selectPhyOffset} lost its
 * unused {@code lock} argument in 5.x, as IndexFile did its channel. The handles are constants, so the compiled code
 * calls straight through.
 */
final class IndexFileApi {
    /** IndexFile(String, int, int, long, long) as Object. */
    static final MethodHandle NEW;
    static final MethodHandle LOAD;
    static final MethodHandle FLUSH;
    /** putKey(String, long, long): boolean. */
    static final MethodHandle PUT;
    /** selectPhyOffset(List, String, int, long, long), without {@code lock}. */
    static final MethodHandle SELECT;
    static final MethodHandle TIME_MATCHED;
    static final MethodHandle FULL;
    /** indexKeyHashMethod(String): int; null in 3.0.4, which hashes inside putKey. */
    static final MethodHandle HASH;
    /** The field indexHeader of an IndexFile, as Object. */
    static final MethodHandle HEADER;
    static final MethodHandle BEGIN_TIMESTAMP;
    static final MethodHandle END_TIMESTAMP;
    static final MethodHandle BEGIN_PHY_OFFSET;
    static final MethodHandle END_PHY_OFFSET;
    /** Number: an AtomicInteger up to now. */
    static final MethodHandle HASH_SLOT_COUNT;
    static final MethodHandle INDEX_COUNT;

    private static final Class<?> INDEX_FILE;
    private static final MethodHandle BUFFER;
    private static final MethodHandle CHANNEL;

    static {
        try {
            final MethodHandles.Lookup lookup = MethodHandles.lookup();
            INDEX_FILE = StoreJar.find("store.index.IndexFile");
            final Class<?> header = StoreJar.find("store.index.IndexHeader");

            NEW = lookup.unreflectConstructor(constructor()).asType(
                MethodType.methodType(Object.class, String.class, int.class, int.class, long.class, long.class));
            LOAD = method(INDEX_FILE, "load", void.class);
            FLUSH = method(INDEX_FILE, "flush", void.class);
            PUT = method(INDEX_FILE, "putKey", boolean.class, String.class, long.class, long.class);
            SELECT = select();
            TIME_MATCHED = method(INDEX_FILE, "isTimeMatched", boolean.class, long.class, long.class);
            FULL = method(INDEX_FILE, "isWriteFull", boolean.class);
            HASH = hash();

            HEADER = getter("indexHeader", Object.class);
            BUFFER = getter("mappedByteBuffer", ByteBuffer.class);
            CHANNEL = channel();
            BEGIN_TIMESTAMP = method(header, "getBeginTimestamp", long.class);
            END_TIMESTAMP = method(header, "getEndTimestamp", long.class);
            BEGIN_PHY_OFFSET = method(header, "getBeginPhyOffset", long.class);
            END_PHY_OFFSET = method(header, "getEndPhyOffset", long.class);
            HASH_SLOT_COUNT = method(header, "getHashSlotCount", Number.class);
            INDEX_COUNT = method(header, "getIndexCount", int.class);
        } catch (final ReflectiveOperationException drift) {
            throw new ExceptionInInitializerError(drift);
        }
    }

    private IndexFileApi() {
    }

    /** Fails at once where the jar on the class path has drifted too far, rather than in the first case. */
    static void check() {
    }

    /** An IndexFile without a file, for methods that use none of its fields. */
    static Object withoutFile() {
        return Jvm.allocate(INDEX_FILE);
    }

    /** Unmaps and closes. Nothing is flushed or deleted: the bytes are those that the puts left in the mapping. */
    static void close(final Object indexFile) throws Throwable {
        final ByteBuffer buffer = (ByteBuffer) BUFFER.invokeExact(indexFile);
        final FileChannel channel = (FileChannel) CHANNEL.invokeExact(indexFile);
        MappedFiles.close(buffer, channel);
    }

    /** The field fileChannel, or since 5.x mappedFile.getFileChannel(). */
    private static MethodHandle channel() throws ReflectiveOperationException {
        try {
            return getter("fileChannel", FileChannel.class);
        } catch (final NoSuchFieldException dropped) {
            return channelOfMappedFile();
        }
    }

    private static MethodHandle channelOfMappedFile() throws ReflectiveOperationException {
        final Class<?> mappedFile = INDEX_FILE.getDeclaredField("mappedFile").getType();
        return MethodHandles.filterReturnValue(getter("mappedFile", Object.class),
            method(mappedFile, "getFileChannel", FileChannel.class));
    }

    private static Constructor<?> constructor() throws NoSuchMethodException {
        return INDEX_FILE.getConstructor(String.class, int.class, int.class, long.class, long.class);
    }

    private static MethodHandle hash() throws IllegalAccessException {
        try {
            return method(INDEX_FILE, "indexKeyHashMethod", int.class, String.class);
        } catch (final NoSuchMethodException inlined) {
            return null;
        }
    }

    private static MethodHandle select() throws NoSuchMethodException, IllegalAccessException {
        final Class<?>[] common = {List.class, String.class, int.class, long.class, long.class};
        final MethodType type = MethodType.methodType(void.class, Object.class, common);
        for (final Method method : INDEX_FILE.getMethods()) {
            final Class<?>[] parameters = method.getParameterTypes();
            if (!method.getName().equals("selectPhyOffset")) {
                continue;
            }
            final MethodHandle handle = MethodHandles.lookup().unreflect(method);
            if (Arrays.equals(parameters, common)) {
                return handle.asType(type);
            }
            if (parameters.length == common.length + 1 && parameters[common.length] == boolean.class) {
                return MethodHandles.insertArguments(handle, common.length + 1, false).asType(type);
            }
        }
        throw new NoSuchMethodException("IndexFile.selectPhyOffset");
    }

    private static MethodHandle method(
        final Class<?> owner, final String name, final Class<?> result, final Class<?>... parameters)
        throws NoSuchMethodException, IllegalAccessException {
        final Method method = owner.getDeclaredMethod(name, parameters);
        method.setAccessible(true);
        final MethodType type =
            MethodType.methodType(result, parameters).insertParameterTypes(0, Object.class);
        return MethodHandles.lookup().unreflect(method).asType(type);
    }

    private static MethodHandle getter(final String name, final Class<?> result)
        throws NoSuchFieldException, IllegalAccessException {
        final Field field = INDEX_FILE.getDeclaredField(name);
        field.setAccessible(true);
        return MethodHandles.lookup().unreflectGetter(field).asType(MethodType.methodType(result, Object.class));
    }
}
