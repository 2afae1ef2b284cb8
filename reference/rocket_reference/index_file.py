"""The index file: put, select, and the in-memory header that goes before the bytes.

Read beside `org.apache.rocketmq.store.index.IndexFile` of 4.9.3; line numbers below are its own unless
another class is named.

Theory of operation. The file is a hash table on disk. A header of 40 bytes, S slots of 4 and N entries of
20 follow each other; it does not record S or N. A slot holds the number of the newest entry whose key hash
falls to it, each entry the number of the one before: a chain from the newest to the oldest. Entries are
numbered in the order of the puts, from 1; entry 0 is never written, so a 0 ends a chain.

                    slot = hash mod S
    header | slot 0 | slot 1 | ... | slot S-1 | (entry 0) | entry 1 | entry 2 | ... | entry N-1
                         |                                     ^          |  ^
                         |                                     +-- prev --+  |
                         +---------------------------------------------------+

Three things surprise. The header lives in memory and each setter writes through, so a file that was only
created holds 40 zero bytes although its count is 1. Every position is a Java int and may wrap. And an
exception in the middle of a put is caught: the put returns false, and the writes made before it stay.
"""

import os
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import Final

from rocket_spec.errors import MalformedError

from rocket_reference._cycle_watch import CycleWatch
from rocket_reference._mapping import MappedBuffer, WritableBuffer, check_file_name, map_file
from rocket_reference.errors import JavaError
from rocket_reference.index_header import HEADER_SIZE, IndexHeader, InMemoryHeader
from rocket_reference.java import I32_MAX, abs_i32, div, rem, string_hash, to_i32, to_i64
from rocket_reference.rules import RULES_4_9_3, Rules

SLOT_SIZE: Final = 4
ENTRY_SIZE: Final = 20
NO_ENTRY: Final = 0  # invalidIndex


def key_hash(key: str) -> int:
    """The key hash of `topic#key`: 0 .. 2^31-1.

    Math.abs leaves Integer.MIN_VALUE negative, and that alone becomes 0 (IDX-HASH-1, IDX-HASH-2).

    Source: IndexFile.indexKeyHashMethod 164-170.
    """
    positive = abs_i32(string_hash(key))
    return max(positive, 0)


def file_size(hash_slot_num: int, index_num: int) -> int:
    """Length in bytes of an index file, in int arithmetic: it may wrap, even to a negative (IDX-FILE-3).

    Source: IndexFile 44-45.
    """
    return to_i32(HEADER_SIZE + hash_slot_num * SLOT_SIZE + index_num * ENTRY_SIZE)


class IndexFile:
    """An index file over a writable buffer; its first `file_size(...)` bytes count.

    Raises JavaError: IllegalArgumentException when the size wraps to a negative int; IndexOutOfBoundsException when
    it wraps to one so small that a seed falls outside (IDX-FILE-3).
    Raises MalformedError: when the buffer is shorter than the geometry asks for.
    Source: IndexFile 42-64.
    """

    __slots__ = ("_buffer", "_entries", "_header", "_rules", "hash_slot_num", "index_num")

    def __init__(
        self,
        buffer: WritableBuffer,
        hash_slot_num: int,
        index_num: int,
        *,
        end_phy_offset: int = 0,
        end_timestamp: int = 0,
        rules: Rules = RULES_4_9_3,
    ) -> None:
        size = file_size(hash_slot_num, index_num)
        if size < 0:
            raise JavaError("IllegalArgumentException", f"Negative size: {size}")
        length = memoryview(buffer).nbytes
        if length < size:
            raise MalformedError(found=f"{length} bytes", expected=f"{size} bytes", clause="IDX-FILE-1")
        self.hash_slot_num = hash_slot_num  # S, the number of slots; the file does not record it
        self.index_num = index_num  # N, the number of entries with entry 0, which is never used
        self._rules = rules
        self._entries = to_i32(HEADER_SIZE + hash_slot_num * SLOT_SIZE)
        self._buffer = MappedBuffer(buffer, size)
        self._header = InMemoryHeader(self._buffer)
        if end_phy_offset > 0:  # IDX-FILE-2: a file that follows another starts where that one ended
            self._header.set_begin_phy_offset(end_phy_offset)
            self._header.set_end_phy_offset(end_phy_offset)
        if end_timestamp > 0:
            self._header.set_begin_timestamp(end_timestamp)
            self._header.set_end_timestamp(end_timestamp)

    def load(self) -> None:
        """Takes the header from the bytes (IDX-LOAD-1, IDX-LOAD-2).

        Raises JavaError: IndexOutOfBoundsException when the size wrapped to less than a header.
        """
        self._header.load()

    def flush(self) -> None:
        """Writes the in-memory header to the bytes (IDX-FLUSH-1).

        Raises JavaError: IndexOutOfBoundsException when the size wrapped to less than a header; the fields that fit
        are written.
        """
        self._header.update_bytes()

    def header(self) -> IndexHeader:
        """The header as it is in memory, which goes before the bytes (IDX-HDR-5)."""
        return self._header.snapshot()

    def full(self) -> bool:
        """Whether the next put would be refused (IDX-FULL-1). Source: IndexFile.isWriteFull 84-86."""
        return self._header.index_count >= self.index_num

    def put(self, key: str, phy_offset: int, store_timestamp: int) -> bool:
        """Adds an entry for `key` (`topic#key`), and returns whether that was done.

        Args:
            key: topic, '#', key.
            phy_offset: physical offset of the record, bytes.
            store_timestamp: ms since the epoch.

        Raises:
            JavaError: ArithmeticException when there are no slots (IDX-PUT-10).

        Source: IndexFile.putKey 92-162.
        """
        header = self._header
        if header.index_count >= self.index_num:  # IDX-PUT-1
            return False
        hash_ = key_hash(key)
        slot_position = self._slot_position(hash_)  # outside the try: what it throws leaves
        try:
            self._put(hash_, slot_position, phy_offset, store_timestamp)
        except JavaError:  # IDX-PUT-9: what was written before it stays
            return False
        return True

    def _put(self, hash_: int, slot_position: int, phy_offset: int, store_timestamp: int) -> None:
        """The writes of a put, in their order (IDX-PUT-11): entry, slot, header. Source: 104-142."""
        buffer, header = self._buffer, self._header
        count = header.index_count

        previous = buffer.get_int(slot_position)
        if previous <= NO_ENTRY or previous > count:  # IDX-PUT-5: equal to count is kept
            previous = NO_ENTRY

        time_diff = self._time_diff(store_timestamp)

        position = self._entry_position(count)
        buffer.put_int(position, hash_)  # IDX-PUT-6
        buffer.put_long(position + 4, phy_offset)
        buffer.put_int(position + 12, time_diff)
        buffer.put_int(position + 16, previous)

        buffer.put_int(slot_position, count)  # IDX-PUT-7

        if count <= 1:  # IDX-HDR-2; over a seed too, after the time diff was taken from it (IDX-PUT-8)
            header.set_begin_phy_offset(phy_offset)
            header.set_begin_timestamp(store_timestamp)
        if previous == NO_ENTRY or self._rules.counts_every_put:  # IDX-HDR-4
            header.increment_hash_slot_count()
        header.increment_index_count()
        header.set_end_phy_offset(phy_offset)  # IDX-HDR-3: the last put's, not the greatest
        header.set_end_timestamp(store_timestamp)

    def _time_diff(self, store_timestamp: int) -> int:
        """Whole seconds since the header's begin, 0 .. 2^31-1. Source: 109-119."""
        begin = self._header.begin_timestamp
        seconds = div(to_i64(store_timestamp - begin), 1000)  # IDX-PUT-2: the subtraction wraps
        if begin <= 0:  # IDX-PUT-3
            return 0
        return max(0, min(seconds, I32_MAX))  # IDX-PUT-4

    def select(self, key: str, max_num: int, begin: int, end: int, initial: Iterable[int] = ()) -> list[int]:
        """The physical offsets of entries whose hash is that of `key`, newest entry first (IDX-SEL-2).

        Other keys of the same hash are found too: no key is stored (IDX-SEL-9).

        Args:
            key: topic, '#', key.
            max_num: stop when the list is this long, `initial` counted.
            begin: start of the window, ms since the epoch, inclusive.
            end: end of the window, inclusive.
            initial: offsets that the list holds already.

        Returns:
            `initial`, then what was found.

        Raises:
            JavaError: ArithmeticException when there are no slots (IDX-SEL-10).
            UnspecifiedError: where 4.9.3 would never return, or fill the memory.

        Source: IndexFile.selectPhyOffset 191-265.
        """
        offsets = list(initial)
        hash_ = key_hash(key)
        slot_position = self._slot_position(hash_)
        try:
            entry = self._buffer.get_int(slot_position)
            count = self._header.index_count
            if not (entry <= NO_ENTRY or entry > count or count <= 1):  # IDX-SEL-1
                self._walk(offsets, entry, hash_, max_num, (begin, end))
        except JavaError:  # IDX-SEL-8: the hits so far
            pass
        return offsets

    def _walk(
        self, offsets: list[int], entry: int, hash_: int, max_num: int, window: tuple[int, int]
    ) -> None:
        """Follows the chain from `entry` and appends hits to `offsets`. Source: 214-249."""
        buffer, header = self._buffer, self._header
        begin, end = window
        watch = CycleWatch(max_num)
        while len(offsets) < max_num:  # IDX-SEL-3
            watch.step(entry, len(offsets))
            position = self._entry_position(entry)
            hash_read = buffer.get_int(position)
            phy_offset = buffer.get_long(position + 4)
            time_diff = buffer.get_int(position + 12)
            previous = buffer.get_int(position + 16)
            if time_diff < 0:  # IDX-SEL-5
                break
            time_read = to_i64(header.begin_timestamp + time_diff * 1000)
            if hash_read == hash_ and begin <= time_read <= end:  # IDX-SEL-4
                offsets.append(phy_offset)
            if previous <= NO_ENTRY or previous > header.index_count or previous == entry:  # IDX-SEL-6
                break
            if time_read < begin:  # IDX-SEL-7
                break
            entry = previous

    def time_matched(self, begin: int, end: int) -> bool:
        """Whether a window meets the header's times, by three tests (IDX-TIME-1, -2, -3).

        They are exact only while begin <= end, in the header and in the window.

        Source: IndexFile.isTimeMatched 184-189.
        """
        first, last = self._header.begin_timestamp, self._header.end_timestamp
        return (
            (begin < first and end > last)  # IDX-TIME-1
            or first <= begin <= last  # IDX-TIME-2
            or first <= end <= last  # IDX-TIME-3
        )

    def _slot_position(self, hash_: int) -> int:
        """Byte offset of the slot of a key hash, in int arithmetic (IDX-HASH-3). Source: 95-96."""
        return to_i32(HEADER_SIZE + rem(hash_, self.hash_slot_num) * SLOT_SIZE)

    def _entry_position(self, entry: int) -> int:
        """Byte offset of an entry, in int arithmetic (IDX-ENT-1, IDX-FILE-3). Source: 121-123, 219-221."""
        return to_i32(self._entries + entry * ENTRY_SIZE)


@contextmanager
def open_index_file(
    path: str | os.PathLike[str],
    hash_slot_num: int,
    index_num: int,
    *,
    end_phy_offset: int = 0,
    end_timestamp: int = 0,
    load: bool = False,
    rules: Rules = RULES_4_9_3,
) -> Generator[IndexFile]:
    """An index file mapped as `MappedFile` maps it; the file is released when the block ends.

    A missing file is made, a shorter one extended with zeros, a longer one keeps its length (IDX-FILE-1).
    Without `load` an existing file gets a fresh in-memory header over its old bytes (IDX-FILE-5); with it,
    the seeds are written first and the header is loaded after (IDX-FILE-2).

    Raises JavaError: NumberFormatException for a name that is not a number, with nothing created (IDX-FILE-4);
    IllegalArgumentException for a negative size, the file made empty; IndexOutOfBoundsException for a mapping too
    small for the seeds or the load; FileNotFoundException, IOException.
    Source: IndexFile 42-64; MappedFile.init 155-180.
    """
    check_file_name(path)
    with map_file(path, file_size(hash_slot_num, index_num)) as view:
        index = IndexFile(
            view,
            hash_slot_num,
            index_num,
            end_phy_offset=end_phy_offset,
            end_timestamp=end_timestamp,
            rules=rules,
        )
        if load:
            index.load()
        yield index
