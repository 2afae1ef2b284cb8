"""Units, files, tags codes, gets and puts of consume queues, misread."""

from __future__ import annotations

from typing import Final

from rocket_conformance.misreadings.mutant import Mutant

__all__ = ["QUEUE_UNITS"]

_STORE: Final = "consume_queue_store"
_FILES: Final = "mapped_file_queue"
_PACK: Final = "return _UNIT.pack(unit.phy_offset, unit.size, unit.tags_code)"
_VALID: Final = "return self.phy_offset >= 0 and self.size > 0"
_HASH: Final = "return string_hash(tags) if tags else 0"
_LENGTH: Final = ".st_size != self.mapped_file_size:\n                return False\n"
_LOADED: Final = "mapped_file.wrote_position = self.mapped_file_size"
_MAXIMUM: Final = "div(self.files.max_offset(), UNIT_SIZE)"
_BELOW: Final = "if offset < self.min_logic_offset:"
_REPEATED: Final = "if to_i64(offset + size) <= self.max_physic_offset:  # CQ-PUT-1"
_BEFORE: Final = "if expected < current:"
_FIRST: Final = "create_offset = start_offset - rem(start_offset, self.mapped_file_size)"
_NEXT: Final = "create_offset = to_i64(last.file_from_offset + self.mapped_file_size)"
_EMPTY: Final = "if mapped_file.first_create_in_queue and cq_offset != 0 and mapped_file.wrote_position == 0:"
_END: Final = "self.max_physic_offset = to_i64(offset + size)"
_PLACE: Final = "expected = to_i64(cq_offset * UNIT_SIZE)  # CQ-PUT-8"

QUEUE_UNITS: Final = (
    Mutant(
        "tags-code-of-32-bits",
        "CQ-UNIT-1",
        "consume_queue",
        _PACK,
        _PACK.replace("unit.tags_code", "to_i32(unit.tags_code)"),
    ),
    Mutant(
        "tags-code-before-size",
        "CQ-UNIT-1",
        "consume_queue",
        _PACK,
        "return Struct('>qqi').pack(unit.phy_offset, unit.tags_code, unit.size)",
    ),
    Mutant(
        "pre-blank-of-zeros",
        "CQ-UNIT-2",
        "consume_queue",
        "QueueUnit(0, PRE_BLANK_SIZE, 0)",
        "QueueUnit(0, 0, 0)",
    ),
    Mutant(
        "pre-blank-at-offset-minus-1",
        "CQ-UNIT-2",
        "consume_queue",
        "QueueUnit(0, PRE_BLANK_SIZE, 0)",
        "QueueUnit(-1, PRE_BLANK_SIZE, 0)",
    ),
    Mutant(
        "unit-at-offset-0-not-in-use", "CQ-UNIT-3", "consume_queue", _VALID, _VALID.replace(">= 0", "> 0")
    ),
    Mutant(
        "unit-of-size-0-in-use",
        "CQ-UNIT-3",
        "consume_queue",
        _VALID,
        "return self.phy_offset >= 0 and self.size >= 0",
    ),
    Mutant("negative-offset-in-use", "CQ-UNIT-3", "consume_queue", _VALID, "return self.size > 0"),
    Mutant("file-size-rounded-down", "CQ-FILE-1", "consume_queue", "math.ceil(", "math.floor("),
    Mutant(
        "file-size-not-rounded",
        "CQ-FILE-1",
        "consume_queue",
        "to_i32(math.ceil(configured / 20.0) * _UNIT.size)",
        "configured",
    ),
    Mutant(
        "file-named-by-logical-offset",
        "CQ-FILE-2",
        _FILES,
        "/ file_name(offset)",
        "/ file_name(div(offset, 20))",
    ),
    Mutant(
        "file-name-of-17-digits", "CQ-FILE-2", "consume_queue", 'else f"{offset:020}"', 'else f"{offset:017}"'
    ),
    Mutant("queue-number-before-topic", "CQ-FILE-3", _FILES, "/{topic}/{queue_id}", "/{queue_id}/{topic}"),
    Mutant(
        "units-numbered-from-1",
        "CQ-FILE-4",
        _STORE,
        "        offset = to_i64(cq_offset * UNIT_SIZE)\n",
        "        offset = to_i64((cq_offset - 1) * UNIT_SIZE)\n",
    ),
    Mutant(
        "tags-code-extended-with-zeros",
        "CQ-TAGS-1",
        "consume_queue",
        _HASH,
        "return string_hash(tags) & 0xFFFFFFFF if tags else 0",
    ),
    Mutant(
        "tags-code-never-negative",
        "CQ-TAGS-1",
        "consume_queue",
        _HASH,
        "return abs(string_hash(tags)) if tags else 0",
    ),
    Mutant(
        "first-tag-only",
        "CQ-TAGS-1",
        "consume_queue",
        _HASH,
        "return string_hash(tags.split('|')[0].strip()) if tags else 0",
    ),
    Mutant(
        "tags-trimmed", "CQ-TAGS-1", "consume_queue", _HASH, "return string_hash(tags.strip()) if tags else 0"
    ),
    Mutant(
        "file-of-another-length-passed-over",
        "CQ-LOAD-1",
        _FILES,
        _LENGTH,
        _LENGTH.replace("return False", "continue"),
    ),
    Mutant(
        "file-of-another-length-taken",
        "CQ-LOAD-1",
        _FILES,
        _LENGTH,
        ".st_size < 0:\n                return False\n",
    ),
    Mutant("loaded-file-counts-as-empty", "CQ-LOAD-1", _FILES, _LOADED, "mapped_file.wrote_position = 0"),
    Mutant(
        "queue-file-that-is-no-number-passed-over",
        "CQ-LOAD-2",
        _FILES,
        f"                raise\n            {_LOADED}",
        f"                continue\n            {_LOADED}",
    ),
    Mutant(
        "maximum-of-the-last-file-alone",
        "CQ-BND-1",
        _STORE,
        _MAXIMUM,
        "div(rem(self.files.max_offset(), self.mapped_file_size), UNIT_SIZE)",
    ),
    Mutant("maximum-is-the-last-unit", "CQ-BND-1", _STORE, _MAXIMUM, f"max(0, {_MAXIMUM} - 1)"),
    Mutant(
        "minimum-of-the-first-file",
        "CQ-BND-1",
        _STORE,
        "div(self.min_logic_offset, UNIT_SIZE)",
        "div(max(0, self.files.min_offset()), UNIT_SIZE)",
    ),
    Mutant("unit-below-the-minimum-given", "CQ-GET-1", _STORE, _BELOW, "if False:"),
    Mutant(
        "unit-at-the-minimum-not-given", "CQ-GET-1", _STORE, _BELOW, "if offset <= self.min_logic_offset:"
    ),
    Mutant(
        "unit-behind-the-write-position-given",
        "CQ-GET-1",
        _STORE,
        "data = mapped_file.select(to_i32(rem(offset, self.mapped_file_size)), UNIT_SIZE)",
        "data = bytes(mapped_file.view[rem(offset, self.mapped_file_size) :][:UNIT_SIZE])",
    ),
    Mutant(
        "unit-counted-from-the-file-name",
        "CQ-GET-1",
        _STORE,
        "mapped_file.select(to_i32(rem(offset, self.mapped_file_size)), UNIT_SIZE)",
        "mapped_file.select(to_i32(offset - mapped_file.file_from_offset), UNIT_SIZE)",
    ),
    Mutant("record-ending-at-the-end-appended", "CQ-PUT-1", _STORE, _REPEATED, _REPEATED.replace("<=", "<")),
    Mutant(
        "record-beginning-before-the-end-left-out",
        "CQ-PUT-1",
        _STORE,
        _REPEATED,
        "if offset < self.max_physic_offset:",
    ),
    Mutant(
        "sum-of-offset-and-size-does-not-wrap",
        "CQ-PUT-1",
        _STORE,
        _REPEATED,
        "if offset + size <= self.max_physic_offset:",
    ),
    Mutant("repeated-record-appended", "CQ-PUT-1", _STORE, _REPEATED, "if False:"),
    Mutant("place-before-the-end-appended", "CQ-PUT-2", _STORE, _BEFORE, "if False:"),
    Mutant(
        "place-before-the-end-refused",
        "CQ-PUT-2",
        _STORE,
        f"{_BEFORE}  # CQ-PUT-2; above it the gap is closed: CQ-PUT-3\n                return True",
        f"{_BEFORE}\n                return False",
    ),
    Mutant(
        "gap-refused",
        "CQ-PUT-3",
        _STORE,
        _BEFORE,
        "if expected > current:\n                return False\n            if expected < current:",
    ),
    Mutant(
        "gap-filled",
        "CQ-PUT-3",
        _STORE,
        _BEFORE,
        "for _ in range(min(expected, mapped_file.file_from_offset + self.mapped_file_size - UNIT_SIZE), current, -UNIT_SIZE):\n                mapped_file.append(encode_queue_unit(PRE_BLANK))\n            if expected < current:",
    ),
    Mutant("logical-offset-0-compared", "CQ-PUT-4", _STORE, "if cq_offset != 0:  # CQ-PUT-4", "if True:"),
    Mutant("next-file-where-the-place-lies", "CQ-PUT-5", _FILES, _NEXT, _FIRST),
    Mutant("first-file-at-0", "CQ-PUT-5", _FILES, _FIRST, "create_offset = 0"),
    Mutant("first-file-at-the-place", "CQ-PUT-5", _FILES, _FIRST, "create_offset = start_offset"),
    Mutant("minimum-not-moved", "CQ-PUT-6", _STORE, "self.min_logic_offset = expected  # CQ-PUT-6", "pass"),
    Mutant(
        "places-before-left-as-zeros",
        "CQ-PUT-6",
        _STORE,
        "self._fill_pre_blank(mapped_file, expected)",
        "mapped_file.wrote_position = rem(expected, self.mapped_file_size)",
    ),
    Mutant(
        "one-pre-blank-too-few",
        "CQ-PUT-6",
        _STORE,
        "in range(0, until, UNIT_SIZE):",
        "in range(UNIT_SIZE, until, UNIT_SIZE):",
    ),
    Mutant(
        "pre-blank-in-any-empty-file",
        "CQ-PUT-6",
        _STORE,
        _EMPTY,
        "if cq_offset != 0 and mapped_file.wrote_position == 0:",
    ),
    Mutant("end-without-size", "CQ-PUT-7", _STORE, _END, "self.max_physic_offset = offset"),
    Mutant(
        "end-moved-by-a-put-left-out",
        "CQ-PUT-7",
        _STORE,
        _PLACE,
        f"{_PLACE}\n        self.max_physic_offset = to_i64(offset + size)",
    ),
    Mutant(
        "negative-logical-offset-refused",
        "CQ-PUT-8",
        _STORE,
        _PLACE,
        "if cq_offset < 0:\n            return False\n        expected = to_i64(cq_offset * UNIT_SIZE)",
    ),
    Mutant(
        "negative-place-rounded-down",
        "CQ-PUT-8",
        _FILES,
        _FIRST,
        "create_offset = start_offset - start_offset % self.mapped_file_size",
    ),
)
"""Each on its clause, in the order of SPEC.md."""
