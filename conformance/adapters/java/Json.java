import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** As much JSON as the protocol needs: numbers are integers. Take your project's JSON library if it has one. */
final class Json {
    private final String text;
    private int at;

    private Json(final String text) {
        this.text = text;
    }

    /** A Map, List, String, Long, Boolean or null. */
    static Object parse(final String text) {
        final Json json = new Json(text);
        final Object value = json.value();
        if (json.peek() != 0) {
            throw new IllegalArgumentException("more after the value, at " + json.at);
        }
        return value;
    }

    static String text(final Object value) {
        final StringBuilder out = new StringBuilder();
        write(value, out);
        return out.toString();
    }

    private static void write(final Object value, final StringBuilder out) {
        String separator = "";
        if (value instanceof Map<?, ?> map) {
            out.append('{');
            for (final Map.Entry<?, ?> entry : map.entrySet()) {
                out.append(separator);
                write(entry.getKey(), out);
                out.append(':');
                write(entry.getValue(), out);
                separator = ",";
            }
            out.append('}');
        } else if (value instanceof List<?> list) {
            out.append('[');
            for (final Object item : list) {
                out.append(separator);
                write(item, out);
                separator = ",";
            }
            out.append(']');
        } else if (value instanceof String string) {
            quote(string, out);
        } else {
            out.append(value);
        }
    }

    private static void quote(final String string, final StringBuilder out) {
        out.append('"');
        for (final char c : string.toCharArray()) {
            if (c == '"' || c == '\\') {
                out.append('\\').append(c);
            } else if (c < ' ' || c > '~') {
                out.append(String.format("\\u%04x", (int) c));
            } else {
                out.append(c);
            }
        }
        out.append('"');
    }

    /** The next character that is no space, or 0 at the end. */
    private char peek() {
        while (this.at < this.text.length() && " \t\r\n".indexOf(this.text.charAt(this.at)) >= 0) {
            this.at++;
        }
        return this.at < this.text.length() ? this.text.charAt(this.at) : 0;
    }

    private boolean take(final char wanted) {
        if (peek() != wanted) {
            return false;
        }
        this.at++;
        return true;
    }

    private void expect(final char wanted) {
        if (!take(wanted)) {
            throw new IllegalArgumentException("expected " + wanted + " at " + this.at);
        }
    }

    private Object value() {
        return switch (peek()) {
            case '{' -> object();
            case '[' -> list();
            case '"' -> string();
            default -> word();
        };
    }

    private Map<String, Object> object() {
        final Map<String, Object> map = new LinkedHashMap<>();
        expect('{');
        if (take('}')) {
            return map;
        }
        do {
            peek();
            final String name = string();
            expect(':');
            map.put(name, value());
        } while (take(','));
        expect('}');
        return map;
    }

    private List<Object> list() {
        final List<Object> values = new ArrayList<>();
        expect('[');
        if (take(']')) {
            return values;
        }
        do {
            values.add(value());
        } while (take(','));
        expect(']');
        return values;
    }

    private String string() {
        final StringBuilder out = new StringBuilder();
        expect('"');
        while (true) {
            final char c = this.text.charAt(this.at++);
            if (c == '"') {
                return out.toString();
            }
            out.append(c == '\\' ? escape() : c);
        }
    }

    private char escape() {
        final char c = this.text.charAt(this.at++);
        return switch (c) {
            case 'u' -> (char) Integer.parseInt(this.text, this.at, this.at += 4, 16);
            case 'b' -> '\b';
            case 'f' -> '\f';
            case 'n' -> '\n';
            case 'r' -> '\r';
            case 't' -> '\t';
            default -> c;
        };
    }

    private Object word() {
        final int start = this.at;
        while (this.at < this.text.length() && "-+.".indexOf(this.text.charAt(this.at)) >= 0
            || this.at < this.text.length() && Character.isLetterOrDigit(this.text.charAt(this.at))) {
            this.at++;
        }
        final String word = this.text.substring(start, this.at);
        return switch (word) {
            case "null" -> null;
            case "true" -> true;
            case "false" -> false;
            default -> Long.parseLong(word);
        };
    }
}
