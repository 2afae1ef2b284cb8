"""Compiled loops over text in UTF-8: key hashes, and the properties of records.

Imported only where there is much of it. Text that is not well formed is left to Python: a loop ends at such a row, and
is called again for those behind it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rocket_columnar.kernels.compilation import inlined, jit, long
from rocket_columnar.kernels.raw_bytes import (
    address,
    byte_hash,
    is_ascii,
    lowest,
    marks,
    same,
    separators,
    until,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["hash_units", "hash_utf8", "split_properties", "text_hash", "well_formed"]

_ONE: Final = np.uint64(1)


@jit
def well_formed(  # noqa: C901 - the standard's table
    window: NDArray[np.uint8], at: int, end: int
) -> Any:
    """Whether the bytes are UTF-8 by the standard's table: no overlong form, no surrogate, none past U+10FFFF."""
    while at < end:
        lead = long(window[at])
        at += 1
        if lead < 0x80:
            continue
        if lead < 0xC2 or lead > 0xF4:
            return False
        low, high, more = 0x80, 0xBF, 1
        if lead >= 0xF0:
            more = 3
            if lead == 0xF0:
                low = 0x90
            if lead == 0xF4:
                high = 0x8F
        elif lead >= 0xE0:
            more = 2
            if lead == 0xE0:
                low = 0xA0
            if lead == 0xED:
                high = 0x9F
        if at + more > end or not low <= long(window[at]) <= high:
            return False
        for j in range(1, more):
            if window[at + j] & 0xC0 != 0x80:
                return False
        at += more
    return True


@jit
def text_hash(window: NDArray[np.uint8], at: int, end: int, code: int) -> Any:
    """`String.hashCode` of well-formed UTF-8 behind a text whose hash is `code`, as an unsigned number."""
    while at < end:
        lead = long(window[at])
        if lead < 0x80:
            code = (code * 31 + lead) & 0xFFFFFFFF
            at += 1
            continue
        more = 1 if lead < 0xE0 else 2 if lead < 0xF0 else 3
        point = lead & (0x3F >> more)
        for j in range(1, more + 1):
            point = point << 6 | long(window[at + j]) & 0x3F
        at += more + 1
        if point >= 0x10000:
            code = (code * 31 + (0xD7C0 + (point >> 10))) & 0xFFFFFFFF
            point = 0xDC00 | point & 0x3FF
        code = (code * 31 + point) & 0xFFFFFFFF
    return code


@jit
def hash_utf8(
    data: NDArray[np.uint8],
    bounds: NDArray[np.integer],
    codes: NDArray[np.uint32],
    hashes: NDArray[np.int32],
) -> int:
    """Fills `hashes` with the key hash of each text (IDX-HASH-1, IDX-HASH-2).

    Args:
        data: texts in UTF-8, one behind the other.
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
        code = long(low)
        if not plain:
            if not well_formed(data, at, end):
                return i
            code = text_hash(data, at, end, first)
        if code >= 0x80000000:
            code = (0x100000000 - code) & 0x7FFFFFFF
        hashes[i] = code
    return -1


@inlined
def _value(at: int, end: int) -> Any:
    """Where the value of a pair begins, behind the separator; behind the pair's end where it has none."""
    while at < end:
        found = separators(at)
        if found:
            return min(at + lowest(found), end) + 1
        at += 64
    return end + 1


@jit
def split_properties(
    window: NDArray[np.uint8],
    starts: NDArray[np.int32],
    lengths: NDArray[np.int32],
    first: int,
    counts: NDArray[np.int32],
    places: NDArray[np.int32],
    sizes: NDArray[np.int32],
    used: int,
) -> tuple[int, int]:
    """Places and sizes of all names (row 0) and values (row 1) from record `first` on, behind the `used` ones.

    A name keeps the place where it came first, and its last value, as in a Python dict. Returns the record at
    which Python has to take over, or their number, and how many pairs there are now.
    """
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
        if not is_ascii(begin, end - begin) and not well_formed(window, begin - base, end - base):
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
    """Fills `hashes` with the key hash of each run of units (IDX-HASH-1, IDX-HASH-2) behind one of `codes[0]`."""
    for i in range(len(hashes)):
        code = long(codes[0])
        for j in range(bounds[i], bounds[i + 1]):
            code = (code * 31 + units[j]) & 0xFFFFFFFF
        if code > 0x80000000:
            code = 0x100000000 - code
        elif code == 0x80000000:
            code = 0
        hashes[i] = code
