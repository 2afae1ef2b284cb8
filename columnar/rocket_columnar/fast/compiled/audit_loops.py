"""Compiled loops over index entries and queue units as they are in their files; imported only for large stores.

Those that compare them with records accept what is sound, in the order of the log, and stop at anything else, which
`audit.matching` then examines. Examining everything there takes 1.8 times as long for units and 4.5 times for entries.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from rocket_spec.layout import INDEX_ENTRY, PRE_BLANK_SIZE, QUEUE_UNIT

from rocket_columnar.fast.compiled.compilation import inlined, jit, long, slot_of
from rocket_columnar.fast.compiled.intrinsics import i32, i64
from rocket_columnar.fast.compiled.raw_bytes import address, prefetch

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["EntryBlocks", "advance", "entries_are_sound", "survey_entries", "units_are_sound"]

_SIZE: Final = INDEX_ENTRY.size
_DIFF: Final = INDEX_ENTRY.offset_of("time_diff")
_PREVIOUS: Final = INDEX_ENTRY.offset_of("prev_entry")
_OFFSET: Final = INDEX_ENTRY.offset_of("phy_offset")
_AHEAD: Final = 32
_UNIT: Final = QUEUE_UNIT.size
_UNIT_SIZE: Final = QUEUE_UNIT.offset_of("size")
_UNIT_TAGS: Final = QUEUE_UNIT.offset_of("tags_code")
_CELL: Final = 6  # log2 of the bytes that hold the beginning of one record at most


class EntryBlocks(NamedTuple):
    """Where the entries of each block of a file point to.

    Attributes:
        size: number of entries in a block.
        low: least physical offset of each block so far.
        high: greatest physical offset of each block so far.
    """

    size: int
    low: NDArray[np.int64]
    high: NDArray[np.int64]


@inlined
def _slot(base: int, entry: int, heads: NDArray[np.int32], inverse: float) -> Any:
    return slot_of(max(i32(base + _SIZE * entry), 0), len(heads), inverse)


@jit
def survey_entries(
    raw: NDArray[np.uint8],
    first: int,
    count: int,
    replay: tuple[NDArray[np.int32], NDArray[np.bool_]],
    blocks: EntryBlocks,
) -> tuple[int, int]:
    """Replays puts as `Replay.put` does, and finds the physical offsets of the entries before number `count`.

    Args:
        raw: the entries.
        first: number of the first.
        count: one more than the newest entry that counts.
        replay: `heads` and `differs` of a `Replay`; changed.
        blocks: ranges of physical offsets; changed.

    Returns:
        Of the entries that count, how many have no previous entry, and how many have a negative time diff.
    """
    heads, differs = replay
    block, low, high = blocks
    base = address(raw)
    inverse = 1.0 / len(heads)
    size = len(raw) // _SIZE
    ahead = np.empty(_AHEAD, np.uint64)  # the slots of the next entries, which are being fetched meanwhile
    for i in range(min(_AHEAD, size)):
        ahead[i] = _slot(base, i, heads, inverse)
        prefetch(heads, ahead[i])
    used, negative = long(0), long(0)
    i = long(0)
    while i < size:
        part = (first + i) // block
        end = min(block * (part + 1) - first, size)
        counted = min(end, count - first)
        least, greatest = (low[part], high[part]) if counted > i else (long(0), long(0))
        while i < end:
            at = base + _SIZE * i
            turn = np.uint64(i) % np.uint64(_AHEAD)
            slot = ahead[turn]
            if i + _AHEAD < size:
                ahead[turn] = _slot(base, i + _AHEAD, heads, inverse)
                prefetch(heads, ahead[turn])
            previous = i32(at + _PREVIOUS)
            if i32(at) >= 0:
                if heads[slot] != previous:
                    differs[slot] = True
                heads[slot] = first + i
            if i < counted:
                offset = i64(at + _OFFSET)
                least, greatest = min(least, offset), max(greatest, offset)
                used += previous == 0
                negative += i32(at + _DIFF) < 0
            i += 1
        if part < len(low):
            low[part], high[part] = least, greatest
    return used, negative


@jit
def entries_are_sound(
    raw: NDArray[np.uint8], pieces: Any, records: Any, span: tuple[int, int], seen: NDArray[np.uint8]
) -> bool:
    """Whether all entries that point into a span of the log are sound and in its order; sets `seen` of their keys.

    Arguments as of `audit.matching.match_entries`; `raw` holds the entries as they are in the files.
    """
    bounds, firsts, begins = pieces
    known, times, key_count, key_hash = records
    low, last = span
    base = address(raw)
    place, key, stop, seconds = long(-1), long(0), long(0), long(0)
    record = low - 1  # where the record of the entry before begins
    for piece in range(len(firsts)):
        begin, number = begins[piece], firsts[piece] - bounds[piece]
        for i in range(bounds[piece], bounds[piece + 1]):
            at = base + _SIZE * i
            offset = i64(at + _OFFSET)
            if offset < low or offset > last:
                continue
            if record != offset:
                key = stop
                place += 1
                while place < len(known) and known[np.uint64(place)] < offset:
                    key += key_count[np.uint64(place)]
                    place += 1
                if place == len(known) or known[np.uint64(place)] != offset:
                    return False
                record = offset
                stop = key + key_count[np.uint64(place)]
                seconds = long(0)
                time = times[np.uint64(place)]
                if begin > 0 and time > begin:
                    seconds = min((time - begin) // 1000, 0x7FFFFFFF)
            if key >= stop or key_hash[np.uint64(key)] != i32(at):
                return False
            seen[np.uint64(key)] = 1
            key += 1
            diff = i32(at + _DIFF)
            if diff < 0 or (diff != seconds and number + i > 1):
                return False
    return True


@jit
def units_are_sound(
    raw: NDArray[np.uint8], pieces: Any, records: Any, span: tuple[int, int], queued: NDArray[np.uint8]
) -> bool:
    """Whether all units that point into a span of the log are sound; sets `queued` of their records.

    Arguments as of `audit.matching.match_units`; `raw` holds the units as they are in the files.
    """
    bounds, topics, queues, firsts = pieces
    known, of_topic, of_queue, of_size, of_offset, of_tags = records
    low, last = span
    if not len(known):
        return False
    base = address(raw)
    cells = np.full(((known[-1] - low) >> _CELL) + 1, -1, np.int32)
    for i in range(len(known)):
        cells[(known[i] - low) >> _CELL] = i
    for piece in range(len(topics)):
        topic, queue, logical = topics[piece], queues[piece], firsts[piece] - bounds[piece]
        for i in range(bounds[piece], bounds[piece + 1]):
            at = base + _UNIT * i
            offset, size, tags = i64(at), i32(at + _UNIT_SIZE), i64(at + _UNIT_TAGS)
            if offset < low or offset > last or size <= 0:
                continue
            if offset == 0 and size == PRE_BLANK_SIZE and tags == 0:
                continue
            cell = (offset - low) >> _CELL
            place = long(cells[cell]) if cell < len(cells) else long(-1)
            if (
                place < 0
                or known[place] != offset
                or of_topic[place] != topic
                or of_queue[place] != queue
                or of_offset[place] != logical + i
                or of_size[place] != size
                or of_tags[place] != tags
            ):
                return False
            queued[place] = 1
    return True


@jit
def advance(
    sources: NDArray[np.int64],
    slots: NDArray[np.int64],
    targets: NDArray[np.int64],
    slot_of: NDArray[np.int32],
    previous: NDArray[np.int32],
    owner: NDArray[np.int32],
) -> int:
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
