"""Compiled loops over text in UTF-8: whether it is well formed, and its hashes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rocket_columnar.fast.compiled.compilation import inlined, jit, long
from rocket_columnar.fast.compiled.intrinsics import byte, high_marks, i32, lowest
from rocket_columnar.fast.compiled.raw_bytes import address, byte_hash

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["hash_utf8", "key_hash", "text_hash", "well_formed"]

# Characters of 1 to 4 bytes by the highest four bits of the first byte, one row each: the number of bytes; a mask of four
# bytes and what it must give; how far the bits of a shorter character are shifted left; the least code point that needs so
# many bytes; the mask of the code point.
_CHARACTERS: Final = np.array(
    [[1, 0x80000000, 0, 18, 0, 0x7F]] * 8
    + [[1, 0, 1, 18, 0, 0]] * 4  # no character begins with these
    + [[2, 0xE0C00000, 0xC0800000, 12, 0x80, 0x7FF]] * 2
    + [[3, 0xF0C0C000, 0xE0808000, 6, 0x800, 0xFFFF]]
    + [[4, 0xF8C0C0C0, 0xF0808080, 0, 0x10000, 0x1FFFFF]],
    np.int64,
)


@inlined
def _four_bytes(at: int, end: int) -> Any:
    """The next four bytes, big-endian, with zeros for those at or after `end`."""
    if end - at >= 4:
        return i32(at) & 0xFFFFFFFF
    value = long(0)
    for place in range(4):
        value = value << 8 | (byte(at + place) if at + place < end else 0)
    return value


@inlined
def _character(at: int, end: int) -> Any:
    """The character at a place: its bytes, its code point, and whether it is one that Unicode's table 3-7 allows."""
    data = _four_bytes(at, end)
    kind = data >> 28
    point = (data >> 6 & 0x1FC0000) | (data >> 4 & 0x3F000) | (data >> 2 & 0xFC0) | (data & 0x3F)
    point = (point >> _CHARACTERS[kind, 3]) & _CHARACTERS[kind, 5]
    good = data & _CHARACTERS[kind, 1] == _CHARACTERS[kind, 2]
    good &= point >= _CHARACTERS[kind, 4]
    good &= point >> 11 != 0x1B
    good &= point < 0x110000
    return _CHARACTERS[kind, 0], point, good


@jit
def text_hash(at: int, end: int, code: int) -> Any:
    """`String.hashCode` of UTF-8 after a text whose hash is `code`, as an unsigned number; -1 if it is not well formed.

    Well formed is what Unicode's table 3-7 allows: no overlong form, no surrogate, nothing past U+10FFFF.
    """
    good = True
    while at < end:
        length, point, allowed = _character(at, end)
        good &= allowed
        if length == 4:
            code = code * 31 + 0xD7C0 + (point >> 10)
            point = 0xDC00 | point & 0x3FF
        code = (code * 31 + point) & 0xFFFFFFFF
        at += length
    return code if good else long(-1)


@jit
def well_formed(at: int, end: int) -> bool:
    """Whether the bytes are UTF-8; ASCII among them is passed over 64 bytes at a time."""
    good = True
    while at < end:
        others = high_marks(at)
        at += lowest(others) if others else 64
        while at < end and byte(at) >= 0x80:
            length, _, allowed = _character(at, end)
            good &= allowed
            at += length
    return good


@inlined
def key_hash(code: int) -> Any:
    """The key hash of a text whose `String.hashCode` is `code`, as an unsigned number (IDX-HASH-1, IDX-HASH-2)."""
    return code if code < 0x80000000 else (0x100000000 - code) & 0x7FFFFFFF


@jit
def hash_utf8(
    data: NDArray[np.uint8], bounds: NDArray[np.integer], first: int, hashes: NDArray[np.int32]
) -> int:
    """Fills `hashes` with the key hash of each text (IDX-HASH-1, IDX-HASH-2).

    Args:
        data: texts in UTF-8, one after the other.
        bounds: where each begins, and the last ends.
        first: `String.hashCode` of what precedes each text, as an unsigned number.
        hashes: to fill.

    Returns:
        The first text that is not well formed, else -1.
    """
    base = address(data)
    for i in range(len(hashes)):
        at, end = base + long(bounds[i]), base + long(bounds[i + 1])
        low, plain = byte_hash(at, end, first)
        code = long(low) if plain else text_hash(at, end, first)
        if code < 0:
            return i
        hashes[i] = key_hash(code)
    return -1
