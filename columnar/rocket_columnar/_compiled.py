"""The loops for large batches, compiled by Numba; imported only where a batch is large.

An index file is a run of big-endian 32-bit words: 10 of header, one a slot, 5 an entry. The loops
take it as native words and swap the bytes of what they read.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, TypeVar, cast

from numba import njit

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

__all__ = ["hash_units", "select_chains"]

_Function = TypeVar("_Function", bound="Callable[..., Any]")


def _jit(function: _Function) -> _Function:
    """Numba's compilation, cached on disk, with the type kept."""
    return cast("_Function", njit(cache=True)(function))


_SWAP = sys.byteorder == "little"


@_jit
def hash_units(
    units: NDArray[np.unsignedinteger], bounds: NDArray[np.int64], hashes: NDArray[np.int32]
) -> None:
    """Fills `hashes` with the key hash of each run of units (IDX-HASH-1, IDX-HASH-2)."""
    for i in range(len(hashes)):
        code = 0
        for j in range(bounds[i], bounds[i + 1]):
            code = (code * 31 + units[j]) & 0xFFFFFFFF
        if code > 0x80000000:
            code = 0x100000000 - code
        elif code == 0x80000000:
            code = 0
        hashes[i] = code


@_jit
def _unsigned(words: NDArray[np.uint32], index: int) -> int:
    word = int(words[index])
    if _SWAP:
        word = (word & 0xFF) << 24 | (word & 0xFF00) << 8 | (word >> 8) & 0xFF00 | (word >> 24) & 0xFF
    return word


@_jit
def _wrapped(value: int) -> int:
    """`value` as the Java int it becomes."""
    return ((value + 0x80000000) & 0xFFFFFFFF) - 0x80000000


@_jit
def select_chains(  # noqa: C901 - one walk; a compiled loop takes plain positional values
    words: NDArray[np.uint32],
    hashes: NDArray[np.int32],
    slots: int,
    entries_position: int,
    index_count: int,
    header_begin: int,
    max_num: int,
    begin: int,
    end: int,
    counts: NDArray[np.int64],
    found: NDArray[np.int64],
) -> int:
    """Walks the chain of each hash (IDX-SEL-1 .. IDX-SEL-8).

    Called twice: with an empty `found` it leaves the number of hits of each hash in `counts`, then it
    puts the hits one after the other into `found`. `header_begin` is at least 2^31 seconds away from
    the ends of a Java long. Returns the number of the first hash whose chain never ends, else -1.
    """
    size = len(words)
    fill = len(found) > 0
    at = 0
    for i in range(len(hashes)):
        key_hash = int(hashes[i])
        hits = 0
        entry = 0
        index = _wrapped(40 + 4 * (key_hash % slots)) >> 2
        if 0 <= index < size:
            entry = _wrapped(_unsigned(words, index))
        if index_count <= 1 or entry > index_count:
            entry = 0
        mark, steps, limit = entry, 0, 1  # Brent's walk: a chain that meets its mark without a hit is a cycle
        while entry > 0 and hits < max_num:
            index = _wrapped(entries_position + 20 * entry) >> 2
            if index < 0 or index + 5 > size:
                break
            time_diff = _wrapped(_unsigned(words, index + 3))
            if time_diff < 0:
                break
            time = header_begin + 1000 * time_diff
            if _wrapped(_unsigned(words, index)) == key_hash and begin <= time <= end:
                if fill:
                    high, low = _wrapped(_unsigned(words, index + 1)), _unsigned(words, index + 2)
                    found[at + hits] = (high << 32) | low
                hits += 1
                mark, steps, limit = entry, 0, 1
            previous = _wrapped(_unsigned(words, index + 4))
            if previous > index_count or previous == entry or time < begin:
                break
            entry = previous
            steps += 1
            if entry == mark and hits < max_num:
                return i
            if steps == limit:
                mark, steps, limit = entry, 0, limit * 2
        counts[i] = hits
        at += hits
    return -1
