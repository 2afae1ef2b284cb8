package rocketspec.adapter;

import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;

/**
 * A method or a constructor of the jar, by reflection: names and arguments differ between versions.
 *
 * <p>3.x has its own spellings (getMinOffsetInQuque, mapedFileQueue), so that a name may be a choice, {@code a|b}.
 */
final class Call {
    private final Method method;
    private final Constructor<?> constructor;

    private Call(final Method method, final Constructor<?> constructor) {
        this.method = method;
        this.constructor = constructor;
    }

    /** The method of one of these names, public or not, of the class itself or one above it. */
    static Call method(final Class<?> owner, final String names, final Class<?>... parameters)
        throws NoSuchMethodException {
        for (Class<?> type = owner; type != null; type = type.getSuperclass()) {
            for (final String name : names.split("\\|")) {
                try {
                    final Method method = type.getDeclaredMethod(name, parameters);
                    method.setAccessible(true);
                    return new Call(method, null);
                } catch (final NoSuchMethodException next) {
                    continue;
                }
            }
        }
        throw new NoSuchMethodException(owner.getName() + "." + names);
    }

    static Call constructor(final Class<?> owner, final Class<?>... parameters) throws NoSuchMethodException {
        final Constructor<?> constructor = owner.getDeclaredConstructor(parameters);
        constructor.setAccessible(true);
        return new Call(null, constructor);
    }

    /** The field of one of these names, of the class itself or one above it. */
    static Field field(final Class<?> owner, final String names) throws NoSuchFieldException {
        for (Class<?> type = owner; type != null; type = type.getSuperclass()) {
            for (final String name : names.split("\\|")) {
                try {
                    final Field field = type.getDeclaredField(name);
                    field.setAccessible(true);
                    return field;
                } catch (final NoSuchFieldException next) {
                    continue;
                }
            }
        }
        throw new NoSuchFieldException(owner.getName() + "." + names);
    }

    /**
     * Calls the method under test.
     *
     * @param target what it is called on; null for a constructor and for a static method
     * @throws Rejected when an exception left it
     * @throws Throwable when an Error did, or the call itself failed
     */
    Object run(final Object target, final Object... arguments) throws Throwable {
        try {
            return this.method == null
                ? this.constructor.newInstance(arguments) : this.method.invoke(target, arguments);
        } catch (final InvocationTargetException thrown) {
            throw Rejected.by(thrown.getCause());
        }
    }
}
