package rocketspec.adapter;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.io.File;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Runs the operations of one case after another, and turns what leaves a method into the protocol's verdicts. */
final class CaseRunner {
    private final Map<String, OpFamily> families = new LinkedHashMap<>();
    private final List<OpFamily> all;

    CaseRunner(final List<OpFamily> all) {
        this.all = all;
        for (final OpFamily family : all) {
            for (final String op : family.ops()) {
                this.families.put(op, family);
            }
        }
    }

    /** The names that hello declares. */
    Set<String> ops() {
        return this.families.keySet();
    }

    /** The answer to one case, as a line of JSON; every file is released before it is returned. */
    CharSequence run(final JsonObject message) {
        final JsonText text = new JsonText();
        final File directory = new File(message.get("dir").getAsString());
        final Set<CaseFile> files = new LinkedHashSet<>();

        text.raw("{\"id\":").string(message.get("id").getAsString()).raw(",\"results\":[");
        try {
            for (final OpFamily family : this.all) {
                family.start(directory, files);
            }
            boolean first = true;
            for (final JsonElement op : message.getAsJsonArray("ops")) {
                if (!first) {
                    text.raw(",");
                }
                first = false;
                runOp(op.getAsJsonObject(), text);
            }
        } finally {
            for (final OpFamily family : this.all) {
                family.release();
            }
        }

        text.raw("],\"files\":[");
        String separator = "";
        for (final CaseFile file : files) {
            if (!new File(directory, file.path()).exists()) {
                continue;
            }
            text.raw(separator).raw("{\"role\":").string(file.role()).raw(",\"path\":").string(file.path()).raw("}");
            separator = ",";
        }
        return text.raw("]}").text();
    }

    private void runOp(final JsonObject op, final JsonText text) {
        final int start = text.length();
        try {
            final String name = op.get("op").getAsString();
            final OpFamily family = this.families.get(name);
            if (family == null) {
                text.raw("{\"unsupported\":true}");
            } else {
                family.run(name, new Fields(op), text);
            }
        } catch (final Rejected rejected) {
            text.cut(start).raw("{\"rejected\":").string(rejected.getMessage()).raw("}");
        } catch (final Throwable failure) {
            text.cut(start).raw("{\"errored\":").string(failure.toString()).raw("}");
        }
    }
}
