"""Compiled loops that look up many keys in an index file by passing over it once; imported only for large batches.

Entries and keys are parted by slot, so that the chains of one part fit into the cache. In a part, each entry must lead
to the entry before it in its slot, and the slot to the last: then a chain is the slot's entries backwards, and the
entries of one hash are found without the others. Keys of slots for which that is not true are left to the walk.

Parted entries and keys contain, instead of a hash, its code: the quotient by the number of slots, and below it the place of
the slot in its part, so that slot and finer divisions are its low bits. Within a part, a code stands for one hash.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from rocket_columnar.kernels.compilation import jit, long, prefetch, signed

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "HitTape",
    "KeyCursors",
    "PartedFile",
    "PartedItems",
    "advance_cursors",
    "fill_hits",
    "join_parts",
    "place_hits",
]

_SOON_LINKED: Final = np.uint64(160)  # words from the row that is linked to one that is fetched
_SOON_ANSWERED: Final = 8  # keys from the one that is answered to one whose first row is fetched


@jit
def _number(key: Any) -> Any:
    """The number of a key of `slot_parts.part_keys`."""
    return long(key & np.uint64(0xFFFFFFFF))


@jit
def _link(
    rows: NDArray[np.uint32],
    runs: NDArray[np.int64],
    heads: NDArray[np.uint32],
    index_count: int,
    last: NDArray[np.int32],
    newest: NDArray[np.int32],
) -> None:
    """Makes chains of the rows of a part: of those that agree in the low bits of their code.

    `newest` gets the position of the newest row of these bits in the part, in words, or -1; a row gets that of the next
    one instead of the number of the entry before it. `last` gets -1 for each slot whose entries and head are not as
    puts make them.
    """
    slot_mask, mask = np.uint64(len(last) - 1), np.uint64(len(newest) - 1)
    last[:] = 0
    newest[:] = -1
    for run in range(len(runs)):
        for row in range(runs[run, 0], runs[run, 1]):
            at = np.uint64(5 * row)
            prefetch(rows, at + _SOON_LINKED)
            code = np.uint64(rows[at])
            known = last[code & slot_mask]
            whole = known >= 0 and np.int32(rows[at + np.uint64(4)]) == known
            last[code & slot_mask] = np.int32(rows[at + np.uint64(3)]) if whole else -1
            rows[at + np.uint64(4)] = np.uint32(newest[code & mask])
            newest[code & mask] = np.int32(at)
    for slot in range(len(heads)):
        head = np.int32(signed(heads[slot]))
        if head != last[slot] and (last[slot] != 0 or 0 < head <= index_count):
            last[slot] = -1


class _PartChains(NamedTuple):
    """The chains of a part: the rows, and what `_link` makes."""

    rows: NDArray[np.uint32]
    last: NDArray[np.int32]
    newest: NDArray[np.int32]


class HitTape(NamedTuple):
    """What a join fills: physical offsets of the hits, key after key; numbers of the keys left to the walk."""

    offsets: NDArray[np.int64]
    left: NDArray[np.int64]


@jit
def _answer(
    chains: _PartChains,
    keys: NDArray[np.uint64],
    span: tuple[int, int],
    rooms: NDArray[np.int64],
    tape: HitTape,
    state: tuple[int, int],
) -> tuple[int, int, int]:
    """Finds the hits of keys of a part.

    Args:
        chains: of the part.
        keys: as `slot_parts.part_keys` leaves them.
        span: of the part's keys.
        rooms: maximum number of hits, one for all keys or one for each.
        tape: to fill.
        state: number of hits on the tape, and of keys left.

    Returns:
        The key for which the tape is too short, or the span's end; and the new state.
    """
    rows, last, newest = chains
    offsets, left = tape
    used, odd = state
    slot_mask, mask = np.uint64(len(last) - 1), np.uint64(len(newest) - 1)
    many_rooms = len(rooms) > 1
    for i in range(span[0], span[1]):
        soon = keys[np.uint64(min(i + _SOON_ANSWERED, span[1] - 1))] >> np.uint64(32)
        prefetch(rows, np.uint64(max(newest[soon & mask], 0)))
        key = keys[np.uint64(i)]
        code = key >> np.uint64(32)
        number = np.uint64(_number(key))
        start = used
        if last[code & slot_mask] < 0:
            left[odd] = number
            odd += 1
        else:
            room = rooms[number] if many_rooms else rooms[0]
            place = newest[code & mask]
            while place >= 0 and used - start < room:
                at = np.uint64(place)
                if rows[at] == np.uint32(code):
                    if used == len(offsets):
                        return i, start, odd
                    low = np.uint32(signed(rows[at + np.uint64(2)]))
                    offsets[np.uint64(used)] = long(signed(rows[at + np.uint64(1)])) << 32 | long(low)
                    used += 1
                place = np.int32(rows[at + np.uint64(4)])
        keys[np.uint64(i)] = np.uint64(used - start) << np.uint64(32) | number
    return span[1], used, odd


class PartedItems(NamedTuple):
    """Entries and keys, parted by slot.

    Attributes:
        rows: entries, as `slot_parts.part_entries` leaves them.
        runs: where rows of one part begin and end, those of a part one after the other, oldest first.
        run_bounds: where the runs of each part begin.
        keys: as `slot_parts.part_keys` leaves them.
        key_bounds: where the keys of each part begin.
    """

    rows: NDArray[np.uint32]
    runs: NDArray[np.int64]
    run_bounds: NDArray[np.int64]
    keys: NDArray[np.uint64]
    key_bounds: NDArray[np.int64]


class PartedFile(NamedTuple):
    """The slots of an index file, in parts.

    Attributes:
        heads: the slots, as words of the file.
        shift: a part is `1 << shift` slots.
        bits: of a code that entries of a part are found by, at least `shift`.
        index_count: of the header.
    """

    heads: NDArray[np.uint32]
    shift: int
    bits: int
    index_count: int


@jit
def join_parts(
    items: PartedItems,
    file: PartedFile,
    rooms: NDArray[np.int64],
    parts: tuple[int, int],
    begins: NDArray[np.int64],
    tape: HitTape,
) -> tuple[NDArray[np.int64], int]:
    """Finds the hits of the keys of some parts (IDX-SEL-1 .. IDX-SEL-3, IDX-SEL-6).

    Args:
        items: entries and keys. Of the rows the number of the entry before is overwritten, of the keys the code by
            the number of hits.
        file: the slots.
        rooms: maximum number of hits, one for all keys or one for each.
        parts: the first, and the one after the last.
        begins: filled with the place on the tape where the hits of each part begin.
        tape: filled; `left` has room for all keys.

    Returns:
        The physical offsets of the hits, in other memory if the tape was too short; and the number of keys left.
    """
    heads, shift, bits, index_count = file
    rows, runs, run_bounds, keys, key_bounds = items
    offsets = tape.offsets
    last, newest = np.empty(1 << shift, np.int32), np.empty(1 << bits, np.int32)
    used, odd = 0, 0
    for part in range(parts[0], parts[1]):
        some = heads[part << shift : (part + 1) << shift]
        _link(rows, runs[run_bounds[part] : run_bounds[part + 1]], some, index_count, last, newest)
        chains = _PartChains(rows, last, newest)
        begins[part] = used
        key, stop = key_bounds[part], key_bounds[part + 1]
        while True:
            key, used, odd = _answer(
                chains, keys, (key, stop), rooms, HitTape(offsets, tape.left), (used, odd)
            )
            if key == stop:
                break
            offsets = np.concatenate((offsets, np.empty(len(offsets) + 64, np.int64)))
    return offsets[:used], odd


class KeyCursors(NamedTuple):
    """Joined keys of all parts, and how far they have been put in order.

    Attributes:
        keys: as `join_parts` leaves them.
        key_bounds: where the keys of each part begin.
        cursors: for each part a key, and where its hits begin on the tape.
    """

    keys: NDArray[np.uint64]
    key_bounds: NDArray[np.int64]
    cursors: NDArray[np.int64]


@jit
def advance_cursors(order: KeyCursors, end: int) -> int:
    """Moves the cursors to the key of number `end`; returns the number of hits passed."""
    keys, key_bounds, cursors = order
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
def place_hits(order: KeyCursors, block: tuple[int, int], total: int, places: NDArray[np.int64]) -> int:
    """Writes to `places` where the first hit of each key of a block goes, that of the first key to `total`.

    Args:
        order: with cursors at the first number of the block; not changed.
        block: the first number, and the one after the last.
        total: number of hits of the keys before.
        places: of all keys.

    Returns:
        The number of hits including those of the block.
    """
    keys, key_bounds, cursors = order
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
def fill_hits(
    order: KeyCursors,
    parts: tuple[int, int],
    end: int,
    tape: NDArray[np.int64],
    places: NDArray[np.int64],
    found: NDArray[np.int64],
) -> None:
    """Copies the hits of the keys of some parts, up to number `end`, from the tape to their places in `found`.

    Moves the cursors and the places on.
    """
    keys, key_bounds, cursors = order
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
