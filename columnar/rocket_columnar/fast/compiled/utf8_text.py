"""Compiled loops over bytes and text in UTF-8: numbers, whether text is well formed, and its hashes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rocket_columnar.fast.compiled.compilation import inlined, jit, long

_Bytes = NDArray[np.uint8]


@inlined
def _u32(data: _Bytes, at: int) -> Any:
    """Four bytes, big-endian; a place without a sign is not counted from the end."""
    place = np.uint64(at)
    value = np.uint32(data[place]) << np.uint32(24)
    value |= np.uint32(data[place + np.uint64(1)]) << np.uint32(16)
    value |= np.uint32(data[place + np.uint64(2)]) << np.uint32(8)
    return value | np.uint32(data[place + np.uint64(3)])


@inlined
def i32(data: _Bytes, at: int) -> Any:
    """Four bytes, big-endian, as a signed number."""
    return long(np.int32(_u32(data, at)))


@inlined
def i64(data: _Bytes, at: int) -> Any:
    """Eight bytes, big-endian, as a signed number."""
    return long(np.int32(_u32(data, at))) << 32 | long(np.uint32(_u32(data, at + 4)))


@inlined
def _character(data: _Bytes, at: int, end: int) -> tuple[int, int]:
    """The character at a place: its number of bytes and its code point, -1 if it is none that Unicode's table 3-7 allows."""
    first = long(data[np.uint64(at)])
    if first < 0x80:
        return long(1), first
    length = long(2) if first < 0xE0 else long(3) if first < 0xF0 else long(4)
    if not 0xC2 <= first <= 0xF4 or at + length > end:
        return long(1), long(-1)
    point = first & (0x7F >> length)
    for place in range(at + 1, at + length):
        unit = long(data[np.uint64(place)])
        if unit & 0xC0 != 0x80:
            return long(1), long(-1)
        point = point << 6 | unit & 0x3F
    least = long(0x80) if length == 2 else long(0x800) if length == 3 else long(0x10000)
    if point < least or point > 0x10FFFF or point >> 11 == 0x1B:
        return long(1), long(-1)
    return length, point


@jit
def text_hash(data: _Bytes, at: int, end: int, code: int) -> int:
    """`String.hashCode` of UTF-8 after a text whose hash is `code`, as an unsigned number; -1 if it is not well formed."""
    while at < end:
        place = np.uint64(at)
        if at + 4 <= end and _u32(data, at) & np.uint32(0x80808080) == 0:  # four of ASCII
            code = code * 923521 + data[place] * 29791 + data[place + np.uint64(1)] * 961
            code += data[place + np.uint64(2)] * 31 + data[place + np.uint64(3)]
            code &= 0xFFFFFFFF
            at += 4
            continue
        length, point = _character(data, at, end)
        if point < 0:
            return -1
        if length == 4:
            code = code * 31 + 0xD7C0 + (point >> 10)
            point = 0xDC00 | point & 0x3FF
        code = (code * 31 + point) & 0xFFFFFFFF
        at += length
    return code


@jit
def well_formed(data: _Bytes, at: int, end: int) -> bool:
    """Whether bytes are UTF-8: no overlong form, no surrogate, nothing past U+10FFFF."""
    while at < end:
        length, point = _character(data, at, end)
        if point < 0:
            return False
        at += length
    return True


@inlined
def key_hash(code: int) -> Any:
    """The key hash of a text whose `String.hashCode` is `code`, as an unsigned number (IDX-HASH-1, IDX-HASH-2)."""
    return code if code < 0x80000000 else (0x100000000 - code) & 0x7FFFFFFF


@jit
def hash_utf8(data: _Bytes, bounds: NDArray[np.integer], first: int, hashes: NDArray[np.int32]) -> int:
    """Fills `hashes` with the key hash of each text (IDX-HASH-1, IDX-HASH-2).

    Args:
        data: texts in UTF-8, one after the other.
        bounds: where each begins, and the last ends.
        first: `String.hashCode` of what precedes each text, as an unsigned number.
        hashes: to fill.

    Returns:
        The first text that is not well formed, else -1.
    """
    for i in range(len(hashes)):
        code = text_hash(data, long(bounds[i]), long(bounds[i + 1]), first)
        if code < 0:
            return i
        hashes[i] = key_hash(code)
    return -1
