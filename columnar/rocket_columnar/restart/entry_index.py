"""DLedger's own index of entries and its checkpoint, as far as they decide how a start goes (DLG-6, DLG-11).

Read beside `MmapFileList.load` 283-312 and `checkSelf` 54-72, and `DLedgerMmapFileStore.recover` 155-171 and 291-301.
"""

import os
import re
import struct
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final

from rocket_spec.errors import MalformedError
from rocket_spec.layout import ENTRY_INDEX_FILE_SIZE, ENTRY_INDEX_UNIT, ENTRY_MAGIC

from rocket_columnar.formats import parse_long
from rocket_columnar.store import open_reader, shown_name

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
        self._member = member
        self._files: dict[int, Path] = {}
        folder = member / "index"
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name) if folder.is_dir() else []
        self.unfit = self._listed(entries, f"{member.name}/index")

    def _listed(self, entries: Sequence[os.DirEntry[str]], folder: str) -> str | None:
        places: list[tuple[int, str]] = []
        for entry in entries:
            size, start = entry.stat().st_size, parse_long(entry.name)
            name = f"{folder}/{shown_name(entry.name)}"
            if size != ENTRY_INDEX_FILE_SIZE:
                found = "a directory" if entry.is_dir() else f"{size:,} bytes"
                return f"{name}: found {found}, expected {ENTRY_INDEX_FILE_SIZE:,} bytes: DLedger ends its process"
            if start is None:
                return f"{name}: a file whose name is not a number: the store does not load"
            self._files[start] = Path(entry.path)
            places.append((start, name))
        for (before, earlier), (start, name) in pairwise(places):
            if start - before != ENTRY_INDEX_FILE_SIZE:
                return f"{name}: does not follow on {earlier}: DLedger accepts no gap between its files"
        return None

    def fits(self, number: int, *, term: int, pos: int, size: int) -> bool:
        """Whether the unit of an entry holds what its header does."""
        path = self._files.get(_file_of(number))
        if path is None:
            return False
        with open_reader(path) as reader:
            unit = _UNIT.unpack(
                reader.read(number * _UNIT.size % ENTRY_INDEX_FILE_SIZE, _UNIT.size).tobytes()
            )
        return unit == (ENTRY_MAGIC, pos, size, number, term)

    def committed_unfit(self, first: int, begin: int, end: int) -> str | None:
        """Why the store would not load with the committed index of DLedger's checkpoint, or None (DLG-19).

        Args:
            first: number of the first entry of the walk.
            begin: number that the first entry of the log claims.
            end: number of the last entry.

        Raises:
            MalformedError: the checkpoint is longer than 1 MiB.
            OSError: it cannot be read.
        """
        text = _committed_text(self._member)
        committed = parse_long(text)
        found = f"{self._member.name}/checkpoint: found {_COMMITTED}={text[:80]!r}"
        if committed is None:
            return f"{found}, expected a number: the store does not load" if text else None
        if end == -1 or committed < max(begin, 1):  # entry 0 is found in any file
            return None
        unit_file, walked = (_file_of(number) for number in (min(committed, end), first))
        kept = walked in self._files or (
            first * _UNIT.size == walked and walked - ENTRY_INDEX_FILE_SIZE in self._files
        )
        found_again = unit_file >= walked or (kept and unit_file in self._files)
        if found_again and end >= begin:
            return None
        return f"{found}, whose unit a start does not find in the index of entries: the store does not load"


def has_place(number: int) -> bool:
    """Whether a start makes a file of the index for an entry's unit, whose place is a Java long (DLG-17)."""
    place = (number * _UNIT.size + (1 << 63)) % (1 << 64) - (1 << 63)
    if place < 0:
        return place % ENTRY_INDEX_FILE_SIZE == 0  # a file with a negative name is made for it
    return place < (1 << 63) - 1 - ENTRY_INDEX_FILE_SIZE + place % ENTRY_INDEX_FILE_SIZE


def _file_of(number: int) -> int:
    """Start of the file that has the unit of an entry."""
    return number * _UNIT.size // ENTRY_INDEX_FILE_SIZE * ENTRY_INDEX_FILE_SIZE


def _committed_text(member: Path) -> str:
    """The committed index in DLedger's checkpoint; empty if there is none."""
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
        return ""
    found = re.findall(rf"^[ \t\f]*{_COMMITTED}[ \t\f]*[=:](.*)$", text, re.MULTILINE)
    return found[-1].strip() if found else ""
