"""Compiled loops over an index file's chains. They take its words as this machine's, and swap their bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rocket_columnar.fast.chain_file import ChainFile, Hits
from rocket_columnar.fast.compiled.compilation import inlined, jit, long, signed

if TYPE_CHECKING:
    from numpy.typing import NDArray


@inlined
def _wrapped(value: Any) -> Any:
    """`value` as the Java int it becomes."""
    return ((value + 0x80000000) & 0xFFFFFFFF) - 0x80000000


@inlined
def _swapped(value: Any) -> Any:
    """A number as a word of the file."""
    return np.uint32(signed(value))


def select_many(
    file: ChainFile, hashes: NDArray[np.int32], rooms: NDArray[np.int64], window: tuple[int, int]
) -> Hits | int:
    """Hits of each hash, or the number of a hash whose chain never ends (IDX-SEL-1 .. IDX-SEL-8).

    Args:
        file: the file.
        hashes: key hashes.
        rooms: maximum number of hits, one for all keys or one for each.
        window: first and last ms, inclusive.
    """
    bounds, found = np.zeros(len(hashes) + 1, np.int64), np.empty(max(len(hashes), 64), np.int64)
    number = 0
    while number < len(hashes):
        number, endless = _select(file, hashes, rooms, window, (bounds, found), number)
        if endless:
            return number
        if number < len(hashes):
            found = np.concatenate([found, np.empty_like(found)])
    return Hits(bounds, found[: bounds[-1]])


@jit
def _select(  # noqa: C901 - one walk
    file: ChainFile,
    hashes: NDArray[np.int32],
    rooms: NDArray[np.int64],
    window: tuple[int, int],
    hits: tuple[NDArray[np.int64], NDArray[np.int64]],
    number: int,
) -> tuple[int, bool]:
    """Walks the chains of the hashes from `number` on; the first for whose hits there is no room, or whose chain never ends."""
    words, size = file.words, len(file.words)
    begin, end = window
    bounds, found = hits
    while number < len(hashes):
        used, key_hash = bounds[number], hashes[number]
        left = rooms[number] if len(rooms) > 1 else rooms[0]
        at = _wrapped(40 + 4 * (long(key_hash) % file.slots)) >> 2
        entry = long(signed(words[at])) if 0 <= at < size else long(0)
        if entry > file.index_count or file.index_count <= 1:
            entry = long(0)
        # Brent's algorithm: a chain that comes back to its mark without a hit is a cycle.
        mark, steps, limit = entry, 0, 1
        while entry > 0 and left > 0:
            at = _wrapped(file.entries_position + 20 * entry) >> 2
            if at < 0 or at + 5 > size:
                break
            time_diff = long(signed(words[at + 3]))
            if time_diff < 0:
                break
            time = file.begin_timestamp + 1000 * time_diff
            if signed(words[at]) == key_hash and begin <= time <= end:
                if used == len(found):
                    return number, False
                found[used] = long(signed(words[at + 1])) << 32 | long(_swapped(words[at + 2]))
                used += 1
                left -= 1
                mark, steps, limit = entry, 0, 1
            previous = long(signed(words[at + 4]))
            if previous <= 0 or previous > file.index_count or previous == entry or time < begin:
                break
            entry = previous
            steps += 1
            if entry == mark and left > 0:
                return number, True
            if steps == limit:
                mark, steps, limit = entry, 0, 2 * limit
        number += 1
        bounds[number] = used
    return number, False
