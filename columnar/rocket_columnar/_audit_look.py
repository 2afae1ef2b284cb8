"""One consume-queue or index file by itself: what it holds where, and what is wrong without the log.

Where is told by blocks: the least and the greatest physical offset that each few units or entries point to. So a range
of the log finds what points into it, whatever damage has done to the order.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from rocket_spec.layout import PRE_BLANK_SIZE, QUEUE_UNIT

from rocket_columnar._audit_index import check_content, check_slot_count, used_count
from rocket_columnar._audit_index_read import EntryWindows, read_index
from rocket_columnar._audit_kernels import call, replay
from rocket_columnar._audit_marks import Marks

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray
    from rocket_spec.layout import Geometry

    from rocket_columnar._audit_finding import Finding
    from rocket_columnar.index_file import IndexHeader
    from rocket_columnar.store import StoreFile

__all__ = ["ENTRIES", "UNIT", "UNITS", "IndexLook", "QueueLook", "look_at_index", "look_at_queue"]

UNITS: Final = 256
"""Units of a block."""
ENTRIES: Final = 1024
"""Entries of a block; the first block begins with entry 0, which is never written."""

UNIT: Final = np.dtype([("phy_offset", ">i8"), ("size", ">i4"), ("tags_code", ">i8")])
_AT_ONCE: Final = 1 << 15  # units; a multiple of a block
_NONE: Final = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class QueueLook:
    """What one consume-queue file holds.

    Attributes:
        file: its name.
        count: units up to the last that is not all zeros.
        low: of each block the least physical offset of a unit that counts.
        high: of each block the greatest one.
        marks: units that 4.9.3 does not take.
        zeros: runs of units of zeros before others, as (first, length).
    """

    file: str
    count: int
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    marks: Marks = field(default_factory=Marks)
    zeros: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class IndexLook:
    """What one index file holds.

    Attributes:
        file: its name.
        header: as it lies in the file.
        count: one more than the newest entry's number.
        moving: whether a broker put into it meanwhile.
        low: of each block the least physical offset of an entry.
        high: of each block the greatest one.
        ends: physical offsets of the first and the last entry; none without entries.
        marks: entries that are wrong by themselves.
        findings: what is wrong with header, slots and chains.
        sound: whether walks over its chains end.
    """

    file: str
    header: IndexHeader
    count: int
    moving: bool
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    ends: tuple[int, int] | tuple[()] = ()
    marks: Marks = field(default_factory=Marks)
    findings: tuple[Finding, ...] = ()
    sound: bool = True


def _blocks(
    offsets: NDArray[np.int64], chosen: NDArray[np.bool_] | None, size: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Least and greatest of each block."""
    starts = np.arange(0, offsets.size, size)
    if chosen is None or chosen.all():
        return np.minimum.reduceat(offsets, starts), np.maximum.reduceat(offsets, starts)
    low = np.minimum.reduceat(np.where(chosen, offsets, _NONE), starts)
    return low, np.maximum.reduceat(np.where(chosen, offsets, -1 - _NONE), starts)


def look_at_queue(file: StoreFile) -> QueueLook:
    """Reads a consume-queue file through.

    Raises:
        OSError: the file cannot be read.
    """
    lows, highs = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    marks = Marks()
    zeros: list[NDArray[np.int64]] = [np.empty(0, np.int64)]
    with file.open() as reader:
        last = reader.last_nonzero(0, reader.size)
        whole = reader.size // QUEUE_UNIT.size
        count = 0 if last is None else min(last // QUEUE_UNIT.size + 1, whole)
        for start in range(0, count, _AT_ONCE):
            stop = min(start + _AT_ONCE, count)
            raw = reader.read(start * QUEUE_UNIT.size, (stop - start) * QUEUE_UNIT.size).view(UNIT)
            offset = raw["phy_offset"].astype(np.int64)
            size = raw["size"].astype(np.int32)
            valid = (offset >= 0) & (size > 0)
            judged = None
            if not valid.all() or size.max() == PRE_BLANK_SIZE:
                tags = raw["tags_code"].astype(np.int64)
                empty = (offset == 0) & (size == 0) & (tags == 0)
                judged = valid & ~((offset == 0) & (size == PRE_BLANK_SIZE) & (tags == 0))
                zeros.append(np.flatnonzero(empty) + start)
                bad = np.flatnonzero(~valid & ~empty)
                values = _values(bad, offset, size, tags)
                marks.add("unit.invalid", file.name, bad + start, values)
            low, high = _blocks(offset, judged, UNITS)
            lows.append(low)
            highs.append(high)
    runs = _runs(np.concatenate(zeros))
    return QueueLook(file.name, count, np.concatenate(lows), np.concatenate(highs), marks, runs)


def _values(places: NDArray[np.int64], *columns: NDArray[Any]) -> Callable[[int], tuple[int, ...]]:
    return lambda number: tuple(int(column[places[number]]) for column in columns)


def _runs(numbers: NDArray[np.int64]) -> tuple[tuple[int, int], ...]:
    marks = Marks()
    marks.add("", "", numbers, lambda _: ())
    return tuple((mark.first, mark.length) for mark in marks.runs.get(("", ""), []))


def look_at_index(
    file: StoreFile, geometry: Geometry, *, live: bool, last: bool, compiled: bool = False
) -> IndexLook:
    """Reads an index file through.

    Args:
        file: the file.
        geometry: its slots and entries.
        live: whether a broker runs, or died: the last file may then hold one entry before its count tells of it.
        last: whether no other file follows.
        compiled: whether compiled loops serve.

    Raises:
        OSError: the file cannot be read.
    """
    found: list[Finding] = []
    lows, highs = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    marks = Marks()
    with file.open() as reader:
        windows = EntryWindows(reader, geometry)
        state = windows.state
        heads = np.zeros(geometry.hash_slot_num, np.int32)
        plain = not state.moving and state.header.index_count == state.written > 1
        used, ends = 0, []
        count = used_count(state)
        for start, raw in windows.each(min(count, state.written)):
            offset = raw["phy_offset"].astype(np.int64)
            previous = raw["prev_entry"].astype(np.int32)
            hashes = raw["key_hash"].astype(np.int32)
            diffs = raw["time_diff"].astype(np.int32)
            skipped = 1 if start == 0 else 0
            if plain:
                first = start + skipped
                done = _replayed(hashes[skipped:], previous[skipped:], first, heads, compiled=compiled)
                plain = done == offset.size - skipped
                used += int(np.count_nonzero(previous[skipped:] == 0))
            if skipped and offset.size > 1:
                ends.append(int(offset[1]))
            ends[1:] = [int(offset[-1])]
            bad = np.flatnonzero(diffs[skipped:] < 0) + skipped
            marks.add("entry.negative", file.name, bad + start, _values(bad, diffs))
            low, high = _blocks(offset, None, ENTRIES)
            if skipped:
                inside = offset[1:ENTRIES]
                low[0], high[0] = (inside.min(), inside.max()) if inside.size else (_NONE, -_NONE)
            lows.append(low)
            highs.append(high)
        if plain and not np.array_equal(heads, windows.slots()):
            plain = False
    del heads
    sound = True
    if plain:
        check_slot_count(file, state.header.hash_slot_count, used, count, found.append)
    else:
        sound = check_content(read_index(file, geometry), found.append, live=live and last, last=last)
    return IndexLook(
        file=file.name,
        header=state.header,
        count=count,
        moving=state.moving,
        low=np.concatenate(lows),
        high=np.concatenate(highs),
        ends=(ends[0], ends[1]) if len(ends) > 1 else (),
        marks=marks,
        findings=tuple(found),
        sound=sound,
    )


def _replayed(
    hashes: NDArray[np.int32],
    previous: NDArray[np.int32],
    first: int,
    heads: NDArray[np.int32],
    *,
    compiled: bool,
) -> int:
    """How many entries have the prev field that puts one after the other give; `heads` are the slots so far."""
    if compiled:
        return int(call(replay, hashes, previous, first, heads, compiled=True))
    if hashes.size and hashes.min() < 0:
        return 0
    slots = hashes % heads.size
    order = np.argsort(slots, kind="stable")
    grouped = slots[order]
    expected = np.empty(hashes.size, np.int32)
    numbers = (order + first).astype(np.int32)
    follows = np.zeros(hashes.size, np.bool_)
    follows[1:] = grouped[1:] == grouped[:-1]
    expected[order] = np.where(follows, np.roll(numbers, 1), heads[grouped])
    newest = np.append(~follows[1:], True)[: hashes.size]
    heads[grouped[newest]] = numbers[newest]
    return hashes.size if np.array_equal(expected, previous) else 0
