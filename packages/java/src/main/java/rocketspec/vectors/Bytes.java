package rocketspec.vectors;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;

/** Files as the vectors hold them: a length, and runs of bytes in hexadecimal; all other bytes are 0. */
final class Bytes {
    private Bytes() {
    }

    static byte[] of(final JsonObject file) {
        final byte[] data = new byte[file.get("length").getAsInt()];
        for (final JsonElement one : file.getAsJsonArray("runs")) {
            final JsonArray run = one.getAsJsonArray();
            final String hex = run.get(1).getAsString();
            for (int i = 0; i < hex.length(); i += 2) {
                data[run.get(0).getAsInt() + i / 2] = (byte) Integer.parseInt(hex.substring(i, i + 2), 16);
            }
        }
        return data;
    }

    /** Where a file differs first; null if it does not. */
    static String difference(final byte[] expected, final byte[] actual) {
        if (actual == null) {
            return ": missing";
        }
        for (int i = 0; i < Math.min(expected.length, actual.length); i++) {
            if (expected[i] != actual[i]) {
                return String.format(", byte %d: expected %02x, actual %02x", i, expected[i], actual[i]);
            }
        }
        return expected.length == actual.length ? null
            : ": expected " + expected.length + " bytes, actual " + actual.length;
    }
}
