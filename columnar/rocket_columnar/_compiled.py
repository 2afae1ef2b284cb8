"""The loops for large batches, compiled by Numba; imported only where a batch is large.

An index file is a run of big-endian 32-bit words: 10 of header, one a slot, 5 an entry. The loops
take it as native words and swap the bytes of what they read.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = ["hash_units", "put_entries", "select_chains"]

_Function = TypeVar("_Function", bound="Callable[..., Any]")
_long: Any = np.int64  # a wide local of a compiled loop; its place in Python's types does not matter


def _jit(function: _Function) -> _Function:
    """Numba's compilation, cached on disk, free of the interpreter lock, with the type kept."""
    return cast("_Function", njit(cache=True, nogil=True)(function))


_AHEAD = 32
_SWAP = sys.byteorder == "little"


@_jit
def hash_units(
    units: NDArray[np.unsignedinteger],
    bounds: NDArray[np.int64],
    codes: NDArray[np.uint32],
    hashes: NDArray[np.int32],
) -> None:
    """Fills `hashes` with the key hash of each run of units (IDX-HASH-1, IDX-HASH-2) behind one of `codes[0]`."""
    for i in range(len(hashes)):
        code = _long(codes[0])
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
def _swapped(value: int) -> Any:
    """A word as the file holds it."""
    word = np.uint32(value)
    if _SWAP:
        word = np.uint32(
            word << np.uint32(24)
            | (word & np.uint32(0xFF00)) << np.uint32(8)
            | (word >> np.uint32(8)) & np.uint32(0xFF00)
            | word >> np.uint32(24)
        )
    return word


@_jit
def put_entries(
    words: NDArray[np.uint32],
    hashes: NDArray[np.int32],
    phy_offsets: NDArray[np.int64],
    store_timestamps: NDArray[np.int64],
    slots: int,
    count: int,
    begin: int,
) -> int:
    """Puts entries from number `count` on, slots and all (IDX-PUT-2 .. IDX-PUT-8); there is room for them.

    `begin` is the header's begin timestamp. Returns how many slots were empty; the header is the caller's.
    """
    used = 0
    inverse = 1.0 / slots
    at = 10 + slots + 5 * count
    ahead = np.empty(_AHEAD, np.int64)
    held = np.empty(_AHEAD, np.uint32)  # only so that the words are read; a put in between changes them
    for i in range(len(hashes)):
        j = i % _AHEAD
        if j == 0:
            # The slots of some puts at once, none waiting for the memory of another.
            for k in range(min(_AHEAD, len(hashes) - i)):
                key_hash = _long(hashes[i + k])
                slot = key_hash - _long(key_hash * inverse) * slots  # one too far at most, on either side
                if slot < 0:
                    slot += slots
                elif slot >= slots:
                    slot -= slots
                ahead[k] = 10 + slot
                held[k] = words[10 + slot]
        key_hash = _long(hashes[i])
        slot = ahead[j]
        previous = _long(np.int32(_swapped(words[slot])))
        if previous <= 0 or previous > count:
            previous = 0
            used += 1
        time = _long(store_timestamps[i])
        seconds = _long(0)
        if begin > 0:
            seconds = min(max(time - begin, 0) // 1000, 0x7FFFFFFF)
        if count <= 1:
            begin = time
        phy_offset = phy_offsets[i]
        words[at] = _swapped(key_hash)
        words[at + 1] = _swapped(phy_offset >> 32)
        words[at + 2] = _swapped(phy_offset)
        words[at + 3] = _swapped(seconds)
        words[at + 4] = _swapped(previous)
        words[slot] = _swapped(count)
        at += 5
        count += 1
    return used


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
