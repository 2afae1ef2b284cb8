"""An index file as it is on disk, read without its holes, and the geometry that its content shows."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from struct import Struct
from typing import Any, Final, NamedTuple

from rocket_reference import IndexHeader, index_header
from rocket_spec.errors import MalformedError
from rocket_spec.layout import DEFAULT_GEOMETRY, INDEX_ENTRY, INDEX_HEADER, Geometry

from rocket_conformance.store_verdict.stored_log import numbered_files

ENTRY: Final = Struct(INDEX_ENTRY.struct_format)
_ENTRIES_AT_ONCE: Final = 50_000

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
            for first in range(0, self.count, _ENTRIES_AT_ONCE):
                wanted = min(_ENTRIES_AT_ONCE, self.count - first) * ENTRY.size
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


def known_geometry(facts: Any) -> Geometry:
    """The geometry of index files, if there are any, or the reason why it is not known."""
    if facts.geometry is None and facts.geometry_fault is not None:
        raise facts.geometry_fault
    return Geometry(*(facts.geometry or DEFAULT_GEOMETRY))


def read_indexes(facts: Any, store: Path) -> list[StoredIndex]:
    """The files of `index/`, in the order of their names.

    Raises:
        UsageError: their geometry cannot be inferred.
        MalformedError: a file is shorter than its slots.
        OSError: a file cannot be read.
    """
    paths = [path for _, path in numbered_files(store / "index")]
    geometry = known_geometry(facts) if paths else DEFAULT_GEOMETRY
    return [read_index(path, f"index/{path.name}", geometry) for path in paths]
