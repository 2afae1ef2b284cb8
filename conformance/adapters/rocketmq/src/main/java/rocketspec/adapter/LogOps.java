package rocketspec.adapter;

import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.util.Arrays;
import java.util.List;
import java.util.Set;

/** {@code log.dispatch}: CommitLog.checkMessageAndReturnSize over the bytes of a file. */
final class LogOps implements OpFamily {
    /** Makes a commit log, which maps nothing and starts nothing: one for each operation, as 5.5.1 keeps a buffer in it. */
    private final Call create;
    private final BareStore store;
    private final Call check;
    /** Whether check takes checkDupInfo, false here, before readBody: since 5.0.0. */
    private final boolean checksDuplication;
    private final DispatchRequestApi requests;
    private File directory;

    LogOps() {
        Call made = null;
        BareStore bare = null;
        Call found = null;
        boolean third = false;
        DispatchRequestApi api = null;
        try {
            api = new DispatchRequestApi();
            final Class<?> type = StoreJar.find("store.CommitLog");
            try {
                found = method(type, 3);
                third = true;
            } catch (final NoSuchMethodException before5) {
                found = method(type, 2);
            }
            bare = new BareStore();
            bare.parseDelayLevels();
            made = Call.constructor(type, BareStore.type());
            made.run(null, bare.store());
        } catch (final Throwable drift) {
            System.err.println("no log.dispatch: " + drift);
            made = null;
        }
        this.create = made;
        this.store = bare;
        this.check = found;
        this.checksDuplication = third;
        this.requests = api;
    }

    @Override
    public List<String> ops() {
        return this.create == null ? List.of() : List.of("log.dispatch");
    }

    @Override
    public void start(final File caseDirectory, final Set<CaseFile> caseFiles) {
        this.directory = caseDirectory;
    }

    @Override
    public void run(final String op, final Fields fields, final JsonText result) throws Throwable {
        final boolean checkCrc = fields.flag("check_crc");
        final boolean readBody = fields.flagOr("read_body", true);
        final Object commitLog = this.create.run(null, this.store.store());
        final ByteBuffer buffer = ByteBuffer.wrap(read(fields.string("file")));
        result.raw("{\"requests\":[");
        String separator = "";
        boolean more = true;
        while (more && buffer.hasRemaining()) {
            final Object request = this.checksDuplication
                ? this.check.run(commitLog, buffer, checkCrc, false, readBody)
                : this.check.run(commitLog, buffer, checkCrc, readBody);
            result.raw(separator);
            this.requests.write(request, result);
            separator = ",";
            more = this.requests.success(request) && this.requests.msgSize(request) > 0;
        }
        result.raw("]}");
    }

    private static Call method(final Class<?> type, final int flags) throws NoSuchMethodException {
        final Class<?>[] parameters = new Class<?>[1 + flags];
        Arrays.fill(parameters, boolean.class);
        parameters[0] = ByteBuffer.class;
        return Call.method(type, "checkMessageAndReturnSize", parameters);
    }

    private byte[] read(final String file) throws Throwable {
        try {
            return Files.readAllBytes(new File(this.directory, file).toPath());
        } catch (final IOException unreadable) {
            throw Rejected.by(unreadable);
        }
    }

    @Override
    public void release() {
    }
}
