"""Compiled loops over text in UTF-8: key hashes, and the properties of records.

Imported only for large amounts of text. Text that is not well formed is left to Python: a loop ends at such a row, and
is called again for the rows after it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from rocket_columnar.kernels.compilation import inlined, jit, long
from rocket_columnar.kernels.raw_bytes import (
    address,
    byte,
    byte_hash,
    high_marks,
    i32,
    is_ascii,
    lowest,
    marks,
    same,
    separators,
    until,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "PropertyPairs",
    "PropertyTexts",
    "hash_units",
    "hash_utf8",
    "key_hash",
    "split_properties",
    "text_hash",
    "well_formed",
]

_ONE: Final = np.uint64(1)


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
    data: NDArray[np.uint8],
    bounds: NDArray[np.integer],
    codes: NDArray[np.uint32],
    hashes: NDArray[np.int32],
) -> int:
    """Fills `hashes` with the key hash of each text (IDX-HASH-1, IDX-HASH-2).

    Args:
        data: texts in UTF-8, one after the other.
        bounds: where each begins, and the last ends.
        codes: `String.hashCode` of what precedes each text; one for all, or one for each.
        hashes: to fill.

    Returns:
        The first text that is not well formed, else -1.
    """
    step = 1 if len(codes) > 1 else 0
    base = address(data)
    for i in range(len(hashes)):
        at, end = long(bounds[i]), long(bounds[i + 1])
        first = long(codes[i * step])
        low, plain = byte_hash(base + at, base + end, first)
        code = long(low) if plain else text_hash(base + at, base + end, first)
        if code < 0:
            return i
        hashes[i] = key_hash(code)
    return -1


@inlined
def _value(at: int, end: int) -> Any:
    """Where the value of a pair begins, after the separator; after the end of a pair without one."""
    while at < end:
        found = separators(at)
        if found:
            return min(at + lowest(found), end) + 1
        at += 64
    return end + 1


class PropertyTexts(NamedTuple):
    """The properties of records, as text: bytes, and where each record's begins and its length in them."""

    window: NDArray[np.uint8]
    starts: NDArray[np.int32]
    lengths: NDArray[np.int32]


class PropertyPairs(NamedTuple):
    """The pairs of records: their number in each record; place and size of each name (row 0) and value (row 1)."""

    counts: NDArray[np.int32]
    places: NDArray[np.int32]
    sizes: NDArray[np.int32]


@jit
def split_properties(texts: PropertyTexts, pairs: PropertyPairs, first: int, used: int) -> tuple[int, int]:
    """Splits the properties from record `first` on, and adds their pairs after the first `used` ones.

    A name keeps its first place and its last value, as in a Python dict.

    Returns:
        The first record whose text is not well formed, otherwise the number of records; and the number of pairs.
    """
    window, starts, lengths = texts
    counts, places, sizes = pairs
    base = address(window)
    for i in range(first, len(starts)):
        begin = base + long(starts[i])
        end = begin + long(lengths[i])
        start = used
        name, block = begin, begin
        while block <= end:
            ends = until(marks(block), end - block)
            while ends:
                pair_end = block + lowest(ends)
                ends &= ends - _ONE
                value = _value(name, pair_end)
                length = value - 1 - name
                if length > 0 and value < pair_end:
                    number = start
                    while number < used and not (
                        sizes[0, number] == length and same(base + long(places[0, number]), name, length)
                    ):
                        number += 1
                    if number == used:
                        places[0, number] = name - base
                        sizes[0, number] = length
                        used += 1
                    places[1, number] = value - base
                    sizes[1, number] = pair_end - value
                name = pair_end + 1
            block += 64
        if not is_ascii(begin, end - begin) and not well_formed(begin, end):
            return i, start
        counts[i] = used - start
    return len(starts), used


@jit
def hash_units(
    units: NDArray[np.unsignedinteger],
    bounds: NDArray[np.int64],
    codes: NDArray[np.uint32],
    hashes: NDArray[np.int32],
) -> None:
    """Fills `hashes` with the key hash of each run of units (IDX-HASH-1, IDX-HASH-2) after a text of hash `codes[0]`."""
    for i in range(len(hashes)):
        code = long(codes[0])
        for j in range(bounds[i], bounds[i + 1]):
            code = (code * 31 + units[j]) & 0xFFFFFFFF
        hashes[i] = key_hash(code)
