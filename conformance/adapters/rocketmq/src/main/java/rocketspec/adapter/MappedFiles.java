package rocketspec.adapter;

import java.io.File;
import java.io.IOException;
import java.lang.reflect.Field;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.util.Arrays;
import java.util.Set;

/** Files that objects of the jar have mapped: freeing them, and naming them to the suite. */
final class MappedFiles {
    private MappedFiles() {
    }

    /** Unmaps and closes what the fields mappedByteBuffer and fileChannel hold; changes and deletes nothing. */
    static void close(final Object holder) throws Throwable {
        final Field buffer = Call.field(holder.getClass(), "mappedByteBuffer");
        final Field channel = Call.field(holder.getClass(), "fileChannel");
        close((ByteBuffer) buffer.get(holder), (FileChannel) channel.get(holder));
    }

    static void close(final ByteBuffer buffer, final FileChannel channel) throws Throwable {
        Jvm.unmap(buffer);
        try {
            channel.close();
        } catch (final IOException unflushed) {
            System.err.println("closing a mapped file: " + unflushed);
        }
    }

    /** Adds every file right below a folder of the case, in the order of their names. */
    static void list(final File directory, final String folder, final String role, final Set<CaseFile> files) {
        final File[] found = new File(directory, folder).listFiles(File::isFile);
        if (found == null) {
            return;
        }
        Arrays.sort(found);
        for (final File file : found) {
            files.add(new CaseFile(role, folder + "/" + file.getName()));
        }
    }
}
