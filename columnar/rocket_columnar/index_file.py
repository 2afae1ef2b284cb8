"""One index file: put, select, time match and header, as 4.9.3's IndexFile does them.

The file is mapped. Single operations read and write the mapping with `struct`; batches (`put_many`,
`select_many`) take it as NumPy views, and give the same bytes and the same results.

The header lives twice, as in 4.9.3: in memory, where every operation reads it, and in the first 40
bytes, where each put and `flush` write it. Opening without `load` starts with a fresh one in memory.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Self

import numpy as np
from rocket_spec.errors import InvalidError
from rocket_spec.layout import INDEX_ENTRY, INDEX_HEADER, INDEX_SLOT, Geometry

from rocket_columnar._index_header import IndexHeader
from rocket_columnar._java import to_i32, to_i64
from rocket_columnar._mapping import Mapping, RejectedError, map_file, map_for_reading
from rocket_columnar._put_many import Puts, plain, put_batch
from rocket_columnar.hashing import COMPILED_FROM, hash_key, hash_keys
from rocket_columnar.select import Chains, Hits, select_batch

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path
    from types import TracebackType

    from numpy.typing import NDArray

__all__ = ["Hits", "IndexFile", "IndexHeader", "RejectedError"]

_INT = struct.Struct(">i")
_LONG = struct.Struct(">q")
_ENTRY = struct.Struct(INDEX_ENTRY.struct_format)
_HASH, _OFFSET, _DIFF, _PREVIOUS = (field.offset or 0 for field in INDEX_ENTRY.fields)
(
    _BEGIN_TIMESTAMP,
    _END_TIMESTAMP,
    _BEGIN_PHY_OFFSET,
    _END_PHY_OFFSET,
    _HASH_SLOT_COUNT,
    _INDEX_COUNT,
) = (field.offset or 0 for field in INDEX_HEADER.fields)
_HEADER_SIZE, _SLOT_SIZE, _ENTRY_SIZE = INDEX_HEADER.size, INDEX_SLOT.size, INDEX_ENTRY.size
_INT_MAX = 0x7FFFFFFF
_LONG_MAX = 0x7FFFFFFFFFFFFFFF


class IndexFile:
    """An open index file; use it in a `with` block, or `close` it.

    Source: `IndexFile` and `IndexHeader`, 4.9.3.
    """

    __slots__ = (
        "_begin_phy_offset",
        "_begin_timestamp",
        "_end_phy_offset",
        "_end_timestamp",
        "_entries",
        "_hash_slot_count",
        "_index_count",
        "_mapping",
        "_size",
        "_slots",
        "geometry",
        "path",
    )

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
        self._size = to_i32(self._entries + _ENTRY_SIZE * index_num)
        self._take(IndexHeader())
        self._mapping: Mapping = (map_for_reading if read_only else map_file)(path, self._size)
        try:
            if end_phy_offset > 0:
                self._begin_phy_offset = end_phy_offset
                self._write_long(_BEGIN_PHY_OFFSET, end_phy_offset)
                self._end_phy_offset = end_phy_offset
                self._write_long(_END_PHY_OFFSET, end_phy_offset)
            if end_timestamp > 0:
                self._begin_timestamp = end_timestamp
                self._write_long(_BEGIN_TIMESTAMP, end_timestamp)
                self._end_timestamp = end_timestamp
                self._write_long(_END_TIMESTAMP, end_timestamp)
        except struct.error as error:
            self.close()
            raise RejectedError(f"the header lies outside a file of {self._size} bytes") from error

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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Releases the file. Nothing is flushed: 4.9.3 has no close."""
        if not isinstance(self._mapping, bytearray):
            self._mapping.close()

    # header

    def header(self) -> IndexHeader:
        """The header as it stands in memory."""
        return IndexHeader(
            self._begin_timestamp,
            self._end_timestamp,
            self._begin_phy_offset,
            self._end_phy_offset,
            self._hash_slot_count,
            self._index_count,
        )

    def _take(self, header: IndexHeader) -> None:
        self._begin_timestamp = header.begin_timestamp
        self._end_timestamp = header.end_timestamp
        self._begin_phy_offset = header.begin_phy_offset
        self._end_phy_offset = header.end_phy_offset
        self._hash_slot_count = header.hash_slot_count
        self._index_count = header.index_count

    def load(self) -> None:
        """Reads the six fields from the file; an `index_count` <= 0 becomes 1.

        Raises:
            RejectedError: when the mapping is shorter than the header; fields before that are taken.

        Source: IDX-LOAD-1, IDX-LOAD-2; `IndexHeader.load` 41-53.
        """
        mapping = self._mapping
        try:
            (self._begin_timestamp,) = _LONG.unpack_from(mapping, _BEGIN_TIMESTAMP)
            (self._end_timestamp,) = _LONG.unpack_from(mapping, _END_TIMESTAMP)
            (self._begin_phy_offset,) = _LONG.unpack_from(mapping, _BEGIN_PHY_OFFSET)
            (self._end_phy_offset,) = _LONG.unpack_from(mapping, _END_PHY_OFFSET)
            (self._hash_slot_count,) = _INT.unpack_from(mapping, _HASH_SLOT_COUNT)
            (self._index_count,) = _INT.unpack_from(mapping, _INDEX_COUNT)
        except struct.error as error:
            raise RejectedError(f"the header lies outside a file of {self._size} bytes") from error
        if self._index_count <= 0:
            self._index_count = 1

    def flush(self) -> None:
        """Writes the header in memory to the file.

        Raises:
            RejectedError: when the mapping is shorter than the header; fields before that are written.

        Source: IDX-FLUSH-1; `IndexHeader.updateByteBuffer` 55-62.
        """
        try:
            self._write_long(_BEGIN_TIMESTAMP, self._begin_timestamp)
            self._write_long(_END_TIMESTAMP, self._end_timestamp)
            self._write_long(_BEGIN_PHY_OFFSET, self._begin_phy_offset)
            self._write_long(_END_PHY_OFFSET, self._end_phy_offset)
            _INT.pack_into(self._mapping, _HASH_SLOT_COUNT, self._hash_slot_count)
            _INT.pack_into(self._mapping, _INDEX_COUNT, self._index_count)
        except struct.error as error:
            raise RejectedError(f"the header lies outside a file of {self._size} bytes") from error

    def _write_long(self, offset: int, value: int) -> None:
        _LONG.pack_into(self._mapping, offset, value)

    def full(self) -> bool:
        """Whether no further put is taken (IDX-FULL-1; `IndexFile.isWriteFull` 83-85)."""
        return self._index_count >= self.geometry.index_num

    def time_matched(self, begin: int, end: int) -> bool:
        """Whether the window in ms touches the header's begin and end (IDX-TIME-1 .. IDX-TIME-3; 184-189)."""
        first, last = self._begin_timestamp, self._end_timestamp
        return (begin < first and end > last) or first <= begin <= last or first <= end <= last

    # put

    def put(self, key: str, phy_offset: int, store_timestamp: int) -> bool:
        """Puts one entry for an index key (`topic#key`).

        Returns:
            False when the file is full, or when a position lies outside the mapping: then what was
            written before stays.

        Raises:
            RejectedError: for zero slots.

        Source: IDX-PUT-1 .. IDX-PUT-11; `IndexFile.putKey` 92-162.
        """
        return self._put(hash_key(key), phy_offset, store_timestamp)

    def _put(self, key_hash: int, phy_offset: int, store_timestamp: int) -> bool:
        count = self._index_count
        if count >= self.geometry.index_num:
            return False
        slot = self._slot_position(key_hash)
        try:
            (previous,) = self._read_int(slot)
            if previous <= 0 or previous > count:
                previous = 0
            begin = self._begin_timestamp
            time_diff = 0 if begin <= 0 else _seconds(store_timestamp - begin)
            self._write_entry(
                to_i32(self._entries + _ENTRY_SIZE * count), key_hash, phy_offset, time_diff, previous
            )
            _INT.pack_into(self._mapping, slot, count)
            if count <= 1:
                self._begin_phy_offset = phy_offset
                self._write_long(_BEGIN_PHY_OFFSET, phy_offset)
                self._begin_timestamp = store_timestamp
                self._write_long(_BEGIN_TIMESTAMP, store_timestamp)
            if previous == 0:
                self._hash_slot_count = to_i32(self._hash_slot_count + 1)
                _INT.pack_into(self._mapping, _HASH_SLOT_COUNT, self._hash_slot_count)
            self._index_count = count + 1
            _INT.pack_into(self._mapping, _INDEX_COUNT, count + 1)
            self._end_phy_offset = phy_offset
            self._write_long(_END_PHY_OFFSET, phy_offset)
            self._end_timestamp = store_timestamp
            self._write_long(_END_TIMESTAMP, store_timestamp)
        except struct.error:
            return False
        return True

    def _slot_position(self, key_hash: int) -> int:
        if self._slots == 0:
            raise RejectedError("a hash has no remainder modulo zero slots")
        return to_i32(_HEADER_SIZE + _SLOT_SIZE * (key_hash % self._slots))

    def _read_int(self, position: int) -> tuple[int]:
        """The int at a position, as `unpack` gives it; struct counts a negative one from the end, Java throws."""
        if position < 0:
            raise struct.error
        value: tuple[int] = _INT.unpack_from(self._mapping, position)
        return value

    def _write_entry(
        self, position: int, key_hash: int, phy_offset: int, time_diff: int, previous: int
    ) -> None:
        """Writes the four fields, or as many as lie inside the mapping (IDX-PUT-9)."""
        if position < 0:
            raise struct.error
        mapping = self._mapping
        if position + _ENTRY_SIZE <= self._size:
            _ENTRY.pack_into(mapping, position, key_hash, phy_offset, time_diff, previous)
            return
        _INT.pack_into(mapping, position + _HASH, key_hash)
        _LONG.pack_into(mapping, position + _OFFSET, phy_offset)
        _INT.pack_into(mapping, position + _DIFF, time_diff)
        _INT.pack_into(mapping, position + _PREVIOUS, previous)

    def put_many(
        self,
        keys: Sequence[str] | NDArray[np.int32],
        phy_offsets: Sequence[int] | NDArray[np.int64],
        store_timestamps: Sequence[int] | NDArray[np.int64],
    ) -> NDArray[np.bool_]:
        """Puts many entries, in order; the same bytes and results as one `put` after the other.

        Args:
            keys: index keys (list or pyarrow string array), or their hashes as an int32 array.
            phy_offsets: bytes, one a key.
            store_timestamps: ms since the epoch, one a key.

        Raises:
            RejectedError: for zero slots.
            ValueError: when the three differ in length.
        """
        hashes = _hashes(keys)
        offsets = np.asarray(phy_offsets, np.int64)
        times = np.asarray(store_timestamps, np.int64)
        if not len(hashes) == len(offsets) == len(times):
            raise ValueError(f"{len(hashes)} keys, {len(offsets)} offsets, {len(times)} timestamps")
        if plain(self.geometry):
            puts = Puts(hashes, offsets, times)
            header, accepted = put_batch(self._mapping, self.geometry, self.header(), puts)
            self._take(header)
            return np.arange(len(hashes)) < accepted
        rows = zip(hashes.tolist(), offsets.tolist(), times.tolist(), strict=True)
        return np.fromiter((self._put(*row) for row in rows), np.bool_, len(hashes))

    # select

    def select(self, key: str, max_num: int, begin: int, end: int, initial: Iterable[int] = ()) -> list[int]:
        """Physical offsets of the entries with the key's hash, newest first, behind the `initial` ones.

        Args:
            key: index key (`topic#key`).
            max_num: length of the list at which the walk stops, `initial` counted.
            begin: first ms of the window, inclusive; entries are placed at begin_timestamp + 1000 * time_diff.
            end: last ms of the window, inclusive.
            initial: the list passed in.

        Raises:
            RejectedError: for zero slots.
            InvalidError: for a chain that cycles without a further hit; 4.9.3 would never answer.

        Source: IDX-SEL-1 .. IDX-SEL-10; `IndexFile.selectPhyOffset` 191-265.
        """
        offsets = list(initial)
        self._select(hash_key(key), offsets, max_num, begin, end)
        return offsets

    def _select(  # noqa: C901 - one walk, read beside the Java
        self, key_hash: int, offsets: list[int], max_num: int, begin: int, end: int
    ) -> None:
        slot = self._slot_position(key_hash)
        mapping, entries, count = self._mapping, self._entries, self._index_count
        header_begin, last = self._begin_timestamp, self._size - _ENTRY_SIZE
        try:
            (entry,) = self._read_int(slot)
        except struct.error:
            return
        if entry <= 0 or entry > count or count <= 1:
            return
        mark, steps, limit = entry, 0, 1
        while len(offsets) < max_num:
            position = entries + _ENTRY_SIZE * entry
            if position > last:
                position = to_i32(position)
            if not 0 <= position <= last:
                return
            hash_read, phy_offset, time_diff, previous = _ENTRY.unpack_from(mapping, position)
            if time_diff < 0:
                return
            time = header_begin + 1000 * time_diff
            if time > _LONG_MAX:
                time = to_i64(time)
            if hash_read == key_hash and begin <= time <= end:
                offsets.append(phy_offset)
                mark, steps, limit = entry, 0, 1
            if previous <= 0 or previous > count or previous == entry or time < begin:
                return
            entry = previous
            steps += 1
            if entry == mark and len(offsets) < max_num:  # Brent: back at the mark without a hit since
                raise self._endless(entry, position)
            if steps == limit:
                mark, steps, limit = entry, 0, limit * 2

    def _endless(self, entry: int, position: int) -> InvalidError:
        return InvalidError(
            file=str(self.path),
            offset=position,
            found=f"a chain that leads back to entry {entry:,}",
            expected="a chain that ends; a broker would never answer",
            clause="IDX-SEL-6",
        )

    def select_many(
        self, keys: Sequence[str] | NDArray[np.int32], max_num: int, begin: int, end: int
    ) -> Hits:
        """As `select` for each key; see there.

        Args:
            keys: index keys (list or pyarrow string array), or their hashes as an int32 array.
            max_num: hits a key at most.
            begin: first ms of the window, inclusive.
            end: last ms of the window, inclusive.
        """
        hashes = _hashes(keys)
        safe = abs(self._begin_timestamp) < 1 << 62  # no time of an entry wraps
        if len(hashes) >= COMPILED_FROM and self._slots and safe:
            chains = Chains(self._mapping, self._slots, self._entries, self.header())
            hits = select_batch(chains, hashes, (max_num, begin, end))
            if isinstance(hits, Hits):
                return hits
            raise self._endless(hits, 0)
        found: list[int] = []
        bounds = np.zeros(len(hashes) + 1, np.int64)
        for number, key_hash in enumerate(hashes.tolist(), 1):
            self._select(key_hash, found, len(found) + max_num, begin, end)
            bounds[number] = len(found)
        return Hits(bounds, np.array(found, np.int64))


def _seconds(difference: int) -> int:
    """Whole seconds of a difference in ms, as put stores them (IDX-PUT-2, IDX-PUT-4)."""
    return min(max(to_i64(difference), 0) // 1000, _INT_MAX)


def _hashes(keys: Sequence[str] | NDArray[np.int32]) -> NDArray[np.int32]:
    return keys if isinstance(keys, np.ndarray) else hash_keys(keys)
