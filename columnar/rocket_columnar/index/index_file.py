"""One index file: put, select, time match and header, as in 4.9.3's IndexFile.

The file is mapped; operations read and write the mapping with `struct`.

The header exists twice, as in 4.9.3: in memory, where every operation reads it, and in the first 40
bytes, where each put and `flush` write it. Opening without `load` starts with a fresh one in memory.
"""

import struct
from collections.abc import Iterable, Iterator

from rocket_spec.errors import InvalidError
from rocket_spec.layout import INDEX_ENTRY

from rocket_columnar.formats import hash_key, to_i32, to_i64
from rocket_columnar.index.mapped_index import (
    ENTRY,
    ENTRY_SIZE,
    INT,
    LONG,
    Entry,
    MappedIndex,
)

_HASH, _OFFSET, _DIFF, _PREVIOUS = (field.offset or 0 for field in INDEX_ENTRY.fields)
_INT_MAX = 0x7FFFFFFF


class IndexFile(MappedIndex):
    """An open index file; use it in a `with` block, or `close` it.

    Source: `IndexFile` and `IndexHeader`, 4.9.3.
    """

    __slots__ = ()

    def full(self) -> bool:
        """Whether no further put is accepted (IDX-FULL-1; `IndexFile.isWriteFull` 83-85)."""
        return self._index_count >= self.geometry.index_num

    def time_matched(self, begin: int, end: int) -> bool:
        """Whether the window in ms touches the header's begin and end (IDX-TIME-1 .. IDX-TIME-3; 184-189)."""
        first, last = self._begin_timestamp, self._end_timestamp
        return (begin < first and end > last) or first <= begin <= last or first <= end <= last

    # put

    def put(self, key: str, phy_offset: int, store_timestamp: int) -> bool:
        """Puts one entry for an index key (`topic#key`).

        Returns:
            False when the file is full, or when a position is outside the mapping: then what was
            written before stays.

        Raises:
            RejectedError: for zero slots.

        Source: IDX-PUT-1 .. IDX-PUT-11; `IndexFile.putKey` 92-162.
        """
        key_hash, count = hash_key(key), self._index_count
        if count >= self.geometry.index_num:
            return False
        slot = self.slot_position(key_hash)
        try:
            (previous,) = self._read_int(slot)
            if previous <= 0 or previous > count:
                previous = 0
            begin = self._begin_timestamp
            time_diff = 0 if begin <= 0 else _seconds(store_timestamp - begin)
            self._write_entry(self.entry_position(count), key_hash, phy_offset, time_diff, previous)
            INT.pack_into(self._mapping, slot, count)
            if count <= 1:
                self._set("begin_phy_offset", phy_offset)
                self._set("begin_timestamp", store_timestamp)
            if previous == 0:
                self._set("hash_slot_count", to_i32(self._hash_slot_count + 1))
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
        """Physical offsets of the entries with the key's hash, newest first, after the `initial` ones.

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
            time = to_i64(self._begin_timestamp + 1000 * found.time_diff)
            if found.time_diff < 0:
                return
            if found.key_hash == key_hash and begin <= time <= end:
                offsets.append(found.phy_offset)
                mark, steps, limit = entry, 0, 1
            if time < begin:
                return

    def chain(self, key_hash: int) -> Iterator[tuple[int, Entry]]:
        """The entries of a hash's chain and their numbers, newest first; without end if the chain is a cycle.

        Source: IDX-SEL-1, IDX-SEL-6, IDX-SEL-8.
        """
        count = self._index_count
        number = self.slot(key_hash) or 0
        while 0 < number <= count > 1 and (found := self.entry(number)) is not None:
            yield number, found
            if found.prev_entry == number:
                return
            number = found.prev_entry

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
