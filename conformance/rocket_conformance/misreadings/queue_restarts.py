"""Recovery, truncation, minimum, expiry and last offset of consume queues, misread."""

from __future__ import annotations

from typing import Final

from rocket_conformance.misreadings.mutant import Mutant

__all__ = ["QUEUE_RESTARTS"]

_STORE: Final = "consume_queue_store"
_FILES: Final = "mapped_file_queue"
_START: Final = "for mapped_file in files[max(0, len(files) - 3) :]:"
_RECOVERED_END: Final = """                valid += UNIT_SIZE
                self.max_physic_offset = to_i64(unit.phy_offset + unit.size)
"""
_IN_USE: Final = "                if not unit.valid:\n                    break\n                valid"
_ON: Final = "            if valid != self.mapped_file_size:\n                break\n"
_CUT: Final = "self.files.truncate_dirty_files(process_offset)"
_DELETED: Final = "if number == 0 and unit.phy_offset >= phy_offset:"
_STOPS: Final = "if number > 0 and (not unit.valid or unit.phy_offset >= phy_offset):"
_KEPT_END: Final = """UNIT_SIZE
                self.max_physic_offset = to_i64(unit.phy_offset + unit.size)
                address = unit.tags_code if is_ext_address(unit.tags_code) else address
                if number"""
_GIVEN: Final = "        self.max_physic_offset = phy_offset\n"
_RETURNS: Final = "                    return  # and the ext units stay (CQ-EXT-7)\n"
_FOUND: Final = "if unit.phy_offset >= phy_min_offset:"
_MOVED: Final = (
    "                        self.min_logic_offset = to_i64(mapped_file.file_from_offset + position)\n"
)
_LAST_UNIT: Final = "data = mapped_file.select(to_i32(self.mapped_file_size - unit_size), unit_size)"
_OFFSET: Final = 'elif int.from_bytes(data[:8], "big", signed=True) >= offset:'
_FROM: Final = "max(0, mapped_file.wrote_position - UNIT_SIZE))"
_LAST_END: Final = "found = to_i64(unit.phy_offset + unit.size)"

QUEUE_RESTARTS: Final = (
    Mutant("recovery-from-the-first-file", "CQ-REC-1", _STORE, _START, "for mapped_file in files:"),
    Mutant("recovery-from-the-second-last-file", "CQ-REC-1", _STORE, _START, _START.replace("- 3", "- 2")),
    Mutant(
        "recovered-end-without-size",
        "CQ-REC-2",
        _STORE,
        _RECOVERED_END,
        _RECOVERED_END.replace(" + unit.size", ""),
    ),
    Mutant(
        "recovered-end-is-the-greatest",
        "CQ-REC-2",
        _STORE,
        _RECOVERED_END,
        _RECOVERED_END.replace("to_i64(", "max(self.max_physic_offset, "),
    ),
    Mutant(
        "pre-blank-ends-the-recovery",
        "CQ-REC-2",
        _STORE,
        _IN_USE,
        _IN_USE.replace("not unit.valid", "not unit.valid or unit.pre_blank"),
    ),
    Mutant("one-file-recovered", "CQ-REC-2", _STORE, _ON, "            break\n"),
    Mutant(
        "torn-unit-kept",
        "CQ-REC-3",
        _STORE,
        "to_i64(mapped_file.file_from_offset + valid)",
        "to_i64(mapped_file.file_from_offset + min(valid + UNIT_SIZE, self.mapped_file_size))",
    ),
    Mutant(
        "files-behind-the-end-kept",
        "CQ-REC-3",
        _STORE,
        _CUT,
        "files[-1].wrote_position = rem(process_offset, self.mapped_file_size)",
    ),
    Mutant(
        "empty-last-file-deleted",
        "CQ-REC-3",
        _STORE,
        _CUT,
        f"{_CUT}\n        if len(self.files.mapped_files) > 1 and self.files.mapped_files[-1].wrote_position == 0:\n"
        "            self.files.delete_last()",
    ),
    Mutant(
        "position-counted-from-the-file-name",
        "CQ-REC-3",
        _FILES,
        "to_i32(rem(offset, size))",
        "to_i32(offset - mapped_file.file_from_offset)",
    ),
    Mutant(
        "recovery-clears-the-rest",
        "CQ-REC-3",
        _STORE,
        _CUT,
        f"{_CUT}\n        last = self.files.mapped_files[-1]\n"
        "        last.view[last.wrote_position :] = bytes(self.mapped_file_size - last.wrote_position)",
    ),
    Mutant(
        "full-last-file-recovered",
        "CQ-REC-4",
        _STORE,
        _CUT,
        f"{_CUT}\n        if valid == self.mapped_file_size:\n            files[-1].wrote_position = valid",
    ),
    Mutant("first-unit-at-the-offset-kept", "CQ-TRUNC-1", _STORE, _DELETED, _DELETED.replace(">=", ">")),
    Mutant(
        "file-emptied-and-kept",
        "CQ-TRUNC-1",
        _STORE,
        "                    self.files.delete_last()\n                    break\n",
        "                    if len(self.files.mapped_files) == 1:\n                        return\n"
        "                    self.files.delete_last()\n                    break\n",
    ),
    Mutant(
        "unit-at-the-offset-kept",
        "CQ-TRUNC-2",
        _STORE,
        _STOPS,
        _STOPS.replace(">= phy_offset", "> phy_offset"),
    ),
    Mutant(
        "record-across-the-offset-removed",
        "CQ-TRUNC-2",
        _STORE,
        _STOPS,
        _STOPS.replace("unit.phy_offset >= ", "unit.phy_offset + unit.size > "),
    ),
    Mutant(
        "unit-not-in-use-kept",
        "CQ-TRUNC-2",
        _STORE,
        _STOPS,
        "if number > 0 and unit.phy_offset >= phy_offset:",
    ),
    Mutant(
        "one-unit-too-few-kept",
        "CQ-TRUNC-2",
        _STORE,
        _RETURNS,
        f"                    mapped_file.wrote_position -= UNIT_SIZE\n{_RETURNS}",
    ),
    Mutant(
        "end-stays-at-the-offset",
        "CQ-TRUNC-2",
        _STORE,
        _KEPT_END,
        _KEPT_END.replace("self.max_physic_offset = to_i64(unit.phy_offset + unit.size)", "pass"),
    ),
    Mutant(
        "truncation-resets-the-minimum",
        "CQ-TRUNC-2",
        _STORE,
        _GIVEN,
        f"{_GIVEN}        self.min_logic_offset = 0\n",
    ),
    Mutant(
        "first-unit-checked-for-use",
        "CQ-TRUNC-3",
        _STORE,
        _DELETED,
        "if number == 0 and (not unit.valid or unit.phy_offset >= phy_offset):",
    ),
    Mutant(
        "end-before-the-offset",
        "CQ-TRUNC-4",
        _STORE,
        _GIVEN,
        "        self.max_physic_offset = phy_offset - 1\n",
    ),
    Mutant(
        "empty-queue-keeps-its-end",
        "CQ-TRUNC-4",
        _STORE,
        _GIVEN,
        "        self.max_physic_offset = phy_offset if self.files.mapped_files else self.max_physic_offset\n",
    ),
    Mutant(
        "pre-blank-does-not-move-the-end",
        "CQ-TRUNC-5",
        _STORE,
        _KEPT_END,
        _KEPT_END.replace(
            "to_i64(unit.phy_offset + unit.size)",
            "self.max_physic_offset if unit.pre_blank else to_i64(unit.phy_offset + unit.size)",
        ),
    ),
    Mutant(
        "truncation-clears-the-rest",
        "CQ-TRUNC-7",
        _STORE,
        _RETURNS,
        "                    rest = self.mapped_file_size - mapped_file.wrote_position\n"
        f"                    mapped_file.view[mapped_file.wrote_position :] = bytes(rest)\n{_RETURNS}",
    ),
    Mutant("minimum-behind-the-offset", "CQ-MIN-1", _STORE, _FOUND, _FOUND.replace(">=", ">")),
    Mutant(
        "minimum-never-goes-back",
        "CQ-MIN-1",
        _STORE,
        _MOVED,
        _MOVED.replace("to_i64(", "max(self.min_logic_offset, "),
    ),
    Mutant(
        "minimum-moves-to-the-end",
        "CQ-MIN-1",
        _STORE,
        "            cursor = Cursor(data)\n            try:\n",
        "            cursor = Cursor(data)\n"
        "            if all(next_unit(Cursor(data, at)).phy_offset < phy_min_offset for at in range(0, len(data), UNIT_SIZE)):\n"
        "                self.min_logic_offset = mapped_file.file_from_offset + len(data)\n"
        "            try:\n",
    ),
    Mutant(
        "minimum-within-the-file",
        "CQ-MIN-1",
        _STORE,
        _MOVED,
        _MOVED.replace("mapped_file.file_from_offset + ", ""),
    ),
    Mutant(
        "pre-blank-is-no-minimum",
        "CQ-MIN-2",
        _STORE,
        _FOUND,
        "if unit.phy_offset >= phy_min_offset and not unit.pre_blank:",
    ),
    Mutant(
        "file-whose-last-unit-is-at-the-offset-deleted",
        "CQ-DEL-1",
        _FILES,
        _OFFSET,
        _OFFSET.replace(">=", ">"),
    ),
    Mutant(
        "first-unit-decides-expiry", "CQ-DEL-1", _FILES, _LAST_UNIT, "data = mapped_file.select(0, unit_size)"
    ),
    Mutant(
        "last-queue-file-deleted-too",
        "CQ-DEL-1",
        _FILES,
        "for mapped_file in self.mapped_files[:-1]:",
        "for mapped_file in self.mapped_files:",
    ),
    Mutant("expiry-leaves-the-minimum", "CQ-DEL-1", _STORE, "        self.correct_min(phy_offset)\n", ""),
    Mutant("last-offset-without-size", "CQ-LAST-1", _STORE, _LAST_END, "found = unit.phy_offset"),
    Mutant("last-offset-from-the-write-position", "CQ-LAST-1", _STORE, _FROM, "mapped_file.wrote_position)"),
    Mutant(
        "last-offset-ends-at-the-write-position",
        "CQ-LAST-2",
        _STORE,
        _FROM,
        f"{_FROM[:-1]}, mapped_file.wrote_position)",
        (
            (
                "            unit = next_unit(cursor)\n            if not unit.valid",
                "            if cursor.position >= cursor.limit:\n                break\n            unit = next_unit(cursor)\n            if not unit.valid",
            ),
        ),
    ),
)
"""Each on its clause, in the order of SPEC.md."""
