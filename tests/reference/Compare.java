import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;

/** What the JDK says to inputs that test_real_jdk.py made: INPUT OUTPUT. */
public final class Compare {
    public static void main(String[] arguments) throws Exception {
        try (PrintStream out = new PrintStream(new BufferedOutputStream(new FileOutputStream(arguments[1])), false, "US-ASCII")) {
            text(arguments[0], out);
        }
    }

    /** Every input as UTF-8, then for each char whether it is a digit. */
    private static void text(String input, PrintStream out) throws IOException {
        try (DataInputStream in = new DataInputStream(new BufferedInputStream(new FileInputStream(input)))) {
            for (byte[] data = next(in); data != null; data = next(in)) {
                out.println(hex(new String(data, StandardCharsets.UTF_8)));
            }
        }
        StringBuilder digits = new StringBuilder();
        for (int character = 0; character < 65536; character++) {
            digits.append((char) ('a' + 1 + Character.digit((char) character, 10)));
        }
        out.println(digits);
    }

    private static byte[] next(DataInputStream in) throws IOException {
        try {
            byte[] data = new byte[in.readInt()];
            in.readFully(data);
            return data;
        } catch (EOFException end) {
            return null;
        }
    }

    private static String hex(String text) {
        return text == null ? "null" : "x" + HexFormat.of().formatHex(text.getBytes(StandardCharsets.UTF_16BE));
    }
}
