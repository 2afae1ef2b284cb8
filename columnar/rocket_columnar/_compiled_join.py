"""Compiled loops that look up many keys in an index file by passing over it once; imported only for large batches.

Entries and keys are parted by slot, so that the chains of one part fit into the cache. In a part, each entry must lead
to the entry before it in its slot, and the slot to the last: then a chain is the slot's entries backwards, and those of
one hash are found without the others. Keys of slots where that does not hold are left to the walk.

What is parted by slot holds, in place of a hash, its code: the quotient by the number of slots, and below it the place of
the slot in its part, so that slot and finer divisions are the low bits of it. In a part it stands for one hash.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rocket_columnar._numba import jit, long, signed, slot_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["advance", "count_entries", "count_keys", "fill", "join", "part_entries", "part_keys", "place"]


@jit
def _read(word: Any) -> Any:
    """A word of the file as a wide number."""
    return long(signed(word))


@jit
def _number(key: Any) -> Any:
    """The number of a key of `part_keys`."""
    return long(key & np.uint64(0xFFFFFFFF))


@jit
def _part_and_code(key_hash: Any, slots: int, inverse: float, shift: int) -> Any:
    """The part of a hash, a part being `1 << shift` slots, and its code."""
    slot = slot_of(key_hash, slots, inverse)
    quotient = np.uint64(long((key_hash - long(slot)) * inverse + 0.5))
    mask = (np.uint64(1) << np.uint64(shift)) - np.uint64(1)
    return slot >> np.uint64(shift), quotient << np.uint64(shift) | slot & mask


@jit
def count_entries(
    entries: NDArray[np.uint32], slots: int, shift: int, counts: NDArray[np.int64]
) -> tuple[int, int]:
    """Adds to `counts` how many entries belong to each part.

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

    `places` tells for each part where its next row lies. A row is the code, both words of the physical offset as
    they lie in the file, the number of the entry, and that of the entry before it.
    """
    inverse = 1.0 / slots
    for i in range(len(entries) // 5):
        at = np.uint64(5 * i)
        part, code = _part_and_code(_read(entries[at]), slots, inverse, shift)
        to = np.uint64(5 * places[part])
        places[part] += 1
        rows[to] = np.uint32(code)
        rows[to + np.uint64(1)] = entries[at + np.uint64(1)]
        rows[to + np.uint64(2)] = entries[at + np.uint64(2)]
        rows[to + np.uint64(3)] = np.uint32(first + i)
        rows[to + np.uint64(4)] = np.uint32(signed(entries[at + np.uint64(4)]))


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
    keys: NDArray[np.uint64],
) -> None:
    """Writes code << 32 | number of each key, the first of which is number `first`, as `part_entries` does."""
    inverse = 1.0 / slots
    for i in range(len(hashes)):
        part, code = _part_and_code(long(hashes[i]), slots, inverse, shift)
        keys[np.uint64(places[part])] = code << np.uint64(32) | np.uint64(first + i)
        places[part] += 1


@jit
def join(  # noqa: C901 - one pass, part by part
    rows: NDArray[np.uint32],
    row_bounds: NDArray[np.int64],
    keys: NDArray[np.uint64],
    key_bounds: NDArray[np.int64],
    heads: NDArray[np.uint32],
    shift: int,
    bits: int,
    index_count: int,
    rooms: NDArray[np.int64],
    parts: tuple[int, int],
    begins: NDArray[np.int64],
    tape: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Finds the hits of the keys of some parts (IDX-SEL-1 .. IDX-SEL-3, IDX-SEL-6).

    Args:
        rows: as `part_entries` leaves them; the number of the entry before is overwritten.
        row_bounds: where the rows of each part begin.
        keys: as `part_keys` leaves them; the code is overwritten by the number of hits.
        key_bounds: where the keys of each part begin.
        heads: the slots, as words of the file.
        shift: a part is `1 << shift` slots.
        bits: of a code that entries of a part are found by, no fewer than `shift`.
        index_count: of the header.
        rooms: hits a key at most, one for all or one for each.
        parts: the first, and the one behind the last.
        begins: gets where the hits of each part begin on the tape.
        tape: room for the physical offsets of the hits, key after key as in `keys`.

    Returns:
        The hits, on another tape where this one was too short; and the numbers of the keys left to the walk, without hits here.
    """
    width = 1 << shift
    last = np.empty(width, np.int32)
    newest = np.empty(1 << bits, np.int32)  # where the newest row of these bits lies in its part; -1 for none
    slot_mask, mask = np.uint64(width - 1), np.uint64((1 << bits) - 1)
    many_rooms = len(rooms) > 1
    left = np.empty(16, np.int64)
    used, odd = long(0), 0
    for part in range(parts[0], parts[1]):
        last[:] = 0
        newest[:] = -1
        base = 5 * row_bounds[part]
        for i in range(row_bounds[part], row_bounds[part + 1]):
            at = np.uint64(5 * i)
            code = np.uint64(rows[at])
            slot = code & slot_mask
            known = last[slot]
            whole = known >= 0 and np.int32(rows[at + np.uint64(4)]) == known
            last[slot] = np.int32(rows[at + np.uint64(3)]) if whole else -1
            rows[at + np.uint64(4)] = np.uint32(newest[code & mask])
            newest[code & mask] = np.int32(5 * i - base)
        for i in range(min(width, len(heads) - part * width)):
            head = np.int32(signed(heads[part * width + i]))
            if head != last[i] and (last[i] != 0 or 0 < head <= index_count):
                last[i] = -1
        begins[part] = used
        for i in range(key_bounds[part], key_bounds[part + 1]):
            code = keys[i] >> np.uint64(32)
            number = _number(keys[i])
            start = used
            if last[code & slot_mask] < 0:
                if odd == len(left):
                    left = np.concatenate((left, np.empty_like(left)))
                left[odd] = number
                odd += 1
            else:
                end = used + (rooms[number] if many_rooms else rooms[0])
                place = newest[code & mask]
                while place >= 0 and used < end:
                    at = np.uint64(base + place)
                    if rows[at] == np.uint32(code):
                        if used == len(tape):
                            tape = np.concatenate((tape, np.empty(used + 64, np.int64)))
                        low = np.uint32(signed(rows[at + np.uint64(2)]))
                        tape[np.uint64(used)] = _read(rows[at + np.uint64(1)]) << 32 | long(low)
                        used += 1
                    place = np.int32(rows[at + np.uint64(4)])
            keys[i] = np.uint64(used - start) << np.uint64(32) | np.uint64(number)
    return tape[:used], left[:odd]


@jit
def advance(
    keys: NDArray[np.uint64], key_bounds: NDArray[np.int64], end: int, cursors: NDArray[np.int64]
) -> int:
    """Moves the cursors - of each part a key, and where its hits begin - to number `end`; how many hits that passes."""
    total = 0
    for part in range(len(cursors)):
        at, hits = cursors[part, 0], 0
        while at < key_bounds[part + 1] and _number(keys[at]) < end:
            hits += long(keys[at] >> np.uint64(32))
            at += 1
        cursors[part, 0] = at
        cursors[part, 1] += hits
        total += hits
    return total


@jit
def place(
    keys: NDArray[np.uint64],
    key_bounds: NDArray[np.int64],
    cursors: NDArray[np.int64],
    block: tuple[int, int],
    total: int,
    places: NDArray[np.int64],
) -> int:
    """Writes to `places` where the first hit of each key of a block of numbers goes, that of the first to `total`.

    Args:
        keys: as `join` leaves them.
        key_bounds: where the keys of each part begin.
        cursors: as `advance` leaves them at the first number of the block.
        block: the first number, and the one behind the last.
        total: hits of the keys before.
        places: of all keys.

    Returns:
        How many hits there are with those of the block.
    """
    for part in range(len(cursors)):
        for i in range(cursors[part, 0], key_bounds[part + 1]):
            number = _number(keys[i])
            if number >= block[1]:
                break
            places[np.uint64(number)] = long(keys[i] >> np.uint64(32))
    for number in range(block[0], block[1]):
        hits = places[number]
        places[number] = total
        total += hits
    return total


@jit
def fill(
    keys: NDArray[np.uint64],
    key_bounds: NDArray[np.int64],
    cursors: NDArray[np.int64],
    parts: tuple[int, int],
    end: int,
    tape: NDArray[np.int64],
    places: NDArray[np.int64],
    found: NDArray[np.int64],
) -> None:
    """Moves the hits of the keys of some parts, up to number `end`, from the tape to their places; these move on."""
    for part in range(parts[0], parts[1]):
        at, used = cursors[part, 0], cursors[part, 1]
        while at < key_bounds[part + 1]:
            number = _number(keys[at])
            if number >= end:
                break
            to = places[np.uint64(number)]
            for _ in range(long(keys[at] >> np.uint64(32))):
                found[np.uint64(to)] = tape[np.uint64(used)]
                to += 1
                used += 1
            places[np.uint64(number)] = to
            at += 1
        cursors[part, 0], cursors[part, 1] = at, used
