"""Compiled loops over an index file's chains: put, and select; imported only for large batches.

An index file is a run of big-endian 32-bit words: 10 for the header, 1 for each slot, 5 for each entry. The loops
take them as native words and swap the bytes of what they read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rocket_columnar.fast.compiled.compilation import inlined, jit, long, signed, slot_of
from rocket_columnar.fast.compiled.raw_bytes import prefetch

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ChainFile", "ChainHits", "ChainKeys", "put_entries", "select_chains"]


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
    puts: tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]],
    count: int,
    begin: int,
) -> int:
    """Puts entries from number `count` on (IDX-PUT-2 .. IDX-PUT-8).

    Args:
        slots: as words of the file.
        entries: as words of the file; room for exactly these entries.
        puts: key hashes, physical offsets in bytes, and store timestamps in ms.
        count: number of the first entry.
        begin: the header's begin timestamp, ms.

    Returns:
        How many of the slots were empty. The header is not changed.
    """
    hashes, phy_offsets, store_timestamps = puts
    used = 0
    inverse = 1.0 / len(slots)
    ahead = np.empty(_AHEAD, np.uint64)  # the slots of the next puts, which are being fetched meanwhile
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


class ChainFile(NamedTuple):
    """An index file as the walks read it.

    Attributes:
        words: of the file.
        slots: number of slots, more than 0.
        entries_position: of entry 0, bytes.
        index_count: of the header.
        begin_timestamp: of the header, ms; at least 2^31 seconds away from the ends of a Java long.
    """

    words: NDArray[np.uint32]
    slots: int
    entries_position: int
    index_count: int
    begin_timestamp: int


class ChainKeys(NamedTuple):
    """What is searched for.

    Attributes:
        hashes: key hashes.
        rooms: maximum number of hits, one for all keys or one for each.
        begin: first store timestamp, ms.
        end: last store timestamp, ms.
    """

    hashes: NDArray[np.int32]
    rooms: NDArray[np.int64]
    begin: int
    end: int


class ChainHits(NamedTuple):
    """What walks fill.

    Attributes:
        counts: number of hits of each key.
        found: physical offsets of the hits, key after key.
        lanes: lane of each hit of the walks under way.
        offsets: its physical offset.
    """

    counts: NDArray[np.int64]
    found: NDArray[np.int64]
    lanes: NDArray[np.int64]
    offsets: NDArray[np.int64]


class _Walks(NamedTuple):
    """The walks under way, one in each lane.

    Attributes:
        entry: the present entry.
        hits: number of hits so far.
        room: maximum number of hits.
        marks: of Brent's algorithm, where a chain that meets its mark without a hit is a cycle: the marked entry, the
            steps since, and the steps after which the mark moves.
        active: lanes that are still walking.
        read: words of an entry, for each place in `active`.
    """

    entry: NDArray[np.int64]
    hits: NDArray[np.int64]
    room: NDArray[np.int64]
    marks: NDArray[np.int64]
    active: NDArray[np.int64]
    read: NDArray[np.uint32]


@inlined
def _mark(walks: _Walks, lane: int, entry: Any) -> None:
    """Marks an entry of a chain."""
    walks.marks[lane, 0] = entry
    walks.marks[lane, 1] = 0
    walks.marks[lane, 2] = 1


@inlined
def _start_walks(file: ChainFile, keys: ChainKeys, first: int, group: int, walks: _Walks) -> Any:
    """Starts the walks of `group` keys from number `first` on; returns how many have an entry."""
    words, size = file.words, len(file.words)
    # Words are read for all walks before any is used: none waits for the memory of another.
    for lane in range(group):
        index = _wrapped(40 + 4 * (long(keys.hashes[first + lane]) % file.slots)) >> 2
        walks.read[lane, 0] = words[index] if 0 <= index < size else 0
    walking = 0
    for lane in range(group):
        start = long(signed(walks.read[lane, 0]))
        walks.hits[lane] = 0
        walks.room[lane] = keys.rooms[first + lane] if len(keys.rooms) > 1 else keys.rooms[0]
        if start > 0 and 1 < file.index_count >= start and walks.room[lane] > 0:
            walks.entry[lane] = start
            _mark(walks, lane, start)
            walks.active[walking] = lane
            walking += 1
    return walking


@inlined
def _read_entries(file: ChainFile, walks: _Walks, walking: int) -> None:
    """Reads the present entries of all walks."""
    words, size, read = file.words, len(file.words), walks.read
    for place in range(walking):
        index = _wrapped(file.entries_position + 20 * walks.entry[walks.active[place]]) >> 2
        if index < 0 or index + 5 > size:
            read[place, 3] = _OUTSIDE  # a negative time diff ends a walk too
            continue
        read[place, 0] = words[index]
        read[place, 1] = words[index + 1]
        read[place, 2] = words[index + 2]
        read[place, 3] = words[index + 3]
        read[place, 4] = words[index + 4]


@inlined
def _place_hits(walks: _Walks, hits: ChainHits, span: tuple[int, int], events: int, used: int) -> Any:
    """Moves the hits of a group of keys, from number `span[0]` on, to their places; returns how many there are now."""
    first, group = span
    for lane in range(group):
        hits.counts[first + lane] = walks.hits[lane]
        walks.entry[lane] = used
        used += walks.hits[lane]
    for event in range(events):
        lane = hits.lanes[event]
        hits.found[walks.entry[lane]] = hits.offsets[event]
        walks.entry[lane] += 1
    return used


@jit
def select_chains(  # noqa: C901 - one walk
    file: ChainFile, keys: ChainKeys, hits: ChainHits, first: int, used: int
) -> tuple[int, int, int]:
    """Walks the chains of the keys from number `first` on (IDX-SEL-1 .. IDX-SEL-8), several side by side.

    A walk waits for memory at each step; side by side, none waits for another.

    Args:
        file: the index file.
        keys: what is searched for.
        hits: to fill; `found` from `used` on.
        first: number of the first key.
        used: number of hits so far.

    Returns:
        The next number, the number of hits, and 0; instead of 0, 1 if `found` is too short to continue, 2
        if `lanes` and `offsets` are, 3 if the chain of that number never ends.
    """
    walks = _Walks(
        np.empty(_LANES, np.int64),
        np.empty(_LANES, np.int64),
        np.empty(_LANES, np.int64),
        np.empty((_LANES, 3), np.int64),
        np.empty(_LANES, np.int64),
        np.empty((_LANES, 5), np.uint32),
    )
    read, marks = walks.read, walks.marks
    while first < len(keys.hashes):
        group = min(_LANES, len(keys.hashes) - first)
        walking, events = _start_walks(file, keys, first, group, walks), 0
        while walking > 0:
            if events + walking > len(hits.lanes):
                return first, used, 2
            still = 0
            _read_entries(file, walks, walking)
            for place in range(walking):
                lane = walks.active[place]
                number = walks.entry[lane]
                time_diff = long(signed(read[place, 3]))
                if time_diff < 0:
                    continue
                time = file.begin_timestamp + 1000 * time_diff
                if signed(read[place, 0]) == keys.hashes[first + lane] and keys.begin <= time <= keys.end:
                    high = long(signed(read[place, 1]))
                    hits.lanes[events] = lane
                    hits.offsets[events] = high << 32 | long(_swapped(read[place, 2]))
                    events += 1
                    walks.hits[lane] += 1
                    _mark(walks, lane, number)
                previous = long(signed(read[place, 4]))
                if previous <= 0 or previous > file.index_count or previous == number or time < keys.begin:
                    continue
                if walks.hits[lane] >= walks.room[lane]:
                    continue
                marks[lane, 1] += 1
                if previous == marks[lane, 0]:
                    return first + lane, used, 3
                if marks[lane, 1] == marks[lane, 2]:
                    marks[lane, 0] = previous
                    marks[lane, 1] = 0
                    marks[lane, 2] *= 2
                walks.entry[lane] = previous
                walks.active[still] = lane
                still += 1
            walking = still
        if used + events > len(hits.found):
            return first, used, 1
        used = _place_hits(walks, hits, (first, group), events, used)
        first += group
    return first, used, 0
