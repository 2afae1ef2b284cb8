"""The loops that compare units and entries with records: plain Python for small stores, compiled for large ones."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

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
    "advance",
    "call",
    "find",
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
        key_start: first key of each record, and last the number of keys; empty for a loop that counts itself.
        key_hash: of each key.
    """

    phy_offset: NDArray[np.int64]
    store_timestamp: NDArray[np.int64]
    key_count: NDArray[np.int32]
    key_start: NDArray[np.int64]
    key_hash: NDArray[np.int32]


_PRE_BLANK: Final = 0x7FFFFFFF
_INT_MAX: Final = 0x7FFFFFFF


@cache
def _compiled(kernel: Callable[..., Any]) -> Callable[..., Any]:
    from rocket_columnar.kernels import jit

    return jit(kernel)


def call(kernel: Callable[..., Any], *values: Any, compiled: bool) -> Any:
    """Calls a kernel of this module; it may change arrays of flags."""
    if compiled:
        return _compiled(kernel)(*values)
    lists = [_plain(value) for value in values]
    result = kernel(*lists)
    for value, changed in zip(values, lists, strict=True):
        if isinstance(value, np.ndarray) and value.dtype == np.uint8:  # flags; nothing else is written to
            value[:] = changed
    return result


def _plain(value: Any) -> Any:
    """Arrays as lists, also inside named tuples."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    return type(value)(*map(_plain, value)) if hasattr(value, "_fields") else value


def find(offsets: Any, low: int, cells: Any, known: Any, places: Any) -> None:
    """Fills `places` with the place of each offset among the `known` ones, -1 for none.

    Records are longer than 64 bytes, so that no two begin in the same 64 bytes: `cells` holds the place of the
    one that does, counted from `low`, or -1.
    """
    end = len(cells)
    for i in range(len(offsets)):
        places[i] = -1
        cell = (offsets[i] - low) >> 6
        if offsets[i] >= low and cell < end:
            place = cells[cell]
            if place >= 0 and known[place] == offsets[i]:
                places[i] = place


def match_units(
    pieces: UnitPieces,
    units: UnitColumns,
    records: UnitRecords,
    span: tuple[int, int],
    flags: Any,
    queued: Any,
) -> int:
    """Compares units with their records.

    Args:
        pieces: where the units are from.
        units: the units.
        records: of the range.
        span: the range's first and last physical offset.
        flags: gets the flags of each unit.
        queued: gets 1 for each record to which a unit of its own queue points.

    Returns:
        The number of units that have flags other than OUTSIDE.
    """
    bounds, topics, queues, firsts = pieces
    offsets, sizes, tags, places = units
    _, of_topic, of_queue, of_size, of_offset, of_tags = records
    low, last = span
    flagged = 0
    for piece in range(len(topics)):
        topic, queue, logical = topics[piece], queues[piece], firsts[piece] - bounds[piece]
        for i in range(bounds[piece], bounds[piece + 1]):
            offset, size = offsets[i], sizes[i]
            if (
                offset < low
                or offset > last
                or size <= 0
                or (offset == 0 and size == _PRE_BLANK and tags[i] == 0)
            ):
                flags[i] = OUTSIDE
                continue
            place = places[i]
            flag = 0
            if place < 0:
                flag = LOST
            else:
                if of_topic[place] != topic or of_queue[place] != queue:
                    flag = NOT_OWN
                else:
                    queued[place] = 1
                    if of_offset[place] != logical + i:
                        flag = MOVED
                if of_size[place] != size:
                    flag |= SIZE
                if of_tags[place] != tags[i]:
                    flag |= TAGS
            flags[i] = flag
            if flag:
                flagged += 1
    return flagged


def match_entries(  # noqa: C901, PLR0912 - one entry, test after test
    pieces: EntryPieces,
    entries: EntryColumns,
    records: EntryRecords,
    span: tuple[int, int],
    flags: Any,
    seen: Any,
) -> int:
    """Compares entries with the keys of their records.

    Args:
        pieces: where the entries are from.
        entries: the entries.
        records: of the range.
        span: the range's first and last physical offset.
        flags: gets the flags of each entry.
        seen: gets 1 for each key that has an entry.

    Returns:
        The number of entries that have flags other than OUTSIDE.
    """
    bounds, firsts, begins = pieces
    hashes, offsets, diffs, previous, places = entries
    _, of_time, _, key_start, key_hash = records
    low, last = span
    flagged = 0
    for piece in range(len(firsts)):
        begin, number = begins[piece], firsts[piece] - bounds[piece]
        for i in range(bounds[piece], bounds[piece + 1]):
            offset, key = offsets[i], hashes[i]
            if (
                offset < low
                or offset > last
                or (offset == 0 and key == 0 and diffs[i] == 0 and previous[i] == 0)
            ):
                flags[i] = OUTSIDE
                continue
            place = places[i]
            if place < 0:
                flags[i] = LOST
                flagged += 1
                continue
            flag = WRONG
            for k in range(key_start[place], key_start[place + 1]):
                if key_hash[k] == key:
                    if seen[k] == 0:
                        seen[k] = 1
                        flag = 0
                        break
                    flag = DOUBLE
            diff = diffs[i]
            if diff >= 0 and number + i > 1:
                expected = 0
                if begin > 0:
                    expected = (of_time[place] - begin) // 1000
                    if expected < 0:
                        expected = 0
                    elif expected > _INT_MAX:
                        expected = _INT_MAX
                if diff != expected:
                    flag |= TIME
            flags[i] = flag
            if flag:
                flagged += 1
    return flagged


def advance(sources: Any, slots: Any, targets: Any, slot_of: Any, previous: Any, owner: Any) -> int:
    """Follows pointers to entries, all of them one step after the other, up to a step at which something is wrong.

    Entries get their slot in `owner`, -1 before; the pointers are changed to those that are left, whose number is
    returned. No two are of one slot.
    """
    left = len(sources)
    while left > 0:
        for i in range(left):
            target = targets[i]
            if target != 0 and (
                target < 0
                or target >= len(owner)
                or owner[target] >= 0
                or slot_of[target] != slots[i]
                or (sources[i] > 0 and target >= sources[i])
            ):
                return left
        going = 0
        for i in range(left):
            target = targets[i]
            if target != 0:
                owner[target] = slots[i]
                sources[going] = target
                slots[going] = slots[i]
                targets[going] = previous[target]
                going += 1
        left = going
    return left
