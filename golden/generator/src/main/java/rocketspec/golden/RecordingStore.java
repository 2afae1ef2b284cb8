package rocketspec.golden;

import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.rocketmq.broker.plugin.AbstractPluginMessageStore;
import org.apache.rocketmq.broker.plugin.MessageStorePluginContext;
import org.apache.rocketmq.common.message.MessageExtBatch;
import org.apache.rocketmq.store.DefaultMessageStore;
import org.apache.rocketmq.store.DispatchRequest;
import org.apache.rocketmq.store.MessageStore;
import org.apache.rocketmq.store.PutMessageResult;
import org.apache.rocketmq.store.config.BrokerRole;

/**
 * A store plug-in of the broker ({@code messageStorePlugIn}) that changes nothing: it adds a dispatcher behind
 * the store's own, before load and recovery, and so sees every DispatchRequest that they saw.
 */
public final class RecordingStore extends AbstractPluginMessageStore {

    /** A request, and in which start of the broker (from 1) it was dispatched. */
    static final class Dispatched {
        final int start;
        final DispatchRequest request;

        Dispatched(int start, DispatchRequest request) {
            this.start = start;
            this.request = request;
        }
    }

    private static final List<Dispatched> DISPATCHED = Collections.synchronizedList(new ArrayList<>());
    private static int starts;
    private static DefaultMessageStore current;
    private static OutputStream lines;

    public RecordingStore(MessageStorePluginContext context, MessageStore next) {
        super(context, next);
        current = (DefaultMessageStore) next;
        int start = ++starts;
        next.getDispatcherList().addLast(request -> record(new Dispatched(start, request)));
    }

    private static void record(Dispatched dispatched) {
        DISPATCHED.add(dispatched);
        if (lines != null) {
            try {
                lines.write((Json.write(DispatchLine.of(dispatched)) + "\n").getBytes(StandardCharsets.US_ASCII));
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    /**
     * Writes each request to a file as well, one system call a line: the lines outlive a kill of this process.
     *
     * @param start the number of the next start, for a store that was started before
     */
    static void recordTo(Path path, int start) throws IOException {
        starts = start - 1;
        lines = Files.newOutputStream(path);
    }

    @Override
    public PutMessageResult putMessages(MessageExtBatch batch) {
        return next.putMessages(batch);
    }

    @Override
    public void handleScheduleMessageService(BrokerRole role) {
        next.handleScheduleMessageService(role);
    }

    /** All requests so far, in the order of their dispatch. */
    static List<Dispatched> dispatched() {
        synchronized (DISPATCHED) {
            return new ArrayList<>(DISPATCHED);
        }
    }

    /** The real store of the latest start. */
    static DefaultMessageStore current() {
        return current;
    }
}
