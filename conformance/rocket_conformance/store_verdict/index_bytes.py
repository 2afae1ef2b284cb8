"""An index file as it is on disk, read without its holes, and its geometry where nothing gives it."""

from __future__ import annotations

import os
import sys
from array import array
from collections import Counter
from dataclasses import dataclass
from itertools import islice
from struct import Struct
from typing import TYPE_CHECKING, Final, NamedTuple

from rocket_reference import IndexHeader, index_header
from rocket_spec.errors import MalformedError, UsageError
from rocket_spec.layout import DEFAULT_GEOMETRY, INDEX_ENTRY, INDEX_HEADER, INDEX_SLOT, Geometry

from rocket_conformance.store_verdict.sparse import pieces

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from rocket_conformance.store_verdict.stored_log import StoredLog

__all__ = ["Entries", "Entry", "StoredIndex", "agreement_with", "geometry_of", "read_index"]

_ENTRY: Final = Struct(INDEX_ENTRY.struct_format)
_AT_ONCE: Final = 50_000
_FIRST: Final = 100_000
_SAMPLED: Final = 8
_SURE: Final = 4


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
                wanted = min(_AT_ONCE, self._count - first) * _ENTRY.size
                data = os.pread(file.fileno(), wanted, self._begin + first * _ENTRY.size)
                yield from (Entry(*values) for values in _ENTRY.iter_unpack(data[: len(data) // 20 * 20]))

    def __getitem__(self, number: int) -> Entry:
        """The entry at a place, of which 0 is the first and -1 the last."""
        place = number + self._count if number < 0 else number
        if not 0 <= place < self._count:
            raise IndexError(number)
        with self._path.open("rb") as file:
            return Entry(
                *_ENTRY.unpack(os.pread(file.fileno(), _ENTRY.size, self._begin + place * _ENTRY.size))
            )


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
        first = (offset - begin) // _ENTRY.size  # a piece begins where a page does, not where an entry does
        stop = -(-(offset + len(data) - begin) // _ENTRY.size)
        whole = os.pread(descriptor, (stop - first) * _ENTRY.size, begin + first * _ENTRY.size)
        for number, values in enumerate(_ENTRY.iter_unpack(whole[: len(whole) // 20 * 20]), first):
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
        if size < geometry.entries_offset:
            raise MalformedError(
                file=name,
                found=f"{size:,} bytes",
                expected=f"{geometry.file_size:,} bytes for {geometry.hash_slot_num:,} slots and "
                f"{geometry.index_num:,} entries",
                clause="IDX-FILE-1",
            )
        header = index_header(os.pread(descriptor, INDEX_HEADER.size, 0))
        held = min(geometry.index_num, (size - geometry.entries_offset) // _ENTRY.size)
        stop = max(1, min(header.index_count, held))
        first = geometry.entries_offset
        end = first + held * _ENTRY.size
        numbers = _nonzero(descriptor, first + stop * _ENTRY.size, end)
        beyond = [stop + number for number in islice(numbers, 3)]
        zero = os.pread(descriptor, _ENTRY.size, first)
        return StoredIndex(
            name,
            size,
            header,
            Entries(path, first + _ENTRY.size, stop - 1),
            Entry(*_ENTRY.unpack(zero)) if len(zero) == _ENTRY.size else Entry(0, 0, 0, 0),
            beyond,
            geometry,
            path,
        )
    finally:
        os.close(descriptor)


def agreement_with(log: StoredLog) -> Callable[[Entry], int]:
    """How much an entry agrees with a log: whether it points to a record, and whether its hash is one of its first keys."""
    hashes = {value for stored in islice(log.records, _FIRST) for value in stored.hashes}
    return lambda entry: (log.at(entry.phy_offset) is not None) + (entry.key_hash in hashes)


def geometry_of(paths: Sequence[Path], agreement: Callable[[Entry], int]) -> Geometry:
    """The geometry that the content of most files agrees with.

    For every geometry that a file's length allows, the agreements are counted: sampled entries of a record and of a key,
    an entry 0 of zeros, a header that names the first and the last entry, a chain that begins with the last entry.

    Args:
        paths: the index files of a store.
        agreement: of an entry with the log, 0 or more.

    Raises:
        UsageError: when no geometry agrees, or several do equally.
    """
    votes: Counter[Geometry] = Counter()
    for path in paths:
        votes.update(_agreements(path, agreement))
    best = max(votes.values(), default=0)
    fitting = [geometry for geometry, count in votes.items() if count == best]
    if best and len(fitting) == 1:
        return fitting[0]
    if not best and {path.stat().st_size for path in paths} == {DEFAULT_GEOMETRY.file_size}:
        return DEFAULT_GEOMETRY
    several = f"{len(fitting)} fit equally" if fitting else "there are no entries to infer it from"
    raise UsageError(
        f"{paths[0].parent}: the geometry cannot be inferred from the files ({several}); give --geometry SLOTS,ENTRIES"
    )


def _agreements(path: Path, agreement: Callable[[Entry], int]) -> Counter[Geometry]:
    """For each geometry that fits the length of one file, how much of its content agrees; only the best ones."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        size = os.fstat(descriptor).st_size
        data = os.pread(descriptor, INDEX_HEADER.size, 0)
        if len(data) < INDEX_HEADER.size:
            return Counter()
        header = index_header(data)
        if header.index_count < 2:
            return Counter()
        if (
            size == DEFAULT_GEOMETRY.file_size
            and _score(descriptor, header, DEFAULT_GEOMETRY, agreement) > _SURE
        ):
            return Counter({DEFAULT_GEOMETRY: _SURE})
        words = (size - INDEX_HEADER.size) // INDEX_SLOT.size
        scores = Counter[Geometry]()
        for hash_slot_num in range(words % 5 or 5, words - 5, 5):
            geometry = Geometry(hash_slot_num, (words - hash_slot_num) // 5)
            score = _score(descriptor, header, geometry, agreement)
            if score:
                scores[geometry] = score
        best = max(scores.values(), default=0)
        return Counter({geometry: score for geometry, score in scores.items() if score == best})
    finally:
        os.close(descriptor)


def _score(
    descriptor: int, header: IndexHeader, geometry: Geometry, agreement: Callable[[Entry], int]
) -> int:
    first = geometry.entries_offset
    head = os.pread(descriptor, (1 + _SAMPLED) * _ENTRY.size, first)
    entries = [
        Entry(*values) for values in _ENTRY.iter_unpack(head[: len(head) // _ENTRY.size * _ENTRY.size])
    ]
    if len(entries) < 2 or any(entries[0]) or not any(entries[1]):
        return 0
    score = sum(agreement(entry) for entry in entries[1:] if entry.key_hash >= 0 and any(entry))
    score += entries[1].phy_offset == header.begin_phy_offset
    last = min(header.index_count, geometry.index_num) - 1
    data = os.pread(descriptor, _ENTRY.size, first + last * _ENTRY.size)
    if len(data) == _ENTRY.size:
        entry = Entry(*_ENTRY.unpack(data))
        score += entry.phy_offset == header.end_phy_offset
        slot = INDEX_HEADER.size + INDEX_SLOT.size * (max(entry.key_hash, 0) % geometry.hash_slot_num)
        score += int.from_bytes(os.pread(descriptor, INDEX_SLOT.size, slot), "big", signed=True) == last
    return score
