"""What the damages are written in: a golden store's bytes, what Java says of them, and patches."""

from __future__ import annotations

import random
import tempfile
from collections import defaultdict
from dataclasses import dataclass
from typing import Any, Final

import rocket_golden

UNIT: Final = 20
"""Bytes of a consume-queue unit."""

Line = dict[str, Any]
Variant = dict[str, Any]


@dataclass(frozen=True)
class Store:
    """A golden store to damage: its files' bytes, what Java says of it, and the choices."""

    files: dict[str, bytes]
    lines: dict[str, list[Line]]
    slots: int
    draw: random.Random

    def pick(self, lines: list[Line]) -> Line:
        """One of the lines; there must be one."""
        return self.draw.choice(lines)

    def of_file(self, kind: str, file: str) -> list[Line]:
        """The lines of a kind about a file."""
        return [line for line in self.lines[kind] if line["file"] == file]

    def slot_at(self, slot: int) -> int:
        """Offset of a slot in an index file."""
        return 40 + 4 * slot

    def entry_at(self, entry: int) -> int:
        """Offset of an entry in an index file."""
        return 40 + 4 * self.slots + 20 * entry

    @property
    def log_end(self) -> int:
        """Offset after the last record."""
        last = self.lines["log_file"][-1]
        return int(last["base_offset"] + last["used"])

    def write(self, file: str, offset: int, after: bytes) -> dict[str, Any]:
        """A patch that writes bytes, with those that it replaces."""
        before = self.files[file][offset : offset + len(after)]
        return {
            "file": file,
            "action": "write",
            "offset": offset,
            "before": before.hex(),
            "after": after.hex(),
        }

    def record_at(self, record: Line) -> int:
        """Offset of a record in its commit-log file."""
        return int(record["phy_offset"]) - int(record["file"].rpartition("/")[2])

    def unit_at(self, unit: Line) -> int:
        """Offset of a unit in its consume-queue file."""
        return int(unit["logical_offset"]) * UNIT - int(unit["file"].rpartition("/")[2])

    def index_file(self) -> Line:
        """The header line of an index file that isn't the last."""
        return self.pick(self.lines["index_header"][:-1])

    def newest(self, file: str) -> dict[int, int]:
        """The newest entry of each used slot of an index file."""
        return {line["slot"]: line["entry"] for line in self.of_file("index_entry", file)}


def variant(file: str, offset: int | None, note: str, *patches: dict[str, Any]) -> Variant:
    """A variant without its store and kind of damage."""
    return {"file": file, "offset": offset, "note": note, "patches": list(patches)}


def load(name: str) -> Store:
    """Reads a golden store and its truth."""
    lines: dict[str, list[Line]] = defaultdict(list)
    for line in rocket_golden.truth(name):
        lines[line["type"]].append(line)
    with tempfile.TemporaryDirectory() as scratch:
        root = rocket_golden.open_store(name, scratch)
        files = {
            path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()
        }
    return Store(files, lines, lines["index_header"][0]["hash_slot_num"], random.Random(0))  # noqa: S311 - choices, not secrets
