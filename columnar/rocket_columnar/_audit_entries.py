"""Compiled loops over index entries as they lie in their files; imported only where a store is large."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from rocket_spec.layout import INDEX_ENTRY

from rocket_columnar._compiled_bytes import address, i32, i64
from rocket_columnar._numba import inlined, jit, long, prefetch, slot_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["look"]

_SIZE: Final = INDEX_ENTRY.size
_DIFF: Final = INDEX_ENTRY.offset_of("time_diff")
_PREVIOUS: Final = INDEX_ENTRY.offset_of("prev_entry")
_OFFSET: Final = INDEX_ENTRY.offset_of("phy_offset")
_AHEAD: Final = 32


@inlined
def _slot(base: int, entry: int, heads: NDArray[np.int32], inverse: float) -> Any:
    return slot_of(max(i32(base + _SIZE * entry), 0), len(heads), inverse)


@jit
def look(
    raw: NDArray[np.uint8],
    first: int,
    count: int,
    block: int,
    heads: NDArray[np.int32],
    differs: NDArray[np.bool_],
    low: NDArray[np.int64],
    high: NDArray[np.int64],
) -> tuple[int, int]:
    """Puts entries from number `first` on once more, as `Replay.put`, and finds where those before `count` point to.

    Args:
        raw: the entries.
        first: number of the first.
        count: one more than the newest that counts.
        block: how many make a block.
        heads: of each slot the newest entry so far.
        differs: of each slot whether a prev field of its entries is another than the newest entry before.
        low: of each block the least physical offset so far.
        high: of each block the greatest one so far.

    Returns:
        How many of those that count have no other before them, and how many have a negative time diff.
    """
    base = address(raw)
    inverse = 1.0 / len(heads)
    size = len(raw) // _SIZE
    ahead = np.empty(_AHEAD, np.uint64)  # the slots of the entries to come, which are being fetched meanwhile
    for i in range(min(_AHEAD, size)):
        ahead[i] = _slot(base, i, heads, inverse)
        prefetch(heads, ahead[i])
    used, negative = long(0), long(0)
    least, greatest = long(0), long(0)
    for i in range(size):
        at, number = base + _SIZE * i, first + i
        slot = ahead[i % _AHEAD]
        if i + _AHEAD < size:
            ahead[i % _AHEAD] = _slot(base, i + _AHEAD, heads, inverse)
            prefetch(heads, ahead[i % _AHEAD])
        previous = i32(at + _PREVIOUS)
        if i32(at) >= 0:
            if heads[slot] != previous:
                differs[slot] = True
            heads[slot] = number
        if number < count:
            if i == 0 or number % block == 0:
                least, greatest = low[number // block], high[number // block]
            offset = i64(at + _OFFSET)
            least, greatest = min(least, offset), max(greatest, offset)
            low[number // block], high[number // block] = least, greatest
            used += previous == 0
            negative += i32(at + _DIFF) < 0
    return used, negative
