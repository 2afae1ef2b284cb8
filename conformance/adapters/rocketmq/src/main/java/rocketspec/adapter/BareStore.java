package rocketspec.adapter;

import java.lang.reflect.Field;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListMap;

/**
 * The real DefaultMessageStore around the class under test, its constructor not run.
 *
 * <p>IndexService, ConsumeQueue and CommitLog ask their store for its configuration, its checkpoint, its flags and
 * its delay levels. Those are real; the threads, the lock file and the folders that the constructor would make are
 * left out.
 */
final class BareStore {
    private static final String NAME = "store.DefaultMessageStore";

    private static Object brokerConfig;

    private final Object store;
    private final Object config;

    /** @throws ReflectiveOperationException when the classes have drifted too far */
    BareStore() throws ReflectiveOperationException {
        this.store = Jvm.allocate(type());
        this.config = StoreJar.find("store.config.MessageStoreConfig").getDeclaredConstructor().newInstance();
        set("messageStoreConfig", this.config);
        set("runningFlags", make("store.RunningFlags"));
        brokerIdentity();
        stateMachine();
    }

    static Class<?> type() throws ClassNotFoundException {
        return StoreJar.find(NAME);
    }

    Object store() {
        return this.store;
    }

    /** Sets a property of the MessageStoreConfig, whose setter may have one of several names. */
    BareStore configure(final String setters, final Class<?> type, final Object value) throws Throwable {
        Call.method(this.config.getClass(), setters, type).run(this.config, value);
        return this;
    }

    Object configured(final String getters) throws Throwable {
        return Call.method(this.config.getClass(), getters).run(this.config);
    }

    void set(final String field, final Object value) throws ReflectiveOperationException {
        Call.field(this.store.getClass(), field).set(this.store, value);
    }

    /** Parses the configured delay levels, as load does: in a service of their own, or in the store since 5.0.0. */
    void parseDelayLevels() throws Throwable {
        final Class<?> service = findOrNull("store.schedule.ScheduleMessageService");
        if (service != null) {
            final Object schedule = Call.constructor(service, type()).run(null, this.store);
            set("scheduleMessageService", schedule);
            Call.method(service, "parseDelayLevel").run(schedule);
            return;
        }
        final Field table = Call.field(this.store.getClass(), "delayLevelTable");
        table.set(this.store, table.getType().isAssignableFrom(ConcurrentHashMap.class)
            ? new ConcurrentHashMap<Integer, Long>() : new ConcurrentSkipListMap<Integer, Long>());
        Call.method(this.store.getClass(), "parseDelayLevel").run(this.store);
    }

    private static Object make(final String name) throws ReflectiveOperationException {
        return StoreJar.find(name).getDeclaredConstructor().newInstance();
    }

    /** Since 5.0.0 the store's threads ask for its broker's identity; making one looks up the host's name. */
    private void brokerIdentity() throws ReflectiveOperationException {
        if (findOrNull("common.BrokerIdentity") == null) {
            return;
        }
        if (brokerConfig == null) {
            brokerConfig = make("common.BrokerConfig");
        }
        set("brokerConfig", brokerConfig);
    }

    /** Since 5.3.2 a repeated put asks how far the store has started. */
    private void stateMachine() throws ReflectiveOperationException {
        final Class<?> type = findOrNull("store.MessageStoreStateMachine");
        if (type == null || !hasField("stateMachine")) {
            return;
        }
        final var constructor = type.getDeclaredConstructors()[0];
        set("stateMachine", constructor.newInstance(Call.field(this.store.getClass(), "LOGGER|log").get(null)));
    }

    private boolean hasField(final String name) {
        try {
            Call.field(this.store.getClass(), name);
            return true;
        } catch (final NoSuchFieldException none) {
            return false;
        }
    }

    private static Class<?> findOrNull(final String name) {
        try {
            return StoreJar.find(name);
        } catch (final ClassNotFoundException none) {
            return null;
        }
    }
}
