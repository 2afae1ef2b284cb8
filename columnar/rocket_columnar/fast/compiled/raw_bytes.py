"""What compiled loops over bytes share: numbers, marks among 64 bytes, copies, and distinct strings.

A place is an address here, as `address` tells one of an array that the caller holds: an array handed to a function costs
a count of its users up and down, a call for each. Some functions look past the bytes that they are asked about, by
less than `SLACK`: what they work on ends in as many bytes more.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from rocket_columnar.fast.compiled.compilation import inlined, long
from rocket_columnar.fast.compiled.intrinsics import (
    byte,
    copy_32,
    fetch,
    own_i32,
    own_i64,
    word,
)

__all__ = [
    "address",
    "byte_hash",
    "copy",
    "find",
    "prefetch",
    "same",
    "until",
]

_STEP: Final = 32
_WORD: Final = 8
_MIX: Final = np.uint64(0x9E3779B97F4A7C15)
_HALF: Final = np.uint64(32)
_ALL: Final = np.uint64(0xFFFFFFFFFFFFFFFF)
_ONE: Final = np.uint64(1)
_PRIME: Final = np.uint64(31)
_LOW: Final = np.uint64(0x00000000FFFFFFFF)
_TWOS: Final = np.uint64(0x0000FFFF0000FFFF)
_ONES: Final = np.uint64(0x00FF00FF00FF00FF)
_HIGH: Final = np.uint64(0x8080808080808080)


@inlined
def address(array: Any) -> Any:
    """Where the first byte of an array is."""
    return long(array.ctypes.data)


@inlined
def prefetch(array: Any, place: Any) -> None:
    """Has the processor fetch an item of an array, to be used soon, without waiting for it."""
    fetch(long(array.ctypes.data) + long(place) * array.itemsize)


@inlined
def until(bits: Any, length: int) -> Any:
    """Of the marks in 64 bytes those in the first `length`, and one after these where that is in the 64."""
    if length >= 64:
        return bits
    last = _ONE << np.uint64(length)
    return bits & (last - _ONE) | last


@inlined
def copy(to: int, at: int, length: int) -> None:
    """Copies `length` bytes; up to 31 after them are overwritten too."""
    done = long(0)
    while done < length:
        copy_32(to + done, at + done)
        done += _STEP


@inlined
def _last(length: int) -> Any:
    """Mask of the bits in the last word that belong to a text of this many bytes."""
    return _ALL >> np.uint64(-8 * length & 63)


@inlined
def _mixed(at: int, length: int) -> Any:
    """A hash of a byte string."""
    code = np.uint64(length)
    while length > 0:
        part = word(at)
        if length < _WORD:
            part &= _last(length)
        code = (code ^ part) * _MIX
        code ^= code >> _HALF
        at += _WORD
        length -= _WORD
    return code


@inlined
def same(at: int, other: int, length: int) -> Any:
    """Whether two byte strings of one length are the same."""
    while length >= _WORD:
        if word(at) != word(other):
            return False
        at += _WORD
        other += _WORD
        length -= _WORD
    return length <= 0 or (word(at) ^ word(other)) & _last(length) == 0


@inlined
def find(at: int, length: int, table: int, mask: int, pool: int, bounds: int) -> tuple[int, int]:
    """The number of a byte string among those known, or -1, and its place in `table`, or where it would be put.

    `table`, `mask` + 1 numbers long, a power of two, and never full, holds numbers of 32 bits, -1 where free; string
    `n` is from `bounds[n]` to `bounds[n + 1]` of the pool, numbers of 64 bits.
    """
    probe = long(_mixed(at, length)) & mask
    number = own_i32(table + 4 * probe)
    while number >= 0:
        begin = own_i64(bounds + 8 * number)
        if own_i64(bounds + 8 * number + 8) - begin == length and same(at, pool + begin, length):
            break
        probe = (probe + 1) & mask
        number = own_i32(table + 4 * probe)
    return number, probe


@inlined
def byte_hash(at: int, end: int, code: Any) -> Any:
    """`31 * code + byte` over all bytes, from a text whose hash is `code` on: `String.hashCode` where they are ASCII.

    Returns:
        The hash as an unsigned number, and whether all are.
    """
    code, high = np.uint64(code), np.uint64(0)
    while at + _WORD <= end:
        # Eight bytes as one word: pairs, then fours, then all, each part multiplied in its own lane.
        part = word(at)
        high |= part
        part = (part & _ONES) * _PRIME + (part >> np.uint64(8) & _ONES)
        part = (part & _TWOS) * np.uint64(961) + (part >> np.uint64(16) & _TWOS)
        part = (part & _LOW) * np.uint64(923521) + (part >> _HALF)
        code = code * np.uint64(0x94446F01) + part  # 31^8, as all of it modulo 2^32
        at += _WORD
    while at < end:
        part = np.uint64(byte(at))
        high |= part
        code = code * _PRIME + part
        at += 1
    return code & _LOW, high & _HIGH == 0
