"""Hash, file, header, load and flush of an index file, misread."""

from __future__ import annotations

from typing import Final

from rocket_conformance.misreadings.mutant import Mutant

__all__ = ["INDEX_BYTES"]

_ABSOLUTE: Final = "positive = abs_i32(string_hash(key))"
_NOT_NEGATIVE: Final = "return max(positive, 0)"
_SLOT: Final = "rem(hash_, self.hash_slot_num) * SLOT_SIZE"
_EXTEND: Final = """        if os.fstat(descriptor).st_size < size:
            os.ftruncate(descriptor, size)
"""
_PUT_FIELDS: Final = """        buffer.put_int(position + 12, time_diff)
        buffer.put_int(position + 16, previous)
"""

INDEX_BYTES: Final = (
    Mutant(
        "code-points-for-utf16-units",
        "IDX-HASH-1",
        "index_file",
        "string_hash(key))",
        "string_hash(''.join(chr(ord(char) & 0xFFFF) for char in key)))",
    ),
    Mutant(
        "utf8-bytes-for-utf16-units",
        "IDX-HASH-1",
        "index_file",
        "string_hash(key))",
        "string_hash(key.encode('utf-8', 'surrogatepass').decode('latin-1')))",
    ),
    Mutant("hash-factor-33", "IDX-HASH-1", "java", "31 * total + unit", "33 * total + unit"),
    Mutant(
        "sign-bit-cut-off", "IDX-HASH-1", "index_file", _ABSOLUTE, "positive = string_hash(key) & I32_MAX"
    ),
    Mutant("negative-hash-becomes-0", "IDX-HASH-1", "index_file", _ABSOLUTE, "positive = string_hash(key)"),
    Mutant("signed-hash-stored", "IDX-HASH-1", "index_file", _NOT_NEGATIVE, "return string_hash(key)"),
    Mutant(
        "smallest-hash-becomes-1",
        "IDX-HASH-2",
        "index_file",
        _NOT_NEGATIVE,
        "return positive if positive >= 0 else 1",
    ),
    Mutant(
        "smallest-hash-becomes-the-largest",
        "IDX-HASH-2",
        "index_file",
        _NOT_NEGATIVE,
        "return positive if positive >= 0 else I32_MAX",
    ),
    Mutant(
        "mask-for-modulo", "IDX-HASH-3", "index_file", _SLOT, "(hash_ & (self.hash_slot_num - 1)) * SLOT_SIZE"
    ),
    Mutant(
        "modulo-of-the-negated-hash",
        "IDX-HASH-3",
        "index_file",
        _SLOT,
        "((-hash_) % self.hash_slot_num if self.hash_slot_num else rem(hash_, 0)) * SLOT_SIZE",
    ),
    Mutant(
        "slots-numbered-from-1",
        "IDX-HASH-3",
        "index_file",
        _SLOT,
        "(rem(hash_, self.hash_slot_num) + 1) * SLOT_SIZE",
    ),
    Mutant(
        "slot-in-little-endian",
        "IDX-SLOT-1",
        "index_file",
        "buffer.put_int(slot_position, count)",
        "buffer.put_int(slot_position, int.from_bytes(count.to_bytes(4, 'little'), 'big', signed=True))",
    ),
    Mutant("entries-from-0", "IDX-ENT-1", "index_file", "entry * ENTRY_SIZE", "(entry - 1) * ENTRY_SIZE"),
    Mutant("entries-of-24-bytes", "IDX-ENT-1", "index_file", "entry * ENTRY_SIZE", "entry * 24"),
    Mutant(
        "time-diff-behind-previous-entry",
        "IDX-ENT-1",
        "index_file",
        _PUT_FIELDS,
        _PUT_FIELDS.replace("+ 12, time_diff", "+ 12, previous").replace("+ 16, previous", "+ 16, time_diff"),
        (
            ("time_diff = buffer.get_int(position + 12)", "time_diff = buffer.get_int(position + 16)"),
            ("previous = buffer.get_int(position + 16)", "previous = buffer.get_int(position + 12)"),
        ),
    ),
    Mutant(
        "no-room-for-entry-0",
        "IDX-FILE-1",
        "index_file",
        "index_num * ENTRY_SIZE)",
        "(index_num - 1) * ENTRY_SIZE)",
    ),
    Mutant("longer-file-cut", "IDX-FILE-1", "_mapping", ".st_size < size", ".st_size != size"),
    Mutant(
        "shorter-file-refused",
        "IDX-FILE-1",
        "_mapping",
        _EXTEND,
        """        if 0 < os.fstat(descriptor).st_size < size:
            raise OSError('too short')
        os.ftruncate(descriptor, max(size, os.fstat(descriptor).st_size))
""",
    ),
    Mutant(
        "seed-sets-begin-only",
        "IDX-FILE-2",
        "index_file",
        "            self._header.set_end_timestamp(end_timestamp)\n",
        "",
    ),
    Mutant(
        "count-written-with-the-seeds",
        "IDX-FILE-2",
        "index_file",
        "        if end_timestamp > 0:\n",
        "        if end_phy_offset > 0:\n            self._buffer.put_int(36, 1)\n        if end_timestamp > 0:\n",
    ),
    Mutant(
        "seed-of-0-written", "IDX-FILE-2", "index_file", "if end_timestamp > 0:", "if end_timestamp >= 0:"
    ),
    Mutant(
        "no-seed-with-a-load",
        "IDX-FILE-2",
        "index_file",
        "end_phy_offset=end_phy_offset, end_timestamp=end_timestamp\n",
        "end_phy_offset=end_phy_offset, end_timestamp=0 if load else end_timestamp\n",
    ),
    Mutant(
        "size-over-31-bits-refused",
        "IDX-FILE-3",
        "index_file",
        "return to_i32(HEADER_SIZE + hash_slot_num * SLOT_SIZE + index_num * ENTRY_SIZE)",
        "size = HEADER_SIZE + hash_slot_num * SLOT_SIZE + index_num * ENTRY_SIZE\n"
        "    return size if size <= I32_MAX else -1",
    ),
    Mutant(
        "entry-position-in-64-bits",
        "IDX-FILE-3",
        "index_file",
        "return to_i32(self._entries + entry * ENTRY_SIZE)",
        "return self._entries + entry * ENTRY_SIZE",
    ),
    Mutant("any-file-name", "IDX-FILE-4", "index_file", "    check_file_name(path)\n    with", "    with"),
    Mutant(
        "file-name-without-sign",
        "IDX-FILE-4",
        "_mapping",
        "return parse_long(Path(path).name)",
        "return parse_long(Path(path).name if Path(path).name.isdigit() else '')",
    ),
    Mutant("always-loads", "IDX-FILE-5", "index_file", "        if load:\n", "        if True:\n"),
    Mutant(
        "begin-offset-written-over-end-offset",
        "IDX-HDR-1",
        "index_header",
        "        self._bytes.put_long(16, value)\n",
        "        self._bytes.put_long(24, value)\n",
    ),
    Mutant(
        "timestamps-in-little-endian",
        "IDX-HDR-1",
        "index_header",
        "        self._bytes.put_long(0, value)\n",
        "        self._bytes.put_long("
        "0, int.from_bytes(value.to_bytes(8, 'little', signed=True), 'big', signed=True))\n",
    ),
    Mutant(
        "begin-kept-when-it-is-set",
        "IDX-HDR-2",
        "index_file",
        "if count <= 1:  # IDX-HDR-2",
        "if count <= 1 and header.begin_timestamp == 0:  # IDX-HDR-2",
    ),
    Mutant(
        "begin-is-the-minimum",
        "IDX-HDR-2",
        "index_file",
        "if count <= 1:  # IDX-HDR-2",
        "if count <= 1 or store_timestamp < header.begin_timestamp:  # IDX-HDR-2",
    ),
    Mutant(
        "end-time-is-the-maximum",
        "IDX-HDR-3",
        "index_file",
        "header.set_end_timestamp(store_timestamp)",
        "header.set_end_timestamp(max(store_timestamp, header.end_timestamp))",
    ),
    Mutant(
        "end-offset-is-the-maximum",
        "IDX-HDR-3",
        "index_file",
        "header.set_end_phy_offset(phy_offset)  # IDX-HDR-3",
        "header.set_end_phy_offset(max(phy_offset, header.end_phy_offset))  # IDX-HDR-3",
    ),
    Mutant(
        "slot-count-on-every-put",
        "IDX-HDR-4",
        "index_file",
        "if previous == NO_ENTRY:  # IDX-HDR-4",
        "if True:",
    ),
    Mutant(
        "count-kept-in-memory",
        "IDX-HDR-5",
        "index_header",
        "        self.index_count += 1\n        self._bytes.put_int(36, self.index_count)\n",
        "        self.index_count += 1\n",
    ),
    Mutant(
        "count-of-1-written-at-once",
        "IDX-HDR-5",
        "index_header",
        "        self.index_count = 1  # IDX-HDR-5",
        "        self.index_count = 1\n        buffer.put_int(36, 1)  # IDX-HDR-5",
    ),
    Mutant(
        "slot-count-not-loaded",
        "IDX-LOAD-1",
        "index_header",
        "self.hash_slot_count = self._bytes.get_int(32)",
        "pass",
    ),
    Mutant(
        "end-offset-not-loaded",
        "IDX-LOAD-1",
        "index_header",
        "self.end_phy_offset = self._bytes.get_long(24)",
        "pass",
    ),
    Mutant(
        "loaded-count-of-0-kept",
        "IDX-LOAD-2",
        "index_header",
        "if self.index_count <= 0:",
        "if self.index_count < 0:",
    ),
    Mutant(
        "loaded-negative-count-kept",
        "IDX-LOAD-2",
        "index_header",
        "if self.index_count <= 0:",
        "if self.index_count == 0:",
    ),
    Mutant(
        "loaded-count-of-1-written-back",
        "IDX-LOAD-2",
        "index_header",
        "self.index_count = 1  # IDX-LOAD-2",
        "self.index_count = 1; self._bytes.put_int(36, 1)",
    ),
    Mutant(
        "flush-writes-no-count",
        "IDX-FLUSH-1",
        "index_header",
        "        self._bytes.put_int(36, self.index_count)\n\n    def set_begin_timestamp",
        "\n    def set_begin_timestamp",
    ),
    Mutant("flush-writes-nothing", "IDX-FLUSH-1", "index_file", "self._header.update_bytes()", "pass"),
)
"""Each on its clause, in the order of SPEC.md."""
