package rocketspec.adapter;

import java.io.File;
import java.util.List;
import java.util.Set;

/** {@code key.hash}: IndexFile.indexKeyHashMethod, which needs no file. */
final class HashOps implements OpFamily {
    private Object indexFile;

    @Override
    public List<String> ops() {
        return IndexFileApi.HASH == null ? List.of() : List.of("key.hash");
    }

    @Override
    public void start(final File directory, final Set<CaseFile> files) {
    }

    @Override
    public void run(final String op, final Fields fields, final JsonText result) throws Throwable {
        if (this.indexFile == null) {
            this.indexFile = IndexFileApi.withoutFile();
        }
        final String key = fields.utf16("key");
        final int hash = (int) IndexFileApi.HASH.invokeExact(this.indexFile, key);
        result.raw("{").i32("hash", hash).raw("}");
    }

    @Override
    public void release() {
    }
}
