"""Compiled loops that look up many keys in an index file by passing over it once; imported only for large batches.

Entries and keys are parted by slot, so that the chains of one part fit into the cache. In a part, each entry must lead
to the entry before it in its slot, and the slot to the last: then a chain is the slot's entries backwards. Keys of
slots where that does not hold are left to the walk.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rocket_columnar._numba import jit, long, signed, slot_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ODD", "count_entries", "count_keys", "fill", "join", "part_entries", "part_keys"]


ODD = -1
"""The number of hits of a key that is left to the walk."""


@jit
def _read(word: Any) -> Any:
    """A word of the file as a wide number."""
    return long(signed(word))


@jit
def count_entries(
    entries: NDArray[np.uint32], slots: int, shift: int, counts: NDArray[np.int64]
) -> tuple[int, int]:
    """Adds to `counts` how many entries belong to each part, a part being `1 << shift` slots.

    Returns:
        The least and the largest time diff; the least is -1 where it, or a hash, is negative.
    """
    inverse = 1.0 / slots
    least, most = long(0x7FFFFFFF), long(0)
    for i in range(len(entries) // 5):
        at = np.uint64(5 * i)
        key_hash = _read(entries[at])
        time_diff = _read(entries[at + np.uint64(3)])
        if key_hash < 0 or time_diff < 0:
            return -1, most
        least, most = min(least, time_diff), max(most, time_diff)
        counts[slot_of(key_hash, slots, inverse) >> np.uint64(shift)] += 1
    return least, most


@jit
def part_entries(
    entries: NDArray[np.uint32],
    first: int,
    slots: int,
    shift: int,
    places: NDArray[np.int64],
    rows: NDArray[np.uint32],
) -> None:
    """Copies entries, the first of which is number `first`, into `rows`, those of a part behind one another.

    `places` tells for each part where its next row lies. The number of the entry takes the place of its time.
    """
    inverse = 1.0 / slots
    for i in range(len(entries) // 5):
        at = np.uint64(5 * i)
        part = slot_of(_read(entries[at]), slots, inverse) >> np.uint64(shift)
        to = np.uint64(5 * places[part])
        places[part] += 1
        rows[to] = entries[at]
        rows[to + np.uint64(1)] = entries[at + np.uint64(1)]
        rows[to + np.uint64(2)] = entries[at + np.uint64(2)]
        rows[to + np.uint64(3)] = np.uint32(first + i)
        rows[to + np.uint64(4)] = entries[at + np.uint64(4)]


@jit
def count_keys(hashes: NDArray[np.int32], slots: int, shift: int, counts: NDArray[np.int64]) -> bool:
    """Adds to `counts` how many hashes belong to each part; false where one is negative."""
    inverse = 1.0 / slots
    for i in range(len(hashes)):
        if hashes[i] < 0:
            return False
        counts[slot_of(long(hashes[i]), slots, inverse) >> np.uint64(shift)] += 1
    return True


@jit
def part_keys(
    hashes: NDArray[np.int32],
    first: int,
    slots: int,
    shift: int,
    places: NDArray[np.int64],
    keys: NDArray[np.int64],
) -> None:
    """Writes hash << 32 | number of each key, the first of which is number `first`, as `part_entries` does."""
    inverse = 1.0 / slots
    for i in range(len(hashes)):
        key_hash = long(hashes[i])
        part = slot_of(key_hash, slots, inverse) >> np.uint64(shift)
        keys[np.uint64(places[part])] = key_hash << 32 | (first + i)
        places[part] += 1


@jit
def join(  # noqa: C901, PLR0915 - one pass, part by part
    rows: NDArray[np.uint32],
    row_bounds: NDArray[np.int64],
    keys: NDArray[np.int64],
    key_bounds: NDArray[np.int64],
    heads: NDArray[np.uint32],
    shift: int,
    index_count: int,
    rooms: NDArray[np.int64],
    parts: tuple[int, int],
    used: int,
    counts: NDArray[np.int32],
    tape: NDArray[np.int64],
) -> tuple[int, int]:
    """Finds the hits of the keys of some parts (IDX-SEL-1 .. IDX-SEL-3, IDX-SEL-6).

    Args:
        rows: as `part_entries` leaves them.
        row_bounds: where the rows of each part begin.
        keys: as `part_keys` leaves them; the hash is overwritten by the number of hits.
        key_bounds: where the keys of each part begin.
        heads: the slots, as words of the file.
        shift: a part is `1 << shift` slots.
        index_count: of the header.
        rooms: hits a key at most, one for all or one for each.
        parts: the first, and the one behind the last.
        used: how many hits there are in `tape` already.
        counts: gets the number of hits of each key, or `ODD`.
        tape: gets the physical offsets of the hits, key after key as in `keys`.

    Returns:
        The part for which `tape` has no room, or the one behind the last; and how many hits there are.
    """
    slots = len(heads)
    inverse = 1.0 / slots
    width = 1 << shift
    most = 0
    for part in range(parts[0], parts[1]):
        most = max(most, row_bounds[part + 1] - row_bounds[part])
    last = np.empty(width, np.int32)
    ends = np.empty(width + 1, np.int64)
    places = np.empty(most, np.uint32)
    hashes = np.empty(most, np.uint32)
    offsets = np.empty((most, 2), np.uint32)
    many_rooms = len(rooms) > 1
    mask = np.uint64(width - 1)
    for part in range(parts[0], parts[1]):
        last[:] = 0
        ends[:] = 0
        begin, end = row_bounds[part], row_bounds[part + 1]
        for i in range(begin, end):
            at = np.uint64(5 * i)
            slot = slot_of(_read(rows[at]), slots, inverse) & mask
            number = np.int32(rows[at + np.uint64(3)])
            previous = _read(rows[at + np.uint64(4)])
            known = last[slot]
            last[slot] = number if known >= 0 and previous == known else -1
            ends[slot + np.uint64(1)] += 1
            places[i - begin] = np.uint32(slot)
        for slot in range(min(width, slots - part * width)):
            head = _read(heads[part * width + slot])
            if head != last[slot] and (last[slot] != 0 or 0 < head <= index_count):
                last[slot] = -1
            ends[slot + 1] += ends[slot]
        for i in range(begin, end):
            at = np.uint64(5 * i)
            slot = np.uint64(places[i - begin])
            to = ends[slot]  # the slot's first place, and at last its end
            ends[slot] += 1
            hashes[to] = rows[at]
            offsets[to, 0] = rows[at + np.uint64(1)]
            offsets[to, 1] = rows[at + np.uint64(2)]
        room = long(0)
        for i in range(key_bounds[part], key_bounds[part + 1]):
            slot = slot_of(keys[i] >> 32, slots, inverse) & mask
            low = ends[slot - np.uint64(1)] if slot > np.uint64(0) else long(0)
            most_hits = rooms[keys[i] & 0xFFFFFFFF] if many_rooms else rooms[0]
            room += max(min(ends[slot] - low, most_hits), 0)
        if used + room > len(tape):
            return part, used
        for i in range(key_bounds[part], key_bounds[part + 1]):
            key = keys[i]
            number = key & 0xFFFFFFFF
            key_hash = key >> 32
            slot = slot_of(key_hash, slots, inverse) & mask
            if last[slot] < 0:
                counts[number] = ODD
                keys[i] = number
                continue
            room = rooms[number] if many_rooms else rooms[0]
            at = ends[slot]
            low = ends[slot - np.uint64(1)] if slot > np.uint64(0) else long(0)
            word = np.uint32(_read(np.uint32(key_hash)))
            start = used
            while at > low and used - start < room:
                at -= 1
                if hashes[at] == word:
                    tape[used] = _read(offsets[at, 0]) << 32 | (_read(offsets[at, 1]) & 0xFFFFFFFF)
                    used += 1
            counts[number] = used - start
            keys[i] = (used - start) << 32 | number
    return parts[1], used


@jit
def fill(
    keys: NDArray[np.int64],
    bounds: NDArray[np.int64],
    tape: NDArray[np.int64],
    found: NDArray[np.int64],
) -> None:
    """Moves the hits of the keys, as `join` leaves them, from `tape` to where `bounds` places them in `found`."""
    used = long(0)
    for i in range(len(keys)):
        to = bounds[np.uint64(keys[i] & 0xFFFFFFFF)]
        for _ in range(keys[i] >> 32):
            found[to] = tape[used]
            to += 1
            used += 1
