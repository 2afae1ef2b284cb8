"""Compiled loops that part the entries of an index file, and keys, by slot; see `key_pass`, which joins the parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from rocket_columnar.kernels.compilation import jit, long, prefetch, signed, slot_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["RowChunks", "count_keys", "part_entries", "part_keys"]

_NEXT_ROWS: Final = np.uint64(24)  # words from the row that is written to one that is fetched


@jit
def _read(word: Any) -> Any:
    """A word of the file as a wide number."""
    return long(signed(word))


@jit
def _part_and_code(key_hash: Any, slots: int, inverse: float, shift: int) -> Any:
    """The part of a hash, a part being `1 << shift` slots, and its code."""
    slot = slot_of(key_hash, slots, inverse)
    quotient = np.uint64(long((key_hash - long(slot)) * inverse + 0.5))
    mask = (np.uint64(1) << np.uint64(shift)) - np.uint64(1)
    return slot >> np.uint64(shift), quotient << np.uint64(shift) | slot & mask


class RowChunks(NamedTuple):
    """Entries parted by slot. Those of a part fill chunks of rows one after the other; other parts have chunks in between.

    A row is the code, both words of the physical offset as they are in the file, the number of the entry, and that of
    the entry before it.

    Attributes:
        rows: of all chunks.
        size: number of rows in a chunk.
        owners: the part of each chunk.
    """

    rows: NDArray[np.uint32]
    size: int
    owners: NDArray[np.int64]


@jit
def part_entries(
    entries: NDArray[np.uint32],
    first: int,
    division: tuple[int, int],
    seconds: tuple[int, int],
    chunks: RowChunks,
    places: NDArray[np.int64],
) -> bool:
    """Copies entries, the first of which is number `first`, into rows of their parts.

    Args:
        entries: words of the file.
        first: the number of the first one.
        division: number of slots, and `shift`: a part is `1 << shift` slots.
        seconds: the least and the greatest time diff in the window.
        chunks: to fill.
        places: for each part, where its next row goes and where its chunk ends; the same if it needs a new chunk. In the
            last line, the number of the next chunk to take.

    Returns:
        False if an entry is outside the window, or its hash or time diff is negative.
    """
    slots, shift = division
    rows, size, owners = chunks
    inverse = 1.0 / slots
    least, most = max(seconds[0], 0), seconds[1]
    chunk = places[-1, 0]
    for i in range(len(entries) // 5):
        at = np.uint64(5 * i)
        key_hash, time_diff = _read(entries[at]), _read(entries[at + np.uint64(3)])
        if key_hash < 0 or time_diff < least or time_diff > most:
            return False
        part, code = _part_and_code(key_hash, slots, inverse, shift)
        row = places[part, 0]
        if row == places[part, 1]:
            owners[chunk] = part
            row = chunk * size
            chunk += 1
            places[part, 1] = row + size
        places[part, 0] = row + 1
        to = np.uint64(5 * row)
        prefetch(rows, to + _NEXT_ROWS)
        rows[to] = np.uint32(code)
        rows[to + np.uint64(1)] = entries[at + np.uint64(1)]
        rows[to + np.uint64(2)] = entries[at + np.uint64(2)]
        rows[to + np.uint64(3)] = np.uint32(first + i)
        rows[to + np.uint64(4)] = np.uint32(signed(entries[at + np.uint64(4)]))
    places[-1, 0] = chunk
    return True


@jit
def count_keys(hashes: NDArray[np.int32], slots: int, shift: int, counts: NDArray[np.int64]) -> bool:
    """Adds the number of hashes of each part to `counts`; False if one is negative."""
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
