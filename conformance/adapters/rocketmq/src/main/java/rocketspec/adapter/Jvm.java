package rocketspec.adapter;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.reflect.Field;
import java.nio.ByteBuffer;

/** What only the virtual machine's internals can do, the same for every version of the store. */
final class Jvm {
    private static final MethodHandle UNMAP;
    private static final MethodHandle ALLOCATE;

    static {
        try {
            final MethodHandles.Lookup lookup = MethodHandles.lookup();
            final Class<?> unsafe = Class.forName("sun.misc.Unsafe");
            final Field instance = unsafe.getDeclaredField("theUnsafe");
            instance.setAccessible(true);
            UNMAP = lookup.unreflect(unsafe.getMethod("invokeCleaner", ByteBuffer.class)).bindTo(instance.get(null));
            ALLOCATE =
                lookup.unreflect(unsafe.getMethod("allocateInstance", Class.class)).bindTo(instance.get(null));
        } catch (final ReflectiveOperationException drift) {
            throw new ExceptionInInitializerError(drift);
        }
    }

    private Jvm() {
    }

    /** An object whose constructor never runs: its fields are zero and null. */
    static Object allocate(final Class<?> type) {
        try {
            return ALLOCATE.invoke(type);
        } catch (final Throwable failure) {
            throw new IllegalStateException(type + " was not allocated", failure);
        }
    }

    /** Unmaps at once, without a flush; a second time does nothing. */
    static void unmap(final ByteBuffer buffer) throws Throwable {
        if (buffer.capacity() > 0) {
            UNMAP.invoke(buffer);
        }
    }

    /**
     * Frees the file of an object whose constructor failed after mapping it, or that was dropped half loaded: nobody
     * has it, so that only collection can. The cleaner works in its own thread and is given a moment.
     */
    static void collectHalfMade() throws InterruptedException {
        System.gc();
        Thread.sleep(20);
    }
}
