package rocketspec.vectors;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Runs the operations of one case, and writes the answers as JSON. */
final class Operations {
    private final IndexFileUnderTest implementation;
    private final Path directory;
    private boolean open;

    Operations(final IndexFileUnderTest implementation, final Path directory) {
        this.implementation = implementation;
        this.directory = directory;
    }

    /** The answer; an exception of the implementation is {@code rejected}. */
    JsonObject run(final JsonObject op) throws NotOffered {
        final JsonObject result = new JsonObject();
        try {
            final String name = op.get("op").getAsString();
            if (name.equals("key.hash")) {
                result.addProperty("hash", this.implementation.keyHash(key(op)));
            } else if (name.equals("index.open")) {
                open(op);
            } else if (!name.startsWith("index.")) {
                return JsonParser.parseString(this.implementation.other(this.directory, op.toString()))
                    .getAsJsonObject();
            } else if (!this.open) {
                throw new IllegalStateException("no index file is open");
            } else {
                onFile(name, op, result);
            }
            return result;
        } catch (final NotOffered missing) {
            throw missing;
        } catch (final Exception reported) {
            final JsonObject rejected = new JsonObject();
            rejected.addProperty("rejected", reported.toString());
            return rejected;
        }
    }

    private void open(final JsonObject op) throws Exception {
        if (this.open) {
            this.open = false;
            this.implementation.close();
        }
        this.implementation.open(this.directory.resolve(op.get("file").getAsString()), number(op, "hash_slot_num"),
            number(op, "index_num"), integer(op, "end_phy_offset"), integer(op, "end_timestamp"),
            op.get("load").getAsBoolean());
        this.open = true;
    }

    private void onFile(final String name, final JsonObject op, final JsonObject result) throws Exception {
        switch (name) {
            case "index.put":
                result.addProperty("put", this.implementation.put(key(op), integer(op, "phy_offset"),
                    integer(op, "store_timestamp")));
                break;
            case "index.select":
                result.add("offsets", select(op));
                break;
            case "index.time_matched":
                result.addProperty("matched",
                    this.implementation.timeMatched(integer(op, "begin"), integer(op, "end")));
                break;
            case "index.header":
                header(this.implementation.header(), result);
                break;
            case "index.full":
                result.addProperty("full", this.implementation.full());
                break;
            case "index.flush":
                this.implementation.flush();
                break;
            case "index.close":
                this.open = false;
                this.implementation.close();
                break;
            default:
                throw new NotOffered(name);
        }
    }

    private JsonArray select(final JsonObject op) throws Exception {
        final List<Long> offsets = new ArrayList<>();
        if (op.has("initial")) {
            for (final JsonElement offset : op.getAsJsonArray("initial")) {
                offsets.add(offset.getAsLong());
            }
        }
        this.implementation.select(offsets, key(op), number(op, "max_num"), integer(op, "begin"), integer(op, "end"));
        final JsonArray found = new JsonArray();
        for (final Long offset : offsets) {
            found.add(Long.toString(offset));
        }
        return found;
    }

    private static void header(final Header header, final JsonObject result) {
        result.addProperty("begin_timestamp", Long.toString(header.beginTimestamp));
        result.addProperty("end_timestamp", Long.toString(header.endTimestamp));
        result.addProperty("begin_phy_offset", Long.toString(header.beginPhyOffset));
        result.addProperty("end_phy_offset", Long.toString(header.endPhyOffset));
        result.addProperty("hash_slot_count", header.hashSlotCount);
        result.addProperty("index_count", header.indexCount);
    }

    /** A key: text, or its UTF-16 units in hexadecimal if it holds a lone surrogate. */
    private static String key(final JsonObject op) {
        if (op.has("key")) {
            return op.get("key").getAsString();
        }
        final String hex = op.get("key_utf16").getAsString();
        final StringBuilder key = new StringBuilder();
        for (int i = 0; i < hex.length(); i += 4) {
            key.append((char) Integer.parseInt(hex.substring(i, i + 4), 16));
        }
        return key.toString();
    }

    private static int number(final JsonObject op, final String name) {
        return op.get(name).getAsInt();
    }

    private static long integer(final JsonObject op, final String name) {
        return Long.parseLong(op.get(name).getAsString());
    }
}
