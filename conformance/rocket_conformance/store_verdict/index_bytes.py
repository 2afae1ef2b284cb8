"""An index file as it is on disk, read without its holes, and the geometry that its content shows."""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from struct import Struct
from typing import Final, NamedTuple

from rocket_reference import IndexHeader, index_header
from rocket_spec.errors import MalformedError, UsageError
from rocket_spec.layout import DEFAULT_GEOMETRY, INDEX_ENTRY, INDEX_HEADER, INDEX_SLOT, Geometry

from rocket_conformance.store_verdict.sparse import parts_on_disk
from rocket_conformance.store_verdict.stored_log import StoredLog

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


@dataclass(frozen=True, slots=True)
class Entries:
    """The entries of a file in their order, read when they are asked for; the first is entry 1.

    Attributes:
        path: of the file.
        begin: where entry 1 begins, bytes.
        count: number of entries.
    """

    path: Path
    begin: int
    count: int

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[Entry]:
        with self.path.open("rb") as file:
            for first in range(0, self.count, _AT_ONCE):
                wanted = min(_AT_ONCE, self.count - first) * ENTRY.size
                data = os.pread(file.fileno(), wanted, self.begin + first * ENTRY.size)
                yield from (Entry(*values) for values in ENTRY.iter_unpack(data[: len(data) // 20 * 20]))

    def __getitem__(self, number: int) -> Entry:
        """The entry at a place, of which 0 is the first and -1 the last."""
        place = number + self.count if number < 0 else number
        if not 0 <= place < self.count:
            raise IndexError(number)
        with self.path.open("rb") as file:
            data = os.pread(file.fileno(), ENTRY.size, self.begin + place * ENTRY.size)
        return Entry(*ENTRY.unpack(data.ljust(ENTRY.size, b"\0")))  # zeros of a file that is cut meanwhile


@dataclass(frozen=True, slots=True)
class StoredIndex:
    """An index file.

    Attributes:
        name: relative to the store.
        size: length, bytes.
        header: as the bytes have it.
        entries: entries 1 to index_count - 1.
        geometry: numbers of slots and entries.
        path: where the file is.
    """

    name: str
    size: int
    header: IndexHeader
    entries: Entries
    geometry: Geometry
    path: Path


def read_index(path: Path, name: str, geometry: Geometry) -> StoredIndex:
    """An index file of a known geometry.

    Raises:
        MalformedError: when it is shorter than a header and its slots.
        OSError: when it cannot be read.
    """
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size < geometry.entries_offset or geometry.file_size > _LARGEST:
            raise MalformedError(
                file=name,
                found=f"{size:,} bytes",
                expected=f"{geometry.file_size:,} bytes for {geometry.hash_slot_num:,} slots and "
                f"{geometry.index_num:,} entries",
                clause="IDX-FILE-1",
            )
        header = index_header(file.read(INDEX_HEADER.size))
    held = min(geometry.index_num, (size - geometry.entries_offset) // ENTRY.size)
    count = max(1, min(header.index_count, held)) - 1
    entries = Entries(path, geometry.entries_offset + ENTRY.size, count)
    return StoredIndex(name, size, header, entries, geometry, path)


_FIRST: Final = 100_000
"""Records of the log whose keys are known when the sampled entries are looked at."""

_SAMPLED: Final = 8
_SURE: Final = 4
_FILES: Final = 4

_SMALL: Final = 5_000
"""Words of a file for which every geometry of its length is tried."""


def geometry_of(paths: Sequence[Path], log: StoredLog) -> Geometry:
    """The geometry that the content of most files agrees with.

    It follows from where the last entry is, which its last bytes show; in a small file every geometry is tried. For each the
    agreements are counted: sampled entries of a record and of a key, an entry 0 of zeros, a header that names the first and the
    last entry, a chain that begins with the last entry.

    Args:
        paths: the index files of a store.
        log: what was stored.

    Raises:
        UsageError: when no geometry agrees, or several do equally.
    """
    hashes = {value for stored in islice(log.records, _FIRST) for value in stored.hashes}
    votes: Counter[Geometry] = Counter()
    for path in dict.fromkeys([*paths[:_FILES], *paths[-_FILES:]]):
        with path.open("rb") as file:
            votes.update(_Candidates(file.fileno(), path.stat().st_size, log, hashes).best())
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


@dataclass(frozen=True, slots=True)
class _Candidates:
    """The geometries that one file may have.

    Attributes:
        descriptor: of the file.
        size: its length, bytes.
        log: what was stored.
        hashes: of keys in it.
    """

    descriptor: int
    size: int
    log: StoredLog
    hashes: set[int]

    def best(self) -> Counter[Geometry]:
        """Those that most of the content agrees with."""
        data = os.pread(self.descriptor, INDEX_HEADER.size, 0)
        header = index_header(data) if len(data) == INDEX_HEADER.size else None
        if header is None or header.index_count < 2:
            return Counter()
        if self.size == DEFAULT_GEOMETRY.file_size and self._score(header, DEFAULT_GEOMETRY) > _SURE:
            return Counter({DEFAULT_GEOMETRY: _SURE})
        words = (self.size - INDEX_HEADER.size) // INDEX_SLOT.size
        slots = range(words % 5 or 5, words - 5, 5)
        found = (
            slots if words <= _SMALL else {number for number in self._slot_numbers(header) if number in slots}
        )
        geometries = (Geometry(number, (words - number) // 5) for number in found)
        scores = {geometry: score for geometry in geometries if (score := self._score(header, geometry))}
        best = max(scores.values(), default=0)
        return Counter({geometry: score for geometry, score in scores.items() if score == best})

    def _slot_numbers(self, header: IndexHeader) -> Iterator[int]:
        """Numbers of slots that put the last entry where the file's last bytes are, give or take an entry."""
        end = 0
        for offset, data in parts_on_disk(self.descriptor, INDEX_HEADER.size, self.size):
            end = offset + written if (written := len(data.rstrip(b"\0"))) else end
        entries = (self.size - end) // ENTRY.size + header.index_count
        for number in (entries - 1, entries, entries + 1):
            yield (self.size - INDEX_HEADER.size - ENTRY.size * number) // INDEX_SLOT.size

    def _score(self, header: IndexHeader, geometry: Geometry) -> int:
        first = geometry.entries_offset
        head = os.pread(self.descriptor, (1 + _SAMPLED) * ENTRY.size, first)
        entries = [
            Entry(*values) for values in ENTRY.iter_unpack(head[: len(head) // ENTRY.size * ENTRY.size])
        ]
        if len(entries) < 2 or not any(entries[1]):
            return 0
        score = 2 if not any(entries[0]) or self._agrees(entries[0]) == 2 else -4
        score += sum(self._agrees(entry) for entry in entries[1:] if entry.key_hash >= 0 and any(entry))
        score += entries[1].phy_offset == header.begin_phy_offset
        last = min(header.index_count, geometry.index_num) - 1
        data = os.pread(self.descriptor, ENTRY.size, first + last * ENTRY.size)
        if len(data) == ENTRY.size:
            entry = Entry(*ENTRY.unpack(data))
            score += entry.phy_offset == header.end_phy_offset
            slot = INDEX_HEADER.size + INDEX_SLOT.size * (max(entry.key_hash, 0) % geometry.hash_slot_num)
            score += int.from_bytes(os.pread(self.descriptor, INDEX_SLOT.size, slot), signed=True) == last
        return score

    def _agrees(self, entry: Entry) -> int:
        """Whether an entry points to a record, and whether its hash is that of a key."""
        return (self.log.at(entry.phy_offset) is not None) + (entry.key_hash in self.hashes)
