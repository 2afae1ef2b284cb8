"""What compiled loops over bytes share: numbers, marks among 64 bytes, copies, and distinct strings.

A place is an address here, as `address` tells one of an array that the caller holds: an array handed to a function costs
a count of its users up and down, a call for each. Some functions look past the bytes that they are asked about, by
less than `SLACK`: what they work on ends in as many bytes more.
"""

from __future__ import annotations

import sys
from typing import Any, Final

import numpy as np

from rocket_columnar.kernels.compilation import inlined, intrinsic, long

__all__ = [
    "SLACK",
    "address",
    "byte",
    "byte_hash",
    "copy",
    "fetch",
    "find",
    "high_16",
    "high_marks",
    "i32",
    "i64",
    "is_ascii",
    "lowest",
    "marks",
    "own_i32",
    "own_i64",
    "pread",
    "put_i32",
    "same",
    "separators",
    "spaces",
    "text_16",
    "text_32",
    "until",
    "word",
]

SLACK: Final = 64
"""Bytes after the last one of a window, a pool or an output, whose content does not matter."""

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


address: Any = intrinsic("address")
"""`address(array)`: where its first byte is."""

byte: Any = intrinsic("byte")
"""`byte(at)`: one byte as a number that is not negative."""

i32: Any = intrinsic("i32")
"""`i32(at)`: four bytes, big-endian, as a signed number."""

i64: Any = intrinsic("i64")
"""`i64(at)`: eight bytes, big-endian, as a signed number."""

word: Any = intrinsic("word")
"""`word(at)`: eight bytes as a number without a sign, the first the lowest."""

own_i32: Any = intrinsic("own_i32")
"""`own_i32(at)`: an item of an array of this machine's."""

own_i64: Any = intrinsic("own_i64")
"""`own_i64(at)`: the same of 64 bits."""

put_i32: Any = intrinsic("put_i32")
"""`put_i32(at, value)`: writes an item of an array of 32 bits."""

marks: Any = intrinsic("marks")
"""`marks(at)`: which of 64 bytes are a 2, the end of a property; the first is the lowest bit."""

separators: Any = intrinsic("separators")
"""`separators(at)`: which of 64 bytes are a 1, between a property's name and its value; the first is the lowest bit."""

spaces: Any = intrinsic("spaces")
"""`spaces(at)`: which of 64 bytes are a space; the first is the lowest bit."""

high_marks: Any = intrinsic("high_marks")
"""`high_marks(at)`: which of 64 bytes are no ASCII; the first is the lowest bit."""

high_16: Any = intrinsic("high_16")
"""`high_16(at)`: which of the 16 bytes from a place on are no ASCII; the first is the lowest bit."""

fetch: Any = intrinsic("fetch")
"""`fetch(at)`: has the processor load that address into its cache; any address is allowed."""

lowest: Any = intrinsic("lowest")
"""`lowest(mask)`: the number of the lowest bit that is set; one is."""

_copy_32: Any = intrinsic("copy_32")
_products_16: Any = intrinsic("products_16")
_products_32: Any = intrinsic("products_32")
_POWERS: Final = np.array([pow(31, 31 - place, 1 << 32) for place in range(32)] + [0] * 16, np.uint32)


@inlined
def is_ascii(at: int, length: int) -> Any:
    """Whether `length` bytes are ASCII."""
    while length >= 16:
        if high_16(at):
            return False
        at += 16
        length -= 16
    return high_16(at) & ((1 << length) - 1) == 0


@inlined
def text_16(at: int, length: int) -> Any:
    """`String.hashCode` of at most 16 bytes of ASCII, as an unsigned number."""
    return _products_16(at, address(_POWERS) + 4 * (32 - length))


@inlined
def text_32(at: int) -> Any:
    """The same of 32 bytes."""
    return _products_32(at, address(_POWERS))


if sys.platform == "win32":

    @inlined
    def pread(descriptor: int, to: int, length: int, offset: int) -> Any:  # noqa: ARG001
        """There is none."""
        return long(-1)

else:
    pread: Any = intrinsic("pread")
    """`pread(descriptor, to, length, offset)`: the system's own; how many bytes it read, -1 for an error."""


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
        _copy_32(to + done, at + done)
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
