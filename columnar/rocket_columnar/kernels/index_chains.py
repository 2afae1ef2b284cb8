"""The loops for large batches, compiled by Numba; imported only where a batch is large.

An index file is a run of big-endian 32-bit words: 10 of header, one a slot, 5 an entry. The loops
take it as native words and swap the bytes of what they read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rocket_columnar.kernels.compilation import jit, long, prefetch, signed, slot_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["put_entries", "select_chains"]


_AHEAD = 32
_LANES = 32
_OUTSIDE = 0xFFFFFFFF


@jit
def _wrapped(value: Any) -> Any:
    """`value` as the Java int it becomes."""
    return ((value + 0x80000000) & 0xFFFFFFFF) - 0x80000000


@jit
def _swapped(value: Any) -> Any:
    """A number as a word of the file."""
    return np.uint32(signed(value))


@jit
def put_entries(
    slots: NDArray[np.uint32],
    entries: NDArray[np.uint32],
    hashes: NDArray[np.int32],
    phy_offsets: NDArray[np.int64],
    store_timestamps: NDArray[np.int64],
    count: int,
    begin: int,
) -> int:
    """Puts entries from number `count` on (IDX-PUT-2 .. IDX-PUT-8) into `entries`, which has room for just these.

    Both are words as they are in a file; `begin` is the header's begin timestamp. Returns how many slots were
    empty; the header is the caller's.
    """
    used = 0
    inverse = 1.0 / len(slots)
    ahead = np.empty(_AHEAD, np.uint64)  # the slots of the puts to come, which are being fetched meanwhile
    for i in range(min(_AHEAD, len(hashes))):
        ahead[i] = slot_of(long(hashes[i]), len(slots), inverse)
        prefetch(slots, ahead[i])
    for i in range(len(hashes)):
        j = np.uint64(i) % np.uint64(_AHEAD)
        slot = ahead[j]
        if i + _AHEAD < len(hashes):
            ahead[j] = slot_of(long(hashes[i + _AHEAD]), len(slots), inverse)
            prefetch(slots, ahead[j])
        previous = long(signed(slots[slot]))
        if previous <= 0 or previous > count:
            previous = 0
            used += 1
        time = long(store_timestamps[i])
        seconds = np.uint64(0)
        if begin > 0:
            seconds = min(np.uint64(max(time - begin, 0)) // np.uint64(1000), np.uint64(0x7FFFFFFF))
        if count <= 1:
            begin = time
        phy_offset = phy_offsets[i]
        at = np.uint64(5 * i)
        entries[at] = _swapped(hashes[i])
        entries[at + np.uint64(1)] = _swapped(phy_offset >> 32)
        entries[at + np.uint64(2)] = _swapped(phy_offset)
        entries[at + np.uint64(3)] = _swapped(seconds)
        entries[at + np.uint64(4)] = _swapped(previous)
        slots[slot] = _swapped(count)
        count += 1
    return used


@jit
def select_chains(  # noqa: C901, PLR0912, PLR0915 - one walk; a compiled loop takes plain positional values
    words: NDArray[np.uint32],
    hashes: NDArray[np.int32],
    rooms: NDArray[np.int64],
    slots: int,
    entries_position: int,
    index_count: int,
    header_begin: int,
    begin: int,
    end: int,
    first: int,
    used: int,
    counts: NDArray[np.int64],
    found: NDArray[np.int64],
    lanes: NDArray[np.int64],
    offsets: NDArray[np.int64],
) -> tuple[int, int, int]:
    """Walks the chains of the hashes from number `first` on (IDX-SEL-1 .. IDX-SEL-8), some side by side.

    A walk waits for memory at each step; side by side, none waits for another. Hits go into `found` from
    `used` on, key after key, and their number into `counts`; `rooms` is how many a key may have, one for all
    or one for each. `lanes` and `offsets` hold the hits of the walks that are under way. `header_begin` is at
    least 2^31 seconds away from the ends of a Java long.

    Returns:
        The next number, how many hits there are, and 0; in place of 0, 1 where `found` is too short to go on, 2
        where `lanes` and `offsets` are, 3 where the chain of that number never ends.
    """
    size = len(words)
    many_rooms = len(rooms) > 1
    entry = np.empty(_LANES, np.int64)
    hits = np.empty(_LANES, np.int64)
    room = np.empty(_LANES, np.int64)
    marks = np.empty(
        (_LANES, 3), np.int64
    )  # Brent's walk: a chain that meets its mark without a hit is a cycle
    active = np.empty(_LANES, np.int64)
    read = np.empty((_LANES, 5), np.uint32)
    while first < len(hashes):
        group = min(_LANES, len(hashes) - first)
        walking, events = 0, 0
        # Words are read for all walks before one of them is looked at: none waits for the memory of another.
        for lane in range(group):
            index = _wrapped(40 + 4 * (long(hashes[first + lane]) % slots)) >> 2
            read[lane, 0] = words[index] if 0 <= index < size else 0
        for lane in range(group):
            start = long(signed(read[lane, 0]))
            hits[lane] = 0
            room[lane] = rooms[first + lane] if many_rooms else rooms[0]
            if start > 0 and 1 < index_count >= start and room[lane] > 0:
                entry[lane] = marks[lane, 0] = start
                marks[lane, 1] = 0
                marks[lane, 2] = 1
                active[walking] = lane
                walking += 1
        while walking > 0:
            if events + walking > len(lanes):
                return first, used, 2
            still = 0
            for place in range(walking):
                index = _wrapped(entries_position + 20 * entry[active[place]]) >> 2
                if index < 0 or index + 5 > size:
                    read[place, 3] = _OUTSIDE  # a negative time diff ends a walk too
                    continue
                read[place, 0] = words[index]
                read[place, 1] = words[index + 1]
                read[place, 2] = words[index + 2]
                read[place, 3] = words[index + 3]
                read[place, 4] = words[index + 4]
            for place in range(walking):
                lane = active[place]
                number = entry[lane]
                time_diff = long(signed(read[place, 3]))
                if time_diff < 0:
                    continue
                time = header_begin + 1000 * time_diff
                if signed(read[place, 0]) == hashes[first + lane] and begin <= time <= end:
                    high = long(signed(read[place, 1]))
                    lanes[events] = lane
                    offsets[events] = high << 32 | long(_swapped(read[place, 2]))
                    events += 1
                    hits[lane] += 1
                    marks[lane, 0] = number
                    marks[lane, 1] = 0
                    marks[lane, 2] = 1
                previous = long(signed(read[place, 4]))
                if previous <= 0 or previous > index_count or previous == number or time < begin:
                    continue
                if hits[lane] >= room[lane]:
                    continue
                marks[lane, 1] += 1
                if previous == marks[lane, 0]:
                    return first + lane, used, 3
                if marks[lane, 1] == marks[lane, 2]:
                    marks[lane, 0] = previous
                    marks[lane, 1] = 0
                    marks[lane, 2] *= 2
                entry[lane] = previous
                active[still] = lane
                still += 1
            walking = still
        if used + events > len(found):
            return first, used, 1
        at = used
        for lane in range(group):
            counts[first + lane] = hits[lane]
            entry[lane] = at
            at += hits[lane]
        for event in range(events):
            lane = lanes[event]
            found[entry[lane]] = offsets[event]
            entry[lane] += 1
        used = at
        first += group
    return first, used, 0
