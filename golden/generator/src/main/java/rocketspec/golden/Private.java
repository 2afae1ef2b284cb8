package rocketspec.golden;

import java.lang.reflect.Field;
import java.lang.reflect.Method;

/** Reads the fields, and calls the methods, that RocketMQ keeps private. */
final class Private {

    private Private() {
    }

    @SuppressWarnings("unchecked")
    static <T> T get(Object owner, String name) {
        return (T) read(owner.getClass(), owner, name);
    }

    @SuppressWarnings("unchecked")
    static <T> T getStatic(Class<?> owner, String name) {
        return (T) read(owner, null, name);
    }

    static void call(Object owner, String name) {
        try {
            Method method = owner.getClass().getDeclaredMethod(name);
            method.setAccessible(true);
            method.invoke(owner);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    private static Object read(Class<?> type, Object owner, String name) {
        for (Class<?> at = type; at != null; at = at.getSuperclass()) {
            try {
                Field field = at.getDeclaredField(name);
                field.setAccessible(true);
                return field.get(owner);
            } catch (NoSuchFieldException e) {
                continue;
            } catch (IllegalAccessException e) {
                throw new IllegalStateException(e);
            }
        }
        throw new IllegalStateException(type.getName() + " has no field " + name);
    }
}
