package rocketspec.vectors;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.Reader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** The recorded cases. */
public final class Vectors {
    private Vectors() {
    }

    /** All cases, in the order of the file. */
    public static List<Vector> all() {
        try (InputStream data = Vectors.class.getResourceAsStream("cases.json");
            Reader reader = new InputStreamReader(data, StandardCharsets.UTF_8)) {
            final JsonObject file = JsonParser.parseReader(reader).getAsJsonObject();
            final JsonObject clauses = file.getAsJsonObject("clauses");
            final List<Vector> found = new ArrayList<>();
            for (final JsonElement one : file.getAsJsonArray("cases")) {
                found.add(new Vector(one.getAsJsonObject(), clauses));
            }
            return Collections.unmodifiableList(found);
        } catch (final IOException failure) {
            throw new UncheckedIOException(failure);
        }
    }
}
