"""Index files as they are on the disk: header, slots and entries whatever the header contains, and the geometry that the records of their entries show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray
from rocket_spec.layout import INDEX_ENTRY, INDEX_HEADER, INDEX_SLOT, Geometry

from rocket_columnar.formats import ENTRY_DTYPE
from rocket_columnar.index.geometry import (
    GeometryGuess,
    IndexHeader,
    agreement_of_all,
    by_size,
    guessed,
    last_entry_guess,
    padded_header,
    read_padded,
)
from rocket_columnar.store import Reader, StoreFile

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


class EntryWindows:
    """The entries of an open file, some at a time.

    The header is read first, and again when slots and entries have been checked, so that a file in use is consistent:
    slots lead to no entry beyond the later count.
    """

    def __init__(self, reader: Reader, geometry: Geometry) -> None:
        self._reader = reader
        self.geometry = geometry
        first = padded_header(reader)
        self._slots = read_padded(reader, INDEX_HEADER.size, INDEX_SLOT.size * geometry.hash_slot_num)
        begin = geometry.entries_offset
        last = reader.last_nonzero(begin, min(reader.size, geometry.file_size))
        written = 1 if last is None else max((last - begin) // INDEX_ENTRY.size + 1, 1)
        self.state = IndexState(padded_header(reader), first.index_count, written)

    def slots(self) -> NDArray[np.int32]:
        """The newest entry of each slot."""
        return self._slots.view(">i4").astype(np.int32)

    def hashes(self, numbers: NDArray[np.int32]) -> NDArray[np.int32]:
        """The key hashes of the entries with these numbers."""
        places = (entry_position(self.geometry, number, "key_hash") for number in numbers.tolist())
        found = (
            int.from_bytes(read_padded(self._reader, place, 4).tobytes(), signed=True) for place in places
        )
        return np.fromiter(found, np.int32, numbers.size)

    def each(self, stop: int, start: int = 0) -> Iterator[tuple[int, NDArray[np.void]]]:
        """Entries from `start` on and before `stop`, as (number of the first, fields as they are in the file)."""
        size = INDEX_ENTRY.size
        for first in range(start, stop, _ENTRIES_AT_ONCE):
            count = min(_ENTRIES_AT_ONCE, stop - first)
            yield (
                first,
                read_padded(self._reader, self.geometry.entries_offset + first * size, count * size).view(
                    ENTRY_DTYPE
                ),
            )


_BY_RECORDS: Final = 8  # files whose entries are compared with the log
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


def resolve_by_records(files: Sequence[StoreFile], is_record: Callable[[int], bool]) -> GeometryGuess | None:
    """The geometry of index files by the records that their entries point to; None if that is not conclusive.

    It needs a log, and decides where no geometry agrees with slots and chains (`resolve`), or not with all of them.
    """
    groups = by_size(files, lambda _file, _error: None)
    group = max(groups.values(), key=len, default=[])
    asked = [*group[: _BY_RECORDS // 2], *group[_BY_RECORDS // 2 :][-_BY_RECORDS // 2 :]]
    with ExitStack() as opened:
        readers = [opened.enter_context(index.file.open()) for index in asked]
        found = search_by_records(readers, [index.header for index in asked], is_record)
    if found is None:
        return None
    guess = guessed(found, agreement_of_all(asked, found), "inferred", 1)
    return replace(guess, reason=f"its entries are those of records of the log; {guess.reason}")


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
