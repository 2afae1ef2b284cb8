"""An index file in memory: opening, the header and its two places, single slots and entries."""

import struct
from pathlib import Path
from typing import Final, NamedTuple, Self

from rocket_spec.layout import INDEX_ENTRY, INDEX_HEADER, INDEX_SLOT, Geometry

from rocket_columnar.formats import to_i32
from rocket_columnar.index.header import IndexHeader
from rocket_columnar.index.mapping import FileImage, Mapping, RejectedError, map_file

INT: Final = struct.Struct(">i")
LONG: Final = struct.Struct(">q")
ENTRY: Final = struct.Struct(INDEX_ENTRY.struct_format)
ENTRY_SIZE: Final = INDEX_ENTRY.size
_HEADER_SIZE, _SLOT_SIZE = INDEX_HEADER.size, INDEX_SLOT.size

_FIELDS: Final = [
    (f"_{field.name}", LONG if field.type == "i64" else INT, field.offset or 0)
    for field in INDEX_HEADER.fields
]
"""Of each field of the header: the attribute that holds it in memory, its form and its place."""


class Entry(NamedTuple):
    """An entry's four fields (IDX-ENT-1): offset in bytes, time diff in seconds."""

    key_hash: int
    phy_offset: int
    time_diff: int
    prev_entry: int


class MappedIndex:
    """An open index file without its operations.

    Source: `IndexFile` and `IndexHeader`, 4.9.3.
    """

    __slots__ = (
        "_begin_phy_offset",
        "_begin_timestamp",
        "_end_phy_offset",
        "_end_timestamp",
        "_entries",
        "_hash_slot_count",
        "_image",
        "_index_count",
        "_mapping",
        "_size",
        "_slots",
        "geometry",
        "path",
    )
    _begin_phy_offset: int
    _begin_timestamp: int
    _end_phy_offset: int
    _end_timestamp: int
    _hash_slot_count: int
    _index_count: int

    def __init__(
        self,
        path: Path,
        hash_slot_num: int,
        index_num: int,
        *,
        end_phy_offset: int = 0,
        end_timestamp: int = 0,
        read_only: bool = False,
    ) -> None:
        """Opens the file to read and write, making or extending it, with a fresh header in memory.

        Args:
            path: the file; its name must be a Java long.
            hash_slot_num: number of slots.
            index_num: number of entries, the unused entry 0 counted.
            end_phy_offset: seed of both physical offsets where > 0, in bytes.
            end_timestamp: seed of both timestamps where > 0, in ms since the epoch.
            read_only: the file must exist and stays as it is: nothing can be put or flushed, and where
                it is shorter than the geometry asks for, zeros follow.

        Raises:
            RejectedError: where 4.9.3's constructor throws.
            OSError: when a file to read cannot be opened.

        Source: IDX-FILE-1 .. IDX-FILE-5; `IndexFile` 42-64.
        """
        self.path = path
        self.geometry = Geometry(hash_slot_num, index_num)
        self._slots = abs(hash_slot_num)  # Java's remainder has the sign of the hash, never negative
        self._entries = to_i32(_HEADER_SIZE + _SLOT_SIZE * hash_slot_num)
        self._size = to_i32(self._entries + ENTRY_SIZE * index_num)
        self._take(IndexHeader())
        self._image = FileImage(path, self._size) if read_only else None
        self._mapping: Mapping = map_file(path, self._size) if self._image is None else self._image.memory
        try:
            for seed, names in (
                (end_phy_offset, ("begin_phy_offset", "end_phy_offset")),
                (end_timestamp, ("begin_timestamp", "end_timestamp")),
            ):
                for name in names if seed > 0 else ():
                    self._set(name, seed)
        except struct.error as error:
            self.close()
            raise RejectedError(f"the header is outside a file of {self._size} bytes") from error

    @classmethod
    def open_for_reading(cls, path: Path, geometry: Geometry) -> Self:
        """Opens an existing file without writing to it, and loads its header.

        A file shorter than the geometry asks for is read as if zeros followed, as after a broker's load.

        Raises:
            OSError: when it cannot be opened.
            RejectedError: for a geometry in which no header fits.

        Source: IDX-LOAD-1, IDX-FILE-1.
        """
        file = cls(path, *geometry, read_only=True)
        try:
            file.load()
        except RejectedError:
            file.close()
            raise
        return file

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Releases the file. Nothing is flushed: 4.9.3 has no close."""
        if self._image is not None:
            self._image.close()
        elif not isinstance(self._mapping, bytearray):
            self._mapping.close()

    def _fetch(self, position: int, length: int) -> None:
        """Makes sure that bytes of a file that is only read are in the mapping."""
        if self._image is not None:
            self._image.fetch(position, length)

    # header

    def header(self) -> IndexHeader:
        """The header as it stands in memory."""
        return IndexHeader(*(getattr(self, name) for name, _, _ in _FIELDS))

    def _take(self, header: IndexHeader) -> None:
        for name, _, _ in _FIELDS:
            setattr(self, name, getattr(header, name[1:]))

    def _set(self, field: str, value: int) -> None:
        """Sets a field of the header, in memory and then in the file."""
        name, form, place = next(known for known in _FIELDS if known[0] == f"_{field}")
        setattr(self, name, value)
        form.pack_into(self._mapping, place, value)

    def load(self) -> None:
        """Reads the six fields from the file; an `index_count` <= 0 becomes 1.

        Raises:
            RejectedError: when the mapping is shorter than the header; fields before that are taken.

        Source: IDX-LOAD-1, IDX-LOAD-2; `IndexHeader.load` 41-53.
        """
        if self._image is not None:
            self._image.forget()
        self._fetch(0, _HEADER_SIZE)
        try:
            for name, form, place in _FIELDS:
                setattr(self, name, form.unpack_from(self._mapping, place)[0])
        except struct.error as error:
            raise RejectedError(f"the header is outside a file of {self._size} bytes") from error
        if self._index_count <= 0:
            self._index_count = 1

    def flush(self) -> None:
        """Writes the header in memory to the file.

        Raises:
            RejectedError: when the mapping is shorter than the header; fields before that are written.

        Source: IDX-FLUSH-1; `IndexHeader.updateByteBuffer` 55-62.
        """
        try:
            for name, form, place in _FIELDS:
                form.pack_into(self._mapping, place, getattr(self, name))
        except struct.error as error:
            raise RejectedError(f"the header is outside a file of {self._size} bytes") from error

    # single structures

    def slot_position(self, key_hash: int) -> int:
        """Byte position of the hash's slot, wrapped as a Java int (IDX-HASH-3); RejectedError for zero slots."""
        if self._slots == 0:
            raise RejectedError("a hash has no remainder modulo zero slots")
        return to_i32(_HEADER_SIZE + _SLOT_SIZE * (key_hash % self._slots))

    def slot(self, key_hash: int) -> int | None:
        """The value of the hash's slot (IDX-SLOT-1), or None if it is outside the mapping."""
        try:
            return self._read_int(self.slot_position(key_hash))[0]
        except struct.error:
            return None

    def entry_position(self, number: int) -> int:
        """Byte position of an entry, wrapped as a Java int (IDX-ENT-1)."""
        return to_i32(self._entries + ENTRY_SIZE * number)

    def entry(self, number: int) -> Entry | None:
        """An entry by its number, or None if it is outside the mapping."""
        position = self.entry_position(number)
        if not 0 <= position <= self._size - ENTRY_SIZE:
            return None
        self._fetch(position, ENTRY_SIZE)
        return Entry._make(ENTRY.unpack_from(self._mapping, position))

    def _read_int(self, position: int) -> tuple[int]:
        """The int at a position, as `unpack` gives it; struct counts a negative one from the end, Java throws."""
        if position < 0:
            raise struct.error
        self._fetch(position, INT.size)
        value: tuple[int] = INT.unpack_from(self._mapping, position)
        return value
