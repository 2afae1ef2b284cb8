package rocketspec.adapter;

/** A file that the suite is to read after the case. {@code path} is relative to the case's directory. */
record CaseFile(String role, String path) {
}
