package rocketspec.adapter;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.util.ArrayList;
import java.util.List;

/** The fields of one operation, read strictly: a 64-bit integer is a decimal string, a 32-bit one a number. */
final class Fields {
    private final JsonObject object;

    Fields(final JsonObject object) {
        this.object = object;
    }

    private JsonElement require(final String name) {
        final JsonElement value = this.object.get(name);
        if (value == null || value.isJsonNull()) {
            throw new IllegalArgumentException("no field " + name + " in " + this.object);
        }
        return value;
    }

    String string(final String name) {
        return require(name).getAsString();
    }

    int i32(final String name) {
        return Integer.parseInt(require(name).getAsString());
    }

    long i64(final String name) {
        return Long.parseLong(require(name).getAsString());
    }

    boolean flag(final String name) {
        return require(name).getAsBoolean();
    }

    /** A flag that may be missing. */
    boolean flagOr(final String name, final boolean otherwise) {
        return this.object.has(name) ? flag(name) : otherwise;
    }

    /** A list of 64-bit integers, empty when it is missing. */
    List<Long> i64List(final String name) {
        final List<Long> values = new ArrayList<>();
        if (this.object.has(name)) {
            for (final JsonElement value : this.object.getAsJsonArray(name)) {
                values.add(Long.parseLong(value.getAsString()));
            }
        }
        return values;
    }

    /**
     * A string that may hold a lone surrogate: {@code NAME}, or {@code NAME_utf16} in big-endian hexadecimal, since
     * UTF-8 cannot carry one.
     */
    String utf16(final String name) {
        final JsonElement units = this.object.get(name + "_utf16");
        return units == null ? string(name) : fromHex(units.getAsString());
    }

    /** As {@link #utf16}, but null where the field is null or missing. */
    String utf16OrNull(final String name) {
        final JsonElement units = this.object.get(name + "_utf16");
        if (units != null && !units.isJsonNull()) {
            return fromHex(units.getAsString());
        }
        final JsonElement value = this.object.get(name);
        return value == null || value.isJsonNull() ? null : value.getAsString();
    }

    private static String fromHex(final String hex) {
        if (hex.length() % 4 != 0) {
            throw new IllegalArgumentException("not whole UTF-16 units: " + hex);
        }
        final char[] units = new char[hex.length() / 4];
        for (int i = 0; i < units.length; i++) {
            units[i] = (char) Integer.parseInt(hex, 4 * i, 4 * i + 4, 16);
        }
        return new String(units);
    }
}
