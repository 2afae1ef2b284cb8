"""DLedger's own index of entries and its checkpoint, as far as they decide how a start goes (DLG-6, DLG-11).

Read beside `MmapFileList.load` 283-312 and `checkSelf` 54-72, and `DLedgerMmapFileStore.recover` 155-171 and 291-301.
"""

from __future__ import annotations

import os
import struct
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rocket_spec.errors import MalformedError
from rocket_spec.layout import ENTRY_INDEX_FILE_SIZE, ENTRY_INDEX_UNIT, ENTRY_MAGIC

from rocket_columnar.formats import parse_long
from rocket_columnar.store import open_reader, shown_name

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["EntryIndex", "unfit_checkpoint"]

_UNIT: Final = struct.Struct(ENTRY_INDEX_UNIT.struct_format)
_COMMITTED: Final = "committedIndex"
_LONGEST: Final = 1 << 20
"""Bytes of a checkpoint of DLedger, which writes two lines."""


class EntryIndex:
    """The files of a member's index of entries.

    Attributes:
        unfit: why DLedger would not start on them, or None.
    """

    def __init__(self, member: Path) -> None:
        self._files: dict[int, Path] = {}
        folder = member / "index"
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name) if folder.is_dir() else []
        self.unfit = self._listed(entries, f"{member.name}/index")

    def _listed(self, entries: Sequence[os.DirEntry[str]], folder: str) -> str | None:
        for entry in entries:
            size, start = entry.stat().st_size, parse_long(entry.name)
            name = f"{folder}/{shown_name(entry.name)}"
            if size != ENTRY_INDEX_FILE_SIZE:
                found = "a directory" if entry.is_dir() else f"{size:,} bytes"
                return f"{name}: found {found}, expected {ENTRY_INDEX_FILE_SIZE:,} bytes: DLedger ends its process"
            if start is None:
                return f"{name}: a file whose name is not a number: the store does not load"
            self._files[start] = Path(entry.path)
        for before, start in pairwise(self._files):
            if start - before != ENTRY_INDEX_FILE_SIZE:
                return f"{folder}/{start:020}: does not follow on {before:020}: DLedger accepts no gap between its files"
        return None

    def fits(self, number: int, *, term: int, pos: int, size: int) -> bool:
        """Whether the unit of an entry holds what its header does."""
        at = number * _UNIT.size
        path = self._files.get(at - at % ENTRY_INDEX_FILE_SIZE)
        if path is None:
            return False
        with open_reader(path) as reader:
            unit = _UNIT.unpack(reader.read(at % ENTRY_INDEX_FILE_SIZE, _UNIT.size).tobytes())
        return unit == (ENTRY_MAGIC, pos, size, number, term)


def unfit_checkpoint(member: Path) -> str | None:
    """Why the store would not load with this checkpoint of DLedger, or None.

    Raises:
        MalformedError: it is longer than 1 MiB.
        OSError: it cannot be read.
    """
    try:
        with open_reader(member / "checkpoint") as reader:
            if reader.size > _LONGEST:
                raise MalformedError(
                    file=reader.name,
                    found=f"{reader.size:,} bytes",
                    expected=f"at most {_LONGEST:,}",
                    clause="DLG-11",
                )
            text = reader.read(0, reader.size).tobytes().decode("latin-1")
    except FileNotFoundError:
        return None
    values = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
    committed = values.get(_COMMITTED, "").strip()
    if not committed or parse_long(committed) is not None:
        return None
    return f"{member.name}/checkpoint: found {_COMMITTED}={committed[:80]!r}, expected a number: the store does not load"
