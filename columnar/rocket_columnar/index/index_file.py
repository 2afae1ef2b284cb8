"""One index file: put, select, time match and header, as in 4.9.3's IndexFile.

A file that is written is mapped, and `struct` reads and writes the mapping; a file that is only read is read into memory
as far as it is needed.

The header exists twice, as in 4.9.3: in memory, where every operation reads it, and in the first 40
bytes, where each put and `flush` write it. Opening without `load` starts with a fresh one in memory.
"""

import mmap
import os
import struct
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from rocket_spec.errors import InvalidError
from rocket_spec.layout import INDEX_ENTRY, INDEX_HEADER, INDEX_SLOT, Geometry

from rocket_columnar.formats import ENTRY_DTYPE, hash_key, parse_long, to_i32, to_i64
from rocket_columnar.index.geometry import IndexHeader
from rocket_columnar.store import open_reader

# Files in memory, at the size and under the names that 4.9.3's MappedFile asks for.


Mapping = mmap.mmap | bytearray

_PAGE: Final = 1 << 12


class RejectedError(ValueError):
    """The operation ends in an error that 4.9.3 reports too: an exception leaves its method."""


def map_file(path: Path, size: int) -> Mapping:
    """The first `size` bytes of a file, mapped to read and write; a size of 0 gives an empty buffer.

    A missing file and its folder are made, a shorter file is extended with zeros, a longer one keeps its length. RejectedError for a name that is
    not a Java long, before anything is made; for a negative size, after the file is; and for a file that cannot be opened.

    Source: IDX-FILE-1, IDX-FILE-3, IDX-FILE-4; `MappedFile.init` 154-182.
    """
    if parse_long(path.name) is None:
        raise RejectedError(f"the file name {path.name!r} is not a Java long")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o644)
    except OSError as error:
        raise RejectedError(f"{path}: {error.strerror}") from error
    try:
        if size < 0:
            raise RejectedError(f"the size of the file is negative: {size}")
        if size == 0:
            return bytearray()
        if os.fstat(handle).st_size < size:
            os.truncate(handle, size)
        return mmap.mmap(handle, size)
    finally:
        os.close(handle)


class FilePrefix:
    """The first bytes of a file in memory, read when they are asked for; where the file ends early, zeros follow.

    That is what a broker sees after it has extended a short file, without touching it. The file itself is not mapped: one
    that is cut meanwhile would end the process with SIGBUS.
    """

    def __init__(self, path: Path, size: int) -> None:
        """Opens the file to read at most `size` bytes; OSError if it cannot be opened."""
        self._stack = ExitStack()
        self._reader = self._stack.enter_context(open_reader(path))
        self._length = min(self._reader.size, size)
        self.memory: Mapping = _memory(size) if size > 0 else bytearray()
        self._pages = -(-max(size, 0) // _PAGE)
        self._held: set[int] = set()

    def fetch(self, position: int, length: int) -> None:
        """Makes sure that some bytes are in memory; MalformedError if the file has been cut."""
        last = min((position + length - 1) // _PAGE + 1, self._pages)
        for page in range(max(position, 0) // _PAGE, last):
            if page not in self._held:
                begin, end = page * _PAGE, min((page + 1) * _PAGE, self._length)
                if begin < end:
                    self.memory[begin:end] = self._reader.read(begin, end - begin).tobytes()
                self._held.add(page)

    def forget(self) -> None:
        """Reads everything again when it is asked for: a broker may have put into the file."""
        self._held.clear()

    def close(self) -> None:
        """Closes the file and lets go of the memory."""
        self._stack.close()
        if not isinstance(self.memory, bytearray):
            self.memory.close()


def _memory(size: int) -> mmap.mmap:
    """Zeroed memory; only pages that are written take room."""
    if not hasattr(mmap, "MAP_ANONYMOUS"):  # Windows
        return mmap.mmap(-1, size)
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0)
    return mmap.mmap(-1, size, flags=flags)


# An index file in memory: opening, the header and its two places, single slots and entries.


INT: Final = struct.Struct(">i")
LONG: Final = struct.Struct(">q")
ENTRY: Final = struct.Struct(INDEX_ENTRY.struct_format)
ENTRY_SIZE: Final = INDEX_ENTRY.size
_HEADER_SIZE, _SLOT_SIZE = INDEX_HEADER.size, INDEX_SLOT.size

_FIELDS: Final = {
    field.name: (LONG if field.type == "i64" else INT, field.offset or 0) for field in INDEX_HEADER.fields
}
"""The form and the place of each field of the header."""

_HASH, _OFFSET, _DIFF, _PREVIOUS = (field.offset or 0 for field in INDEX_ENTRY.fields)
_INT_MAX = 0x7FFFFFFF
_LOOKS: Final = 5  # at slots that a broker keeps putting into


class EntryFields(NamedTuple):
    """An entry's four fields (IDX-ENT-1): offset in bytes, time diff in seconds."""

    key_hash: int
    phy_offset: int
    time_diff: int
    prev_entry: int


class IndexFile:
    """An open index file; use it in a `with` block, or `close` it. Source: `IndexFile` and `IndexHeader`, 4.9.3."""

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

        `index_num` counts the unused entry 0. The seeds, in bytes and ms since the epoch, count if they are > 0. A file that is `read_only` must
        exist and stays as it is; where it is shorter than the geometry asks for, zeros follow. RejectedError where 4.9.3's constructor throws.

        Source: IDX-FILE-1 .. IDX-FILE-5; `IndexFile` 42-64.
        """
        self.path = path
        self.geometry = Geometry(hash_slot_num, index_num)
        self._slots = abs(hash_slot_num)  # Java's remainder has the sign of the hash, never negative
        self._entries = to_i32(_HEADER_SIZE + _SLOT_SIZE * hash_slot_num)
        self._size = to_i32(self._entries + ENTRY_SIZE * index_num)
        self._header: dict[str, int] = asdict(IndexHeader())
        self._image = FilePrefix(path, self._size) if read_only else None
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
        """Opens an existing file without writing to it, and loads its header; RejectedError for a geometry in which no header fits.

        A file shorter than the geometry asks for is read as if zeros followed, as after a broker's load (IDX-LOAD-1, IDX-FILE-1).
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
        return IndexHeader(**self._header)

    def _set(self, name: str, value: int) -> None:
        """Sets a field of the header, in memory and then in the file."""
        self._header[name] = value
        form, place = _FIELDS[name]
        form.pack_into(self._mapping, place, value)

    def load(self) -> None:
        """Reads the six fields from the file; an `index_count` <= 0 becomes 1.

        RejectedError when the mapping is shorter than the header; fields before that are taken.
        Source: IDX-LOAD-1, IDX-LOAD-2; `IndexHeader.load` 41-53.
        """
        if self._image is not None:
            self._image.forget()
        self._fetch(0, _HEADER_SIZE)
        try:
            for name, (form, place) in _FIELDS.items():
                self._header[name] = form.unpack_from(self._mapping, place)[0]
        except struct.error as error:
            raise RejectedError(f"the header is outside a file of {self._size} bytes") from error
        if self._header["index_count"] <= 0:
            self._header["index_count"] = 1

    def flush(self) -> None:
        """Writes the header in memory to the file.

        RejectedError when the mapping is shorter than the header; fields before that are written.
        Source: IDX-FLUSH-1; `IndexHeader.updateByteBuffer` 55-62.
        """
        try:
            for name, (form, place) in _FIELDS.items():
                form.pack_into(self._mapping, place, self._header[name])
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

    def entry(self, number: int) -> EntryFields | None:
        """An entry by its number, or None if it is outside the mapping."""
        position = self.entry_position(number)
        if not 0 <= position <= self._size - ENTRY_SIZE:
            return None
        self._fetch(position, ENTRY_SIZE)
        return EntryFields._make(ENTRY.unpack_from(self._mapping, position))

    def _read_int(self, position: int) -> tuple[int]:
        """The int at a position, as `unpack` gives it; struct counts a negative one from the end, Java throws."""
        if position < 0:
            raise struct.error
        self._fetch(position, INT.size)
        value: tuple[int] = INT.unpack_from(self._mapping, position)
        return value

    # questions

    def full(self) -> bool:
        """Whether no further put is accepted (IDX-FULL-1; `IndexFile.isWriteFull` 83-85)."""
        return self._header["index_count"] >= self.geometry.index_num

    def time_matched(self, begin: int, end: int) -> bool:
        """Whether the window in ms touches the header's begin and end (IDX-TIME-1 .. IDX-TIME-3; 184-189)."""
        first, last = self._header["begin_timestamp"], self._header["end_timestamp"]
        return (begin < first and end > last) or first <= begin <= last or first <= end <= last

    # put

    def put(self, key: str, phy_offset: int, store_timestamp: int) -> bool:
        """Puts one entry for an index key (`topic#key`); RejectedError for zero slots.

        False when the file is full, or when a position is outside the mapping: then what was written before stays.
        Source: IDX-PUT-1 .. IDX-PUT-11; `IndexFile.putKey` 92-162.
        """
        key_hash, count = hash_key(key), self._header["index_count"]
        if count >= self.geometry.index_num:
            return False
        slot = self.slot_position(key_hash)
        try:
            (previous,) = self._read_int(slot)
            if previous <= 0 or previous > count:
                previous = 0
            begin = self._header["begin_timestamp"]
            time_diff = 0 if begin <= 0 else _seconds(store_timestamp - begin)
            self._write_entry(self.entry_position(count), key_hash, phy_offset, time_diff, previous)
            INT.pack_into(self._mapping, slot, count)
            if count <= 1:
                self._set("begin_phy_offset", phy_offset)
                self._set("begin_timestamp", store_timestamp)
            if previous == 0:
                self._set("hash_slot_count", to_i32(self._header["hash_slot_count"] + 1))
            self._set("index_count", count + 1)
            self._set("end_phy_offset", phy_offset)
            self._set("end_timestamp", store_timestamp)
        except struct.error:
            return False
        return True

    def _write_entry(
        self, position: int, key_hash: int, phy_offset: int, time_diff: int, previous: int
    ) -> None:
        """Writes the four fields, or as many as are inside the mapping (IDX-PUT-9)."""
        if position < 0:
            raise struct.error
        mapping = self._mapping
        if position + ENTRY_SIZE <= self._size:
            ENTRY.pack_into(mapping, position, key_hash, phy_offset, time_diff, previous)
            return
        INT.pack_into(mapping, position + _HASH, key_hash)
        LONG.pack_into(mapping, position + _OFFSET, phy_offset)
        INT.pack_into(mapping, position + _DIFF, time_diff)
        INT.pack_into(mapping, position + _PREVIOUS, previous)

    # select

    def select(self, key: str, max_num: int, begin: int, end: int, initial: Iterable[int] = ()) -> list[int]:
        """Physical offsets of the entries with the hash of an index key (`topic#key`), newest first, after the `initial` ones.

        The walk stops at a list of `max_num`, `initial` counted. The window is in ms, both ends inclusive; entries are placed at
        begin_timestamp + 1000 * time_diff.

        Raises RejectedError for zero slots.
        Raises InvalidError for a chain that cycles without a further hit; 4.9.3 would never answer.
        Source: IDX-SEL-1 .. IDX-SEL-10; `IndexFile.selectPhyOffset` 191-265.
        """
        offsets = list(initial)
        self._select(hash_key(key), offsets, max_num, begin, end)
        return offsets

    def _select(self, key_hash: int, offsets: list[int], max_num: int, begin: int, end: int) -> None:
        mark, steps, limit = 0, 0, 1
        for entry, found in self.chain(key_hash):
            if len(offsets) >= max_num:
                return
            if entry == mark:  # Brent: back at the mark without a hit since
                raise self._endless(entry)
            steps += 1
            if steps == limit:
                mark, steps, limit = entry, 0, 2 * limit
            time = to_i64(self._header["begin_timestamp"] + 1000 * found.time_diff)
            if found.time_diff < 0:
                return
            if found.key_hash == key_hash and begin <= time <= end:
                offsets.append(found.phy_offset)
                mark, steps, limit = entry, 0, 1
            if time < begin:
                return

    def chain(self, key_hash: int) -> Iterator[tuple[int, EntryFields]]:
        """The entries of a hash's chain and their numbers, newest first (IDX-SEL-1, -6, -8); without end if the chain is a cycle."""
        count = self._header["index_count"]
        number = self.slot(key_hash) or 0
        while 0 < number <= count > 1 and (found := self.entry(number)) is not None:
            yield number, found
            if found.prev_entry == number:
                return
            number = found.prev_entry

    def settled(self, hashes: NDArray[np.int64]) -> tuple[int, NDArray[np.int64]]:
        """The index count, and the values of the slots of some hashes, 0 outside the mapping; RejectedError for zero slots.

        A slot that leads to the count or beyond was put into after the header was read: it would count as empty, or its entry as unwritten
        (IDX-SEL-1). The file is then read again.
        """
        self.slot_position(0)
        count, numbers = 0, np.zeros(hashes.size, np.int64)
        slots = (_HEADER_SIZE + _SLOT_SIZE * (hashes % self._slots)).astype(np.int32)  # as Java wraps
        inside = (slots >= 0) & (slots <= self._size - _SLOT_SIZE)
        for _ in range(_LOOKS):
            count = self._header["index_count"]
            numbers[inside] = self._gathered(slots[inside], np.dtype(">i4"))
            if not (numbers >= count).any():
                break
            self.load()
        return count, numbers

    def hits(self, hashes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Every entry in the chains of some hashes that has the hash: which of the hashes, by number, and the entry's physical offset in bytes.

        All chains are walked side by side, each to its real end, or once around where it is a cycle. Slots and errors as in `settled`.
        """
        count, numbers = self.settled(hashes)
        which, marks = np.arange(hashes.size), np.zeros(hashes.size, np.int64)
        found = [(which[:0], marks[:0])]
        steps, limit = 0, 1
        while which.size:
            places = (self._entries + ENTRY_SIZE * numbers).astype(np.int32)
            goes_on = (numbers > 0) & (numbers <= count) & (count > 1) & (numbers != marks)
            goes_on &= (places >= 0) & (places <= self._size - ENTRY_SIZE)
            which, marks, numbers = which[goes_on], marks[goes_on], numbers[goes_on]
            entries = self._gathered(places[goes_on], ENTRY_DTYPE)
            equal = entries["key_hash"] == hashes[which]
            found.append((which[equal], entries["phy_offset"][equal].astype(np.int64)))
            steps += 1
            if steps == limit:  # Brent: a chain that comes back to its mark is a cycle
                marks, steps, limit = numbers, 0, 2 * limit
            numbers = entries["prev_entry"].astype(np.int64)
        return np.concatenate([one for one, _ in found]), np.concatenate([offsets for _, offsets in found])

    def _gathered(self, places: NDArray[np.int32], dtype: np.dtype[Any]) -> NDArray[Any]:
        """The values of a type at some byte positions, all inside the mapping."""
        if not places.size:
            return np.empty(0, dtype)
        for page in np.unique(np.concatenate([places, places + dtype.itemsize - 1]) // _PAGE).tolist():
            self._fetch(page * _PAGE, 1)
        shape = (self._size - dtype.itemsize + 1,)
        values: NDArray[Any] = np.ndarray(shape, dtype, self._mapping, strides=(1,))[places]
        return values

    def _endless(self, entry: int) -> InvalidError:
        return InvalidError(
            file=str(self.path),
            offset=self.entry_position(entry),
            found=f"a chain that leads back to entry {entry:,}",
            expected="a chain that ends; a broker would never answer",
            clause="IDX-SEL-6",
        )


def _seconds(difference: int) -> int:
    """Whole seconds of a difference in ms, as put stores them (IDX-PUT-2, IDX-PUT-4)."""
    return min(max(to_i64(difference), 0) // 1000, _INT_MAX)
