"""An index file read for an audit: header, slots and entries as they lie, whatever the header says."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from rocket_spec.layout import INDEX_ENTRY, INDEX_HEADER, INDEX_SLOT, Geometry

from rocket_columnar.index_file import IndexHeader

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from rocket_columnar._read import Reader
    from rocket_columnar.store import StoreFile

__all__ = [
    "ENTRY",
    "EntryWindows",
    "IndexContent",
    "IndexState",
    "entry_position",
    "read_headers",
    "read_index",
    "slot_position",
]

_HEADER: Final = struct.Struct(INDEX_HEADER.struct_format)
ENTRY: Final = np.dtype(
    [("key_hash", ">i4"), ("phy_offset", ">i8"), ("time_diff", ">i4"), ("prev_entry", ">i4")]
)
_AT_ONCE: Final = 1 << 16  # a multiple of a block


@dataclass(frozen=True, slots=True)
class IndexState:
    """How far a file is filled.

    Attributes:
        header: as it lies in the file; its count that of the last look.
        first_count: the count at the first look: a broker that is writing has raised it since.
        written: one more than the number of the last entry that is not all zeros.
    """

    header: IndexHeader
    first_count: int
    written: int

    @property
    def moving(self) -> bool:
        """Whether a broker put into the file between the two looks."""
        return self.first_count != self.header.index_count


@dataclass(frozen=True, slots=True)
class IndexContent:
    """What a file's chains are made of; arrays of entries begin with entry 0, which is never written.

    Attributes:
        file: the file.
        geometry: slots and entries.
        state: how far it is filled.
        key_hash: of each entry.
        prev_entry: of each entry.
        zeros: which entries are all zeros.
        slots: newest entry of each slot.
    """

    file: StoreFile
    geometry: Geometry
    state: IndexState
    key_hash: NDArray[np.int32]
    prev_entry: NDArray[np.int32]
    zeros: NDArray[np.bool_]
    slots: NDArray[np.int32]


def slot_position(slot: int) -> int:
    """Byte of a slot in its file."""
    return INDEX_HEADER.size + INDEX_SLOT.size * slot


def entry_position(geometry: Geometry, entry: int, name: str) -> int:
    """Byte of a field of an entry in its file."""
    return geometry.entries_offset + INDEX_ENTRY.size * entry + INDEX_ENTRY.offset_of(name)


def read_headers(files: Iterable[StoreFile]) -> list[tuple[StoreFile, IndexHeader]]:
    """The headers of files, zeros for what a short one lacks; a file that is gone meanwhile is left out."""
    headers = []
    for file in files:
        try:
            with file.open() as reader:
                header = _header(reader)
        except FileNotFoundError:
            continue
        headers.append((file, header))
    return headers


def _read(reader: Reader, offset: int, length: int) -> NDArray[np.uint8]:
    """Bytes of the file, and zeros behind its end."""
    there = max(0, min(length, reader.size - offset))
    raw = reader.read(offset, there) if there else np.empty(0, np.uint8)
    return raw if there == length else np.concatenate([raw, np.zeros(length - there, np.uint8)])


def _header(reader: Reader) -> IndexHeader:
    return IndexHeader(*_HEADER.unpack(_read(reader, 0, _HEADER.size).tobytes()))


class EntryWindows:
    """The entries of an open file, some at a time.

    The header is read first and again behind the slots, so that a file in use hangs together: entries up to
    the later count are there, and slots lead to none beyond it.
    """

    def __init__(self, reader: Reader, geometry: Geometry) -> None:
        self._reader = reader
        self._geometry = geometry
        first = _header(reader)
        self._slots = _read(reader, INDEX_HEADER.size, INDEX_SLOT.size * geometry.hash_slot_num)
        header = _header(reader)
        begin = geometry.entries_offset
        last = reader.last_nonzero(begin, min(reader.size, geometry.file_size))
        written = 1 if last is None else max((last - begin) // INDEX_ENTRY.size + 1, 1)
        self.state = IndexState(header, first.index_count, written)

    def slots(self) -> NDArray[np.int32]:
        """The newest entry of each slot."""
        return self._slots.view(">i4").astype(np.int32)

    def each(self, stop: int, start: int = 0) -> Iterator[tuple[int, NDArray[np.void]]]:
        """Entries from `start` on and before `stop`, as (number of the first, fields as they lie)."""
        size = INDEX_ENTRY.size
        for first in range(start, stop, _AT_ONCE):
            count = min(_AT_ONCE, stop - first)
            yield (
                first,
                _read(self._reader, self._geometry.entries_offset + first * size, count * size).view(ENTRY),
            )


def read_index(file: StoreFile, geometry: Geometry) -> IndexContent:
    """Reads what a file's chains are made of.

    Raises:
        OSError: the file cannot be read.
    """
    with file.open() as reader:
        windows = EntryWindows(reader, geometry)
        limit = windows.state.written
        key_hash, previous = np.empty(limit, np.int32), np.empty(limit, np.int32)
        zeros = np.empty(limit, np.bool_)
        for start, raw in windows.each(limit):
            part = slice(start, start + raw.size)
            key_hash[part], previous[part] = raw["key_hash"], raw["prev_entry"]
            zeros[part] = ~raw.view(np.uint8).reshape(raw.size, -1).any(axis=1)
        return IndexContent(file, geometry, windows.state, key_hash, previous, zeros, windows.slots())
