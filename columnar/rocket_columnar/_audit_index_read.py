"""An index file read for an audit: header, slots and entries as they lie, whatever the header says."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from rocket_spec.layout import INDEX_ENTRY, INDEX_HEADER, INDEX_SLOT, Geometry

from rocket_columnar._read import Reader, open_reader
from rocket_columnar.index_file import IndexHeader

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from rocket_columnar.store import StoreFile

__all__ = ["IndexContent", "read_headers", "read_index"]

_HEADER: Final = struct.Struct(INDEX_HEADER.struct_format)
_ENTRY: Final = np.dtype(
    [("key_hash", ">i4"), ("phy_offset", ">i8"), ("time_diff", ">i4"), ("prev_entry", ">i4")]
)
_AT_ONCE: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class IndexContent:
    """What a file holds; arrays of entries begin with entry 0, which is never written.

    Attributes:
        file: the file.
        geometry: slots and entries.
        header: as it lies in the file; its count that of the last look.
        first_count: the count at the first look: a broker that is writing has raised it since.
        key_hash: of each entry.
        phy_offset: of each entry, bytes.
        time_diff: of each entry, seconds.
        prev_entry: of each entry.
        slots: newest entry of each slot.
        written: one more than the number of the last entry that is not all zeros.
    """

    file: StoreFile
    geometry: Geometry
    header: IndexHeader
    first_count: int
    key_hash: NDArray[np.int32]
    phy_offset: NDArray[np.int64]
    time_diff: NDArray[np.int32]
    prev_entry: NDArray[np.int32]
    slots: NDArray[np.int32]
    written: int

    def slot_position(self, slot: int) -> int:
        """Byte of a slot in the file."""
        return INDEX_HEADER.size + INDEX_SLOT.size * slot

    def field(self, entry: int, name: str) -> int:
        """Byte of a field of an entry in the file."""
        return self.geometry.entries_offset + INDEX_ENTRY.size * entry + INDEX_ENTRY.offset_of(name)


def read_headers(files: Iterable[StoreFile]) -> list[tuple[StoreFile, IndexHeader]]:
    """The headers of files, zeros for what a short one lacks; a file that is gone meanwhile is left out."""
    headers = []
    for file in files:
        try:
            with file.path.open("rb") as opened:
                raw = opened.read(_HEADER.size).ljust(_HEADER.size, b"\0")
        except FileNotFoundError:
            continue
        headers.append((file, IndexHeader(*_HEADER.unpack(raw))))
    return headers


def _read(reader: Reader, offset: int, length: int) -> NDArray[np.uint8]:
    """Bytes of the file, and zeros behind its end."""
    there = max(0, min(length, reader.size - offset))
    raw = reader.read(offset, there) if there else np.empty(0, np.uint8)
    return raw if there == length else np.concatenate([raw, np.zeros(length - there, np.uint8)])


def read_index(file: StoreFile, geometry: Geometry) -> IndexContent:
    """Reads a file through.

    The header is read first and again behind the slots, so that a file in use hangs together: entries up to
    the later count are there, and slots lead to none beyond it.

    Raises:
        OSError: the file cannot be read.
    """
    with open_reader(file.path) as reader:
        first = IndexHeader(*_HEADER.unpack(_read(reader, 0, _HEADER.size).tobytes()))
        slots = _read(reader, INDEX_HEADER.size, INDEX_SLOT.size * geometry.hash_slot_num)
        header = IndexHeader(*_HEADER.unpack(_read(reader, 0, _HEADER.size).tobytes()))
        begin = geometry.entries_offset
        last = reader.last_nonzero(begin, min(reader.size, geometry.file_size))
        stored = 0 if last is None else (last - begin) // INDEX_ENTRY.size + 1
        limit = max(stored, 1)
        names = ("key_hash", "phy_offset", "time_diff", "prev_entry")
        columns: dict[str, Any] = {
            name: np.empty(limit, _ENTRY[name].newbyteorder("=").str) for name in names
        }
        for start in range(0, limit, _AT_ONCE):
            stop = min(start + _AT_ONCE, limit)
            raw = _read(reader, begin + start * INDEX_ENTRY.size, (stop - start) * INDEX_ENTRY.size)
            for name in names:
                columns[name][start:stop] = raw.view(_ENTRY)[name]
    return IndexContent(
        file=file,
        geometry=geometry,
        header=header,
        first_count=first.index_count,
        slots=slots.view(">i4").astype(np.int32),
        written=max(stored, 1),
        **columns,
    )
