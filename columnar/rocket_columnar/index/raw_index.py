"""Index files as they are on the disk: header, slots and entries whatever the header contains, and the geometries that their content allows."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

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
    """The fill level of a file."""

    header: IndexHeader  # as it is in the file, with the count of the last read
    first_count: int  # the count of the first read, which a broker may have raised since
    written: int  # one more than the number of the last entry that is not all zeros

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


# Measures how well an index file's slots, chains and entries agree with a geometry.
#
# The file does not record its geometry, but every put ties three places together: the entry's key hash modulo
# the number of slots names the slot, the slot leads to the newest entry of the chain, and each entry leads to
# the one before it in the same slot (IDX-HASH-3, IDX-PUT-6, IDX-PUT-7). With another number of slots the
# same bytes are other entries, and the ties break.


SAMPLE: Final = 4096  # entries checked in one file
_RUN: Final = 256  # of these, neighbours
_WHOLE: Final = 1 << 20  # a region up to this many bytes is read at once
_BESIDE: Final = 1 << 14  # up to this many bytes between two items are read rather than skipped


@dataclass(frozen=True, slots=True)
class Agreement:
    """Number of entries that were checked, of those in the chain of the slot that follows from their hash, and of these chains.

    Such an entry's slot leads to an entry of the same slot at or after it, and its previous entry, if any, is of the same slot and before it.
    """

    checked: int
    agreed: int
    chains: int

    @property
    def holds(self) -> bool:
        """Whether more than half agreed: all do in a whole file, hardly any with another geometry."""
        return self.agreed * 2 > self.checked

    def __add__(self, other: Agreement) -> Agreement:
        return Agreement(self.checked + other.checked, self.agreed + other.agreed, self.chains + other.chains)


def _distinct(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Each of some numbers >= 0 once, in order; the first call of NumPy's own `unique` imports masked arrays, for 8 ms."""
    ordered = np.sort(numbers, axis=None)
    return ordered[np.diff(ordered, prepend=-1) > 0]


def _gather(
    reader: Reader, base: int, numbers: NDArray[np.int64], count: int, dtype: np.dtype[Any]
) -> NDArray[Any]:
    """Items `numbers` (each 0 <= n < `count`) of the array of `dtype` at byte `base`."""
    if count * dtype.itemsize <= _WHOLE:
        return reader.read(base, count * dtype.itemsize).view(dtype)[numbers]
    if not numbers.size:
        return np.empty(0, dtype)
    unique = _distinct(numbers)
    items = np.empty(unique.size, dtype)
    # Neighbours are read together: one read for each run without a larger gap.
    starts = np.flatnonzero(np.diff(unique, prepend=np.int64(-_WHOLE)) > _BESIDE // dtype.itemsize)
    for begin, end in zip(starts, [*starts[1:], unique.size], strict=True):
        first, last = int(unique[begin]), int(unique[end - 1])
        read = reader.read(base + first * dtype.itemsize, (last - first + 1) * dtype.itemsize).view(dtype)
        items[begin:end] = read[unique[begin:end] - first]
    return items[np.searchsorted(unique, numbers)]


def _sample(last: int, limit: int) -> NDArray[np.int64]:
    """Numbers out of 1 .. `last`: all, or runs spread evenly, the first and the last among them."""
    if last <= limit:
        return np.arange(1, last + 1, dtype=np.int64)
    runs = max(limit // _RUN, 1)
    width = min(_RUN, limit)
    starts = np.linspace(1, last - width + 1, runs).astype(np.int64)
    return _distinct(starts[:, None] + np.arange(width))


def agreement(
    reader: Reader, header: IndexHeader, geometry: Geometry, *, sample: int = SAMPLE, at_end: bool = False
) -> Agreement:
    """Compares up to `sample` entries of one file with their slots and chains, in bounded memory.

    With `at_end` they are the last entries of the file instead of evenly spread ones.
    """
    slots, capacity = geometry
    last = min(header.index_count, capacity) - 1
    if last < 1:
        return Agreement(0, 0, 0)
    numbers = np.arange(max(1, last - sample + 1), last + 1) if at_end else _sample(last, sample)
    entries = _gather(reader, geometry.entries_offset, numbers, capacity, ENTRY_DTYPE)
    hashes = entries["key_hash"].astype(np.int64)
    previous = entries["prev_entry"].astype(np.int64)
    slot = hashes % slots
    newest = _gather(reader, INDEX_HEADER.size, slot, slots, np.dtype(">i4")).astype(np.int64)
    # While a broker appends, a slot may lead beyond the index count that was read before it.
    good = (hashes >= 0) & (newest >= numbers) & (newest < capacity) & (previous >= 0) & (previous <= numbers)
    good &= entries["time_diff"] >= 0
    for other in (newest, previous):
        inside = good & (other > 0)
        heads = _gather(reader, geometry.entries_offset, other[inside], capacity, ENTRY_DTYPE)["key_hash"]
        good[inside] &= (heads >= 0) & (heads.astype(np.int64) % slots == slot[inside])
    # Of two neighbours in one slot, with nothing skipped between them, the later must lead to the earlier.
    run = np.cumsum(np.diff(numbers, prepend=numbers[0]) != 1)
    order = np.lexsort((numbers, slot, run))
    earlier, later = order[:-1], order[1:]
    linked = (slot[earlier] == slot[later]) & (run[earlier] == run[later])
    good[later[linked]] &= previous[later[linked]] == numbers[earlier[linked]]
    return Agreement(int(numbers.size), int(good.sum()), int(_distinct(slot[good]).size))


def ends_agree(reader: Reader, header: IndexHeader, geometry: Geometry) -> int:
    """The number of entries among 1 and indexCount - 1 that have the physical offset of the header: 0 to 2."""
    last = header.index_count - 1
    if not 1 <= last < geometry.index_num:
        return 0
    entries = _gather(reader, geometry.entries_offset, np.array([1, last]), geometry.index_num, ENTRY_DTYPE)
    return int(np.sum(entries["phy_offset"] == (header.begin_phy_offset, header.end_phy_offset)))


# Every geometry that one index file's content allows, out of all that its size allows.
#
# With D = (size - 40) / 4 words after the header, S + 5 N = D: one number N of entries fixes the number S of
# slots. Entries are counted from the end of the file, where their positions do not depend on N: entry k of a
# file of N entries begins 20 (N - k) bytes before the end. Slots are counted from byte 40. So one slot that is
# in use, number s with value v, asks each N one question: is the key hash of the cell N - v before the end,
# modulo D - 5 N, equal to s? NumPy asks a quarter of a million N at a time; holes of sparse files are not read.


_CELLS: Final = 1 << 18
_KEEP: Final = 1000  # survivors kept of one search


def count_of_size(size: int, least_entries: int = 1) -> int:
    """Number of geometries with at least `least_entries` entries that make a file of `size` bytes."""
    words, rest = divmod(size - INDEX_HEADER.size, INDEX_SLOT.size)
    return 0 if rest else max(0, (words - 1) // 5 - least_entries + 1)


def geometries_of_size(size: int, least_entries: int = 1) -> Iterator[Geometry]:
    """The geometries with at least `least_entries` entries that make a file of `size` bytes, by N."""
    words = (size - INDEX_HEADER.size) // INDEX_SLOT.size
    for number in range(least_entries, least_entries + count_of_size(size, least_entries)):
        yield Geometry(words - 5 * number, number)


def last_entry_guess(reader: Reader, header: IndexHeader) -> Geometry | None:
    """The geometry that puts entry indexCount - 1 into the last cell of the file that is not zero."""
    if header.index_count < 2:
        return None
    last = reader.last_nonzero(INDEX_HEADER.size, reader.size)
    if last is None:
        return None
    cell = (reader.size - 1 - last) // INDEX_ENTRY.size + 1
    number = cell + header.index_count - 1
    slots = (reader.size - INDEX_HEADER.size) // INDEX_SLOT.size - 5 * number
    return Geometry(slots, number) if slots >= 1 else None


def _used_slots(reader: Reader, header: IndexHeader, greatest: int) -> Iterator[tuple[int, int]]:
    """The first words after the header that could be slots in use: (number, value), values to `greatest`."""
    limit = reader.size - INDEX_ENTRY.size * (header.index_count - 1)
    step = _CELLS * INDEX_SLOT.size
    for first, end in reader.extents(INDEX_HEADER.size):
        # Extents begin at file-system blocks; words begin at multiples of 4, as the header's 40 bytes do.
        for low in range(first - first % 4, min(end, limit), step):
            high = min(low + step, end, limit)
            words = reader.read(low, (high - low) // 4 * 4).view(">i4")
            for index in np.flatnonzero((words > 0) & (words <= greatest)):
                yield (low - INDEX_HEADER.size) // 4 + int(index), int(words[index])


def _questions(reader: Reader, header: IndexHeader, greatest: int) -> list[tuple[int, int]]:
    """One slot in use, or two if the first is slot 0, which is a weak question: every hash modulo 1 is 0."""
    used = _used_slots(reader, header, greatest)
    first = next(used, None)
    if first is None:
        return []
    second = next(used, None) if first[0] == 0 else None
    return [first] if second is None else [second, first]


def _ask(reader: Reader, slot: int, value: int, least: int, most: int) -> Iterator[int]:
    """The numbers N in [`least`, `most`] for which entry `value` belongs into slot `slot`."""
    size, width = reader.size, INDEX_ENTRY.size
    words = (size - INDEX_HEADER.size) // INDEX_SLOT.size
    begin, end = size - width * (most - value), size - width * (least - value) + width
    for first, limit in reader.extents(begin):
        low = max(begin, first - (first - begin) % width)
        high = min(end, limit + (begin - limit) % width)
        for start in range(low, high, _CELLS * width):
            cells = reader.read(start, min(_CELLS * width, high - start)).view(ENTRY_DTYPE)
            numbers = (size - start) // width - np.arange(cells.size, dtype=np.int64) + value
            hashes = cells["key_hash"].astype(np.int64)
            good = (hashes >= 0) & (hashes % (words - 5 * numbers) == slot)
            good &= (cells["time_diff"] >= 0) & (cells["prev_entry"] >= 0) & (cells["prev_entry"] <= value)
            # An entry of zeros alone is one that was never written.
            good &= (hashes != 0) | (cells["phy_offset"] != 0)
            yield from (int(number) for number in numbers[good])
        if limit >= end:
            return


def search(reader: Reader, header: IndexHeader) -> list[Geometry]:
    """The geometries under which most of the file's entries agree with their slots and chains, by N.

    At most a thousand are returned; more are useless. Slots that lead beyond the index count are asked
    only if the others give no answer: a header can be late.
    """
    if header.index_count < 2:
        return []
    room = (reader.size - INDEX_HEADER.size - INDEX_SLOT.size) // INDEX_ENTRY.size
    return _answers(reader, header, header.index_count - 1) or _answers(reader, header, room - 1)


def _answers(reader: Reader, header: IndexHeader, greatest: int) -> list[Geometry]:
    words = (reader.size - INDEX_HEADER.size) // INDEX_SLOT.size
    most = (words - 1) // 5
    least = header.index_count
    found: list[Geometry] = []
    # Geometries that have the first slot asked about are asked about it; the rest, with fewer slots, about slot 0.
    for slot, value in _questions(reader, header, greatest):
        top = min(most, (words - slot - 1) // 5)
        for number in _ask(reader, slot, value, max(least, value + 1), top):
            geometry = Geometry(words - 5 * number, number)
            if agreement(reader, header, geometry, sample=16, at_end=True).holds and (
                agreement(reader, header, geometry).holds
            ):
                found.append(geometry)
                if len(found) >= _KEEP:
                    break
        least = max(least, top + 1)
    return sorted(found, key=lambda geometry: geometry.index_num)


_SMALL: Final = 5_000  # words of a file for which every geometry of its length is tried

_SAMPLED: Final = 32  # entries at the beginning whose records are looked for

_ALL_IN_USE: Final = 3

_NEAR: Final = 5  # points below the best from which slots cannot decide any more


def search_by_records(
    readers: Sequence[Reader], headers: Sequence[IndexHeader], is_record: Callable[[int], bool]
) -> Geometry | None:
    """The geometry that most files of one size agree with by their records, whatever slots, hashes and links are.

    Where the last entry is follows from the last bytes of a file that are not zero; in a small file every geometry is tried.
    `is_record` is whether a record of the log begins at a physical offset.
    """
    votes: Counter[Geometry] = Counter()
    known = cache(is_record)
    for reader, header in zip(readers, headers, strict=True):
        if header.index_count > 1:
            points = {one: _record_score(reader, header, one, known) for one in _near(reader, header)}
            best = max(points.values(), default=0)
            near = [one for one, score in points.items() if score > max(best - _NEAR, 0)]
            scores = {one: points[one] + _slot_score(reader, header, one) for one in near}
            best = max(scores.values(), default=0)
            votes.update(geometry for geometry, score in scores.items() if score == best)
    (first, count), *others = [*votes.most_common(2), (None, 0)]
    return first if count > max((other for _, other in others), default=0) else None


def _near(reader: Reader, header: IndexHeader) -> Iterator[Geometry]:
    """The geometries of a small file, or those that put the last entry where the last bytes are, give or take one."""
    words = (reader.size - INDEX_HEADER.size) // INDEX_SLOT.size
    guess = last_entry_guess(reader, header)
    number = 1 if guess is None else guess.index_num
    numbers = range(1, words // 5 + 1) if words <= _SMALL else range(number - 1, number + 2)
    return (Geometry(words - 5 * one, one) for one in numbers if one > 0 and words > 5 * one)


def _head(reader: Reader, header: IndexHeader, geometry: Geometry) -> NDArray[np.void]:
    """Entry 0 and the first of the others."""
    begin, size = geometry.entries_offset, INDEX_ENTRY.size
    last = min(header.index_count, geometry.index_num) - 1
    return reader.read(begin, min(size * (1 + min(_SAMPLED, last)), reader.size - begin)).view(ENTRY_DTYPE)


def _tail(reader: Reader, header: IndexHeader, geometry: Geometry) -> NDArray[np.void]:
    """The last entry."""
    last = min(header.index_count, geometry.index_num) - 1
    return reader.read(geometry.entries_offset + INDEX_ENTRY.size * last, INDEX_ENTRY.size).view(ENTRY_DTYPE)


def _record_score(
    reader: Reader, header: IndexHeader, geometry: Geometry, is_record: Callable[[int], bool]
) -> int:
    """Points for entries of records, an entry 0 of zeros, and a header that names both ends."""
    head, tail = _head(reader, header, geometry), _tail(reader, header, geometry)
    if head.size < 2 or not any(head[1].tobytes()):
        return 0
    score = sum(is_record(int(entry["phy_offset"])) for entry in head[1:] if entry["key_hash"] >= 0)
    if not 2 * score > head.size - 1:
        return 0
    zeros = not any(head[0].tobytes())  # else it may be one of a broker that counts from 0
    score += 2 if zeros else 1 if is_record(int(head[0]["phy_offset"])) else -4
    ends = head[1]["phy_offset"] == header.begin_phy_offset, tail[0]["phy_offset"] == header.end_phy_offset
    return score + sum(map(int, ends))


def _slot_score(reader: Reader, header: IndexHeader, geometry: Geometry) -> int:
    """Points if all slots of the hashes are in use, and for the last entry's slot."""
    entries = np.concatenate([_head(reader, header, geometry)[1:], _tail(reader, header, geometry)])
    slots = np.maximum(entries["key_hash"].astype(np.int64), 0) % geometry.hash_slot_num
    places = (INDEX_HEADER.size + INDEX_SLOT.size * slots).tolist()
    values = [int(reader.read(place, INDEX_SLOT.size).view(">i4")[0]) for place in places]
    last = min(header.index_count, geometry.index_num) - 1
    return _ALL_IN_USE * (min(values[:-1]) > 0) + (values[-1] == last)


def hashes_at(
    files: Iterable[StoreFile], geometry: Geometry, phy_offsets: Sequence[int]
) -> dict[int, list[int]]:
    """The key hashes under which index files have some records, by their physical offsets; an OSError if one cannot be read."""
    found: dict[int, list[int]] = {}
    for file in files:
        with file.open() as reader:
            windows = EntryWindows(reader, geometry)
            for _, entries in windows.each(windows.state.written, 1):
                for entry in entries[np.isin(entries["phy_offset"], phy_offsets)]:
                    found.setdefault(int(entry["phy_offset"]), []).append(int(entry["key_hash"]))
    return found
