package rocketspec.adapter;

import java.io.File;
import java.util.List;
import java.util.Set;

/** {@code tags.code}: MessageExtBrokerInner.tagsString2tagsCode, static in every version. */
final class TagsOps implements OpFamily {
    private final Call code;
    private final Object singleTag;

    TagsOps() {
        Call found = null;
        Object filter = null;
        try {
            final Class<?> filterType = StoreJar.find("common.TopicFilterType");
            // Moved from the store to common in 5.0.0.
            final Class<?> message =
                StoreJar.findAny("store.MessageExtBrokerInner", "common.message.MessageExtBrokerInner");
            found = Call.method(message, "tagsString2tagsCode", filterType, String.class);
            filter = Call.field(filterType, "SINGLE_TAG").get(null);
        } catch (final ReflectiveOperationException | LinkageError drift) {
            found = null;
        }
        this.code = found;
        this.singleTag = filter;
    }

    @Override
    public List<String> ops() {
        return this.code == null ? List.of() : List.of("tags.code");
    }

    @Override
    public void start(final File directory, final Set<CaseFile> files) {
    }

    @Override
    public void run(final String op, final Fields fields, final JsonText result) throws Throwable {
        final String tags = fields.utf16OrNull("tags");
        result.raw("{").i64("tags_code", (long) this.code.run(null, this.singleTag, tags)).raw("}");
    }

    @Override
    public void release() {
    }
}
