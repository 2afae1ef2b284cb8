package rocketspec.adapter;

import java.io.File;
import java.util.List;
import java.util.Set;

/** Operations on one kind of object, with the object that they act on: the last one opened in the case. */
interface OpFamily {
    /** Names of the operations, as hello declares them. */
    List<String> ops();

    /** A case begins: nothing is open. What the suite is to read afterwards goes into {@code files}. */
    void start(File directory, Set<CaseFile> files);

    /**
     * Runs one operation and writes its result object.
     *
     * @throws Rejected when an exception left the method under test, or nothing is open
     * @throws Throwable when the adapter itself fails
     */
    void run(String op, Fields fields, JsonText result) throws Throwable;

    /** The case is over: unmaps and closes every file that it opened, changing and deleting none. */
    void release();
}
