package rocketspec.vectors;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.google.gson.JsonPrimitive;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.Reader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** The cases: as 4.9.3 answers them, or as the release in the environment variable ROCKETMQ_RELEASE does. */
public final class Vectors {
    private Vectors() {
    }

    /** All cases, in the order of the file. */
    public static List<Vector> all() {
        try (InputStream data = Vectors.class.getResourceAsStream("cases.json");
            Reader reader = new InputStreamReader(data, StandardCharsets.UTF_8)) {
            final JsonObject file = JsonParser.parseReader(reader).getAsJsonObject();
            final JsonObject clauses = file.getAsJsonObject("clauses");
            final String wanted = System.getenv("ROCKETMQ_RELEASE");
            final String release = wanted == null || wanted.isEmpty() ? "4.9.3" : wanted;
            if (!file.getAsJsonArray("releases").contains(new JsonPrimitive(release))) {
                throw new IllegalArgumentException(
                    "ROCKETMQ_RELEASE " + release + ": expected one of " + file.get("releases"));
            }
            final List<Vector> found = new ArrayList<>();
            for (final JsonElement one : file.getAsJsonArray("cases")) {
                found.add(new Vector(one.getAsJsonObject(), clauses, release));
            }
            return Collections.unmodifiableList(found);
        } catch (final IOException failure) {
            throw new UncheckedIOException(failure);
        }
    }
}
