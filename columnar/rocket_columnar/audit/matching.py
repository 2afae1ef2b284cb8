"""Compares units and entries with the records that they point to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from rocket_spec.layout import PRE_BLANK_SIZE

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "DOUBLE",
    "LOST",
    "MOVED",
    "NOT_OWN",
    "OUTSIDE",
    "SIZE",
    "TAGS",
    "TIME",
    "WRONG",
    "EntryColumns",
    "EntryPieces",
    "EntryRecords",
    "UnitColumns",
    "UnitPieces",
    "UnitRecords",
    "match_entries",
    "match_units",
]

OUTSIDE: Final = 128
"""Flag: points outside the range, or is not a unit that 4.9.3 accepts; not checked."""
LOST: Final = 1
"""Flag: no record begins at that offset."""
NOT_OWN: Final = 2
SIZE: Final = 4
MOVED: Final = 8
TAGS: Final = 16
"""Flags of units: the record belongs to another queue, has another size, logical offset or tags code."""
WRONG: Final = 2
DOUBLE: Final = 4
TIME: Final = 8
"""Flags of entries: no key of the record has the hash; indexed before; the time diff is not the record's."""


class UnitPieces(NamedTuple):
    """Parts of consume-queue files, one after the other.

    Attributes:
        bounds: first row of each piece, and at last the number of rows.
        topics: number of the topic of each piece's queue, -1 for one without records.
        queues: number of each piece's queue.
        firsts: logical offset of each piece's first unit.
    """

    bounds: NDArray[np.int64]
    topics: NDArray[np.int64]
    queues: NDArray[np.int64]
    firsts: NDArray[np.int64]


class UnitColumns(NamedTuple):
    """The fields of units, and the place of each unit's record among those of the range, -1 for none."""

    phy_offset: NDArray[np.int64]
    size: NDArray[np.int32]
    tags_code: NDArray[np.int64]
    record: NDArray[np.int64]


class UnitRecords(NamedTuple):
    """What the units of records should contain; columns of `log.Requests`."""

    phy_offset: NDArray[np.int64]
    topic: NDArray[np.int32]
    queue_id: NDArray[np.int32]
    size: NDArray[np.int32]
    queue_offset: NDArray[np.int64]
    tags_code: NDArray[np.int64]


class EntryPieces(NamedTuple):
    """Parts of index files, one after the other.

    Attributes:
        bounds: first row of each piece, and at last the number of rows.
        firsts: number of each piece's first entry.
        begins: begin timestamp in the header of each piece's file, ms.
    """

    bounds: NDArray[np.int64]
    firsts: NDArray[np.int64]
    begins: NDArray[np.int64]


class EntryColumns(NamedTuple):
    """The fields of entries, and the place of each entry's record among those of the range, -1 for none."""

    key_hash: NDArray[np.int32]
    phy_offset: NDArray[np.int64]
    time_diff: NDArray[np.int32]
    prev_entry: NDArray[np.int32]
    record: NDArray[np.int64]


class EntryRecords(NamedTuple):
    """What the entries of records should contain.

    Attributes:
        phy_offset: of each record.
        store_timestamp: of each record, ms.
        key_count: number of keys of each record.
        key_hash: of each key.
    """

    phy_offset: NDArray[np.int64]
    store_timestamp: NDArray[np.int64]
    key_count: NDArray[np.int32]
    key_hash: NDArray[np.int32]


_INT_MAX: Final = 0x7FFFFFFF


def _of_rows(pieces: UnitPieces | EntryPieces, column: NDArray[np.int64]) -> NDArray[np.int64]:
    """A value of each piece, for each of its rows."""
    return np.repeat(column, np.diff(pieces.bounds))


def match_units(
    pieces: UnitPieces,
    units: UnitColumns,
    records: UnitRecords,
    span: tuple[int, int],
    queued: NDArray[np.uint8],
) -> NDArray[np.uint8]:
    """The flags of units, compared with their records.

    Args:
        pieces: where the units are from.
        units: the units.
        records: of the range.
        span: the range's first and last physical offset.
        queued: gets 1 for each record to which a unit of its own queue points.
    """
    offset, size, tags, place = units
    low, last = span
    judged = (offset >= low) & (offset <= last) & (size > 0)
    judged &= ~((offset == 0) & (size == PRE_BLANK_SIZE) & (tags == 0))
    flags = np.where(judged, np.where(place < 0, LOST, 0), OUTSIDE).astype(np.uint8)
    rows = np.flatnonzero(judged & (place >= 0))
    of = place[rows]
    logical = _of_rows(pieces, pieces.firsts - pieces.bounds[:-1])[rows] + rows
    own = records.topic[of] == _of_rows(pieces, pieces.topics)[rows]
    own &= records.queue_id[of] == _of_rows(pieces, pieces.queues)[rows]
    queued[of[own]] = 1
    found = np.where(own, np.where(records.queue_offset[of] != logical, MOVED, 0), NOT_OWN)
    found |= np.where(records.size[of] != size[rows], SIZE, 0)
    found |= np.where(records.tags_code[of] != tags[rows], TAGS, 0)
    flags[rows] = found
    return flags


def match_entries(
    pieces: EntryPieces,
    entries: EntryColumns,
    records: EntryRecords,
    span: tuple[int, int],
    seen: NDArray[np.uint8],
) -> NDArray[np.uint8]:
    """The flags of entries, compared with the keys of their records.

    A record may have one key twice: of its entries with one hash each takes the next key with that hash.

    Args:
        pieces: where the entries are from.
        entries: the entries.
        records: of the range.
        span: the range's first and last physical offset.
        seen: gets 1 for each key that has an entry.
    """
    hashes, offset, diffs, previous, place = entries
    low, last = span
    zeros = (offset == 0) & (hashes == 0) & (diffs == 0) & (previous == 0)
    judged = (offset >= low) & (offset <= last) & ~zeros
    flags = np.where(judged, np.where(place < 0, LOST, 0), OUTSIDE).astype(np.uint8)
    rows = np.flatnonzero(judged & (place >= 0))
    of = place[rows]
    found = _matched(of, hashes[rows], records, seen)
    begin = _of_rows(pieces, pieces.begins)[rows]
    number = _of_rows(pieces, pieces.firsts - pieces.bounds[:-1])[rows] + rows
    expected = np.clip((records.store_timestamp[of] - begin) // 1000, 0, _INT_MAX)
    expected[begin <= 0] = 0
    late = (diffs[rows] >= 0) & (number > 1) & (diffs[rows] != expected)
    flags[rows] = found | np.where(late, TIME, 0).astype(np.uint8)
    return flags


def _matched(
    of: NDArray[np.int64], hashes: NDArray[np.int32], records: EntryRecords, seen: NDArray[np.uint8]
) -> NDArray[np.uint8]:
    """WRONG for entries with a hash that no key of their record has, DOUBLE for those whose keys all have entries before."""
    owner = np.repeat(np.arange(records.key_count.size), records.key_count)
    keys = (owner << 32) | records.key_hash
    wanted = (of << 32) | hashes.view(np.uint32)  # a negative hash is no key's
    key_order = np.argsort(keys, kind="stable")
    ordered = keys[key_order]
    first = np.searchsorted(ordered, wanted)
    count = np.searchsorted(ordered, wanted, side="right") - first
    order = np.argsort(wanted, kind="stable")
    starts = np.flatnonzero(np.diff(wanted[order], prepend=-1) != 0)
    rank = np.empty(wanted.size, np.int64)
    rank[order] = np.arange(wanted.size) - np.repeat(starts, np.diff(np.append(starts, wanted.size)))
    fits = rank < count
    seen[key_order[(first + rank)[fits]]] = 1
    return np.where(fits, 0, np.where(count > 0, DOUBLE, WRONG)).astype(np.uint8)
