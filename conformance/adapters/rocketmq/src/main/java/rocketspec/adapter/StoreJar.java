package rocketspec.adapter;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.net.URISyntaxException;
import java.util.Properties;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The rocketmq-store jar on the class path: which package its classes have, and which version it is. */
final class StoreJar {
    /** 3.x came from Alibaba; everything since 4.0.0 is Apache's. */
    private static final String[] GROUPS = {"org.apache.rocketmq", "com.alibaba.rocketmq"};

    private static final Pattern FILE_NAME = Pattern.compile("rocketmq-store-(.+)\\.jar");

    private StoreJar() {
    }

    /** The class of this name below the group's package, such as {@code store.index.IndexFile}. */
    static Class<?> find(final String name) throws ClassNotFoundException {
        for (final String group : GROUPS) {
            try {
                return Class.forName(group + "." + name);
            } catch (final ClassNotFoundException next) {
                continue;
            }
        }
        throw new ClassNotFoundException(name + " of rocketmq-store is not on the class path");
    }

    /** The first of these classes that there is: some moved between packages. */
    static Class<?> findAny(final String... names) throws ClassNotFoundException {
        for (final String name : names) {
            try {
                return find(name);
            } catch (final ClassNotFoundException next) {
                continue;
            }
        }
        throw new ClassNotFoundException(String.join(", ", names) + " of rocketmq-store are not on the class path");
    }

    /** The version as Maven wrote it into the jar, else as the jar's file name has it, else "unknown". */
    static String version() {
        for (final String group : GROUPS) {
            final String name = "/META-INF/maven/" + group + "/rocketmq-store/pom.properties";
            try (InputStream in = StoreJar.class.getResourceAsStream(name)) {
                if (in != null) {
                    final Properties properties = new Properties();
                    properties.load(in);
                    return properties.getProperty("version", "unknown");
                }
            } catch (final IOException unreadable) {
                continue;
            }
        }
        try {
            final Class<?> indexFile = find("store.index.IndexFile");
            final File jar = new File(indexFile.getProtectionDomain().getCodeSource().getLocation().toURI());
            final Matcher matcher = FILE_NAME.matcher(jar.getName());
            return matcher.matches() ? matcher.group(1) : "unknown";
        } catch (final ClassNotFoundException | URISyntaxException none) {
            return "unknown";
        }
    }
}
