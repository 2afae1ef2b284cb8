"""An index file as it is on disk, read without its holes."""

from __future__ import annotations

import os
import sys
from array import array
from dataclasses import dataclass
from itertools import islice
from struct import Struct
from typing import TYPE_CHECKING, Final, NamedTuple

from rocket_reference import IndexHeader, index_header
from rocket_spec.errors import MalformedError
from rocket_spec.layout import INDEX_ENTRY, INDEX_HEADER, INDEX_SLOT, Geometry

from rocket_conformance.store_verdict.sparse import pieces

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

__all__ = ["ENTRY", "Entries", "Entry", "StoredIndex", "read_index"]

ENTRY: Final = Struct(INDEX_ENTRY.struct_format)
_AT_ONCE: Final = 50_000


_LARGEST: Final = (1 << 31) - 1
"""Bytes of a file that a geometry can have without a wrap (IDX-FILE-3)."""


class Entry(NamedTuple):
    """One entry as stored."""

    key_hash: int
    phy_offset: int
    time_diff: int
    prev_entry: int


class Entries:
    """The entries of a file in their order, read when they are asked for; the first is entry 1.

    Args:
        path: of the file.
        begin: where entry 1 begins, bytes.
        count: number of entries.
    """

    def __init__(self, path: Path, begin: int, count: int) -> None:
        self._path = path
        self._begin = begin
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Entry]:
        with self._path.open("rb") as file:
            for first in range(0, self._count, _AT_ONCE):
                wanted = min(_AT_ONCE, self._count - first) * ENTRY.size
                data = os.pread(file.fileno(), wanted, self._begin + first * ENTRY.size)
                yield from (Entry(*values) for values in ENTRY.iter_unpack(data[: len(data) // 20 * 20]))

    def __getitem__(self, number: int) -> Entry:
        """The entry at a place, of which 0 is the first and -1 the last."""
        place = number + self._count if number < 0 else number
        if not 0 <= place < self._count:
            raise IndexError(number)
        with self._path.open("rb") as file:
            return Entry(*ENTRY.unpack(os.pread(file.fileno(), ENTRY.size, self._begin + place * ENTRY.size)))


@dataclass(frozen=True, slots=True)
class StoredIndex:
    """An index file.

    Attributes:
        name: relative to the store.
        size: length, bytes.
        header: as the bytes have it.
        entries: entries 1 to index_count - 1.
        entry_zero: entry 0, which is never written.
        beyond: numbers of entries at or after index_count that are not all zeros, the first few.
        geometry: numbers of slots and entries.
        path: where the file is.
    """

    name: str
    size: int
    header: IndexHeader
    entries: Entries
    entry_zero: Entry
    beyond: list[int]
    geometry: Geometry
    path: Path

    def slot(self, number: int) -> int:
        """The value of a slot."""
        with self.path.open("rb") as file:
            return _slot(file.fileno(), number)

    def slots(self, numbers: Iterable[int]) -> Iterator[int]:
        """The values of slots."""
        with self.path.open("rb") as file:
            for number in numbers:
                yield _slot(file.fileno(), number)

    def slots_in_use(self) -> Iterator[tuple[int, int]]:
        """Numbers and values of the slots that are not 0, in their order."""
        with self.path.open("rb") as file:
            begin = INDEX_HEADER.size
            for offset, data in pieces(file.fileno(), begin, self.geometry.entries_offset):
                skipped = -(offset - begin) % INDEX_SLOT.size
                values = array("i", data[skipped : skipped + (len(data) - skipped) // 4 * 4])
                if sys.byteorder == "little":
                    values.byteswap()
                first = (offset + skipped - begin) // INDEX_SLOT.size
                yield from ((first + number, value) for number, value in enumerate(values) if value)


def _nonzero(descriptor: int, begin: int, end: int) -> Iterator[int]:
    """Numbers of the entries in a range that are not all zeros; the range is whole entries."""
    last = -1
    for offset, data in pieces(descriptor, begin, end):
        first = (offset - begin) // ENTRY.size  # a piece begins where a page does, not where an entry does
        stop = -(-(offset + len(data) - begin) // ENTRY.size)
        whole = os.pread(descriptor, (stop - first) * ENTRY.size, begin + first * ENTRY.size)
        for number, values in enumerate(ENTRY.iter_unpack(whole[: len(whole) // 20 * 20]), first):
            if any(values) and number > last:
                last = number
                yield number


def _slot(descriptor: int, number: int) -> int:
    data = os.pread(descriptor, INDEX_SLOT.size, INDEX_HEADER.size + INDEX_SLOT.size * number)
    return int.from_bytes(data, "big", signed=True)


def read_index(path: Path, name: str, geometry: Geometry) -> StoredIndex:
    """An index file of a known geometry.

    Raises:
        MalformedError: when it is shorter than a header and its slots.
        OSError: when it cannot be read.
    """
    descriptor = os.open(path, os.O_RDONLY)
    try:
        size = os.fstat(descriptor).st_size
        if size < geometry.entries_offset or geometry.file_size > _LARGEST:
            raise MalformedError(
                file=name,
                found=f"{size:,} bytes",
                expected=f"{geometry.file_size:,} bytes for {geometry.hash_slot_num:,} slots and "
                f"{geometry.index_num:,} entries",
                clause="IDX-FILE-1",
            )
        header = index_header(os.pread(descriptor, INDEX_HEADER.size, 0))
        held = min(geometry.index_num, (size - geometry.entries_offset) // ENTRY.size)
        stop = max(1, min(header.index_count, held))
        first = geometry.entries_offset
        end = first + held * ENTRY.size
        numbers = _nonzero(descriptor, first + stop * ENTRY.size, end)
        beyond = [stop + number for number in islice(numbers, 3)]
        zero = os.pread(descriptor, ENTRY.size, first)
        return StoredIndex(
            name,
            size,
            header,
            Entries(path, first + ENTRY.size, stop - 1),
            Entry(*ENTRY.unpack(zero)) if len(zero) == ENTRY.size else Entry(0, 0, 0, 0),
            beyond,
            geometry,
            path,
        )
    finally:
        os.close(descriptor)
