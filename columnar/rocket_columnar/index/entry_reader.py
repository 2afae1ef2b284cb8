"""An index file read for an audit: header, slots and entries as they are in the file, whatever the header contains."""

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from rocket_spec.layout import INDEX_ENTRY, INDEX_HEADER, INDEX_SLOT, Geometry

from rocket_columnar.formats import ENTRY_DTYPE
from rocket_columnar.index.index_file import IndexHeader
from rocket_columnar.store import Reader, StoreFile

_HEADER: Final = struct.Struct(INDEX_HEADER.struct_format)
_ENTRIES_AT_ONCE: Final = 1 << 15


@dataclass(frozen=True, slots=True)
class IndexState:
    """The fill level of a file.

    Attributes:
        header: as it is in the file, with the count of the last read.
        first_count: the count of the first read, which a broker may have raised since.
        written: one more than the number of the last entry that is not all zeros.
    """

    header: IndexHeader
    first_count: int
    written: int

    @property
    def moving(self) -> bool:
        """Whether a broker put into the file between the two reads."""
        return self.first_count != self.header.index_count


def slot_position(slot: int) -> int:
    """Byte of a slot in its file."""
    return INDEX_HEADER.size + INDEX_SLOT.size * slot


def entry_position(geometry: Geometry, entry: int, name: str) -> int:
    """Byte of a field of an entry in its file."""
    return geometry.entries_offset + INDEX_ENTRY.size * entry + INDEX_ENTRY.offset_of(name)


def read_headers(files: Iterable[StoreFile]) -> list[tuple[StoreFile, IndexHeader]]:
    """The headers of files, padded with zeros if a file is too short; a file that no longer exists is skipped."""
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
    """Bytes of the file, and zeros after its end."""
    there = max(0, min(length, reader.size - offset))
    raw = reader.read(offset, there) if there else np.empty(0, np.uint8)
    return raw if there == length else np.concatenate([raw, np.zeros(length - there, np.uint8)])


def _header(reader: Reader) -> IndexHeader:
    return IndexHeader(*_HEADER.unpack(_read(reader, 0, _HEADER.size).tobytes()))


class EntryWindows:
    """The entries of an open file, some at a time.

    The header is read first, and again when slots and entries have been checked, so that a file in use is consistent:
    slots lead to no entry beyond the later count.
    """

    def __init__(self, reader: Reader, geometry: Geometry) -> None:
        self._reader = reader
        self.geometry = geometry
        first = _header(reader)
        self._slots = _read(reader, INDEX_HEADER.size, INDEX_SLOT.size * geometry.hash_slot_num)
        begin = geometry.entries_offset
        last = reader.last_nonzero(begin, min(reader.size, geometry.file_size))
        written = 1 if last is None else max((last - begin) // INDEX_ENTRY.size + 1, 1)
        self.state = IndexState(_header(reader), first.index_count, written)

    def slots(self) -> NDArray[np.int32]:
        """The newest entry of each slot."""
        return self._slots.view(">i4").astype(np.int32)

    def hashes(self, numbers: NDArray[np.int32]) -> NDArray[np.int32]:
        """The key hashes of the entries with these numbers."""
        places = (entry_position(self.geometry, number, "key_hash") for number in numbers.tolist())
        found = (int.from_bytes(_read(self._reader, place, 4).tobytes(), signed=True) for place in places)
        return np.fromiter(found, np.int32, numbers.size)

    def each(self, stop: int, start: int = 0) -> Iterator[tuple[int, NDArray[np.void]]]:
        """Entries from `start` on and before `stop`, as (number of the first, fields as they are in the file)."""
        size = INDEX_ENTRY.size
        for first in range(start, stop, _ENTRIES_AT_ONCE):
            count = min(_ENTRIES_AT_ONCE, stop - first)
            yield (
                first,
                _read(self._reader, self.geometry.entries_offset + first * size, count * size).view(
                    ENTRY_DTYPE
                ),
            )
