package rocketspec.adapter;

import java.util.List;

/** A line of JSON being written. Results are a few numbers each: appending them beats building a tree. */
final class JsonText {
    private final StringBuilder builder = new StringBuilder(1024);

    JsonText raw(final String json) {
        this.builder.append(json);
        return this;
    }

    JsonText i32(final String name, final int value) {
        this.builder.append('"').append(name).append("\":").append(value);
        return this;
    }

    JsonText i64(final String name, final long value) {
        this.builder.append('"').append(name).append("\":\"").append(value).append('"');
        return this;
    }

    JsonText flag(final String name, final boolean value) {
        this.builder.append('"').append(name).append("\":").append(value);
        return this;
    }

    JsonText i64List(final String name, final List<Long> values) {
        this.builder.append('"').append(name).append("\":[");
        String separator = "\"";
        for (final Long value : values) {
            this.builder.append(separator).append(value.longValue()).append('"');
            separator = ",\"";
        }
        this.builder.append(']');
        return this;
    }

    /** A string or null. */
    JsonText text(final String name, final String value) {
        this.builder.append('"').append(name).append("\":");
        return value == null ? raw("null") : string(value);
    }

    JsonText string(final String value) {
        this.builder.append('"');
        for (int i = 0; i < value.length(); i++) {
            final char c = value.charAt(i);
            if (c == '"' || c == '\\') {
                this.builder.append('\\').append(c);
            } else if (c < ' ' || c > '~') {
                this.builder.append(String.format("\\u%04x", (int) c));
            } else {
                this.builder.append(c);
            }
        }
        this.builder.append('"');
        return this;
    }

    int length() {
        return this.builder.length();
    }

    JsonText cut(final int length) {
        this.builder.setLength(length);
        return this;
    }

    CharSequence text() {
        return this.builder;
    }
}
