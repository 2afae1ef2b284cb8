"""Compiled loops over text in UTF-8: key hashes, and the properties of records.

Imported only where there is much of it. Text that is not well formed, and delay levels that are more than plain
digits, are left to Python: a loop ends at such a row, and is called again for those behind it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rocket_columnar._numba import jit, long

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["dispatch_texts", "hash_utf8", "pairs"]


_KEYS: Final = np.frombuffer(b"KEYS", np.uint8)
_UNIQ_KEY: Final = np.frombuffer(b"UNIQ_KEY", np.uint8)
_TAGS: Final = np.frombuffer(b"TAGS", np.uint8)
_DELAY: Final = np.frombuffer(b"DELAY", np.uint8)


_EIGHT: Final = np.uint64(8)
_ONES: Final = np.uint64(0x0101010101010101)
_TWOS: Final = np.uint64(0x0202020202020202)
_HIGH: Final = np.uint64(0x8080808080808080)
_BYTES: Final = np.uint64(0x00FF00FF00FF00FF)
_PAIRS: Final = np.uint64(0x0000FFFF0000FFFF)
_FOURS: Final = np.uint64(0x00000000FFFFFFFF)


@jit
def _word(data: NDArray[np.uint8], at: Any) -> Any:
    """Eight bytes as a number, the first the lowest; the compiler makes one load of it."""
    word = np.uint64(data[at])
    for j in range(1, 8):
        word |= np.uint64(data[at + np.uint64(j)]) << np.uint64(8 * j)
    return word


@jit
def _is(window: NDArray[np.uint8], at: int, length: int, name: NDArray[np.uint8]) -> Any:
    if length != len(name):
        return False
    for j in range(length):  # noqa: SIM110 - a compiled loop
        if window[at + j] != name[j]:
            return False
    return True


@jit
def _well_formed(  # noqa: C901 - the standard's table
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
def _text_hash(window: NDArray[np.uint8], at: int, end: int, code: int) -> Any:
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
    for i in range(len(hashes)):
        at, end = long(bounds[i]), long(bounds[i + 1])
        first = long(codes[i * step])
        word, high = np.uint64(0), np.uint64(0)
        code = np.uint64(first)
        place, rest = np.uint64(at), np.uint64(max(end - at, 0))
        while rest >= _EIGHT:
            # Eight bytes as one word: pairs, then fours, then all, each part multiplied in its own lane.
            word = _word(data, place)
            high |= word
            word = (word & _BYTES) * np.uint64(31) + (word >> _EIGHT & _BYTES)
            word = (word & _PAIRS) * np.uint64(961) + (word >> np.uint64(16) & _PAIRS)
            word = (word & _FOURS) * np.uint64(923521) + (word >> np.uint64(32))
            code = code * np.uint64(0x94446F01) + word  # 31^8, as all of it modulo 2^32
            place += _EIGHT
            rest -= _EIGHT
        while rest > np.uint64(0):
            word = np.uint64(data[place])
            high |= word
            code = code * np.uint64(31) + word
            place += np.uint64(1)
            rest -= np.uint64(1)
        code = long(code & _FOURS)
        if high & _HIGH:
            if not _well_formed(data, at, end):
                return i
            code = _text_hash(data, at, end, first)
        if code >= 0x80000000:
            code = (0x100000000 - code) & 0x7FFFFFFF
        hashes[i] = code
    return -1


@jit
def dispatch_texts(  # noqa: C901, PLR0912, PLR0915 - one pass over the bytes
    window: NDArray[np.uint8],
    starts: NDArray[np.int32],
    lengths: NDArray[np.int32],
    scheduled: NDArray[np.bool_],
    store_timestamps: NDArray[np.int64],
    seconds: NDArray[np.int64],
    first: int,
    places: NDArray[np.int32],
    sizes: NDArray[np.int32],
    codes: NDArray[np.int64],
) -> int:
    """Places of KEYS, UNIQ_KEY and TAGS (rows 0 to 2 of `places`; size -1 for none) and the tags code of each row.

    `scheduled` marks the rows of the topic of delayed messages. Starts at row `first`; returns the row at which
    Python has to take over, or the number of rows.
    """
    for i in range(first, len(starts)):
        at = long(starts[i])
        begin, end = at, at + long(lengths[i])
        sizes[0, i] = sizes[1, i] = sizes[2, i] = -1
        delay, delay_end = long(0), long(0)
        high = np.uint64(0)
        while at < end:
            name = at
            while at < end and not 1 <= window[np.uint64(at)] <= 2:
                high |= np.uint64(window[np.uint64(at)])
                at += 1
            separator = at
            # To the end of the value, eight bytes at a time while none of them is a 2.
            while at + 8 <= end:
                word = _word(window, np.uint64(at))
                other = word ^ _TWOS
                if (other - _ONES) & ~other & _HIGH:
                    break
                high |= word
                at += 8
            while at < end and window[np.uint64(at)] != 2:
                high |= np.uint64(window[np.uint64(at)])
                at += 1
            length = separator - name
            if length > 0 and separator + 1 < at:
                which = -1
                if _is(window, name, length, _KEYS):
                    which = 0
                elif _is(window, name, length, _UNIQ_KEY):
                    which = 1
                elif _is(window, name, length, _TAGS):
                    which = 2
                elif _is(window, name, length, _DELAY):
                    delay, delay_end = separator + 1, at
                if which >= 0:
                    places[which, i] = separator + 1
                    sizes[which, i] = at - separator - 1
            at += 1
        if high & _HIGH and not _well_formed(window, begin, end):
            return i
        level = long(0)
        if scheduled[i] and delay_end > delay:
            if delay_end - delay > 9:
                return i
            for j in range(delay, delay_end):
                digit = long(window[j]) - 48
                if not 0 <= digit <= 9:
                    return i
                level = level * 10 + digit
        if level > 0:
            codes[i] = store_timestamps[i] + 1000 * seconds[min(level, len(seconds)) - 1]
        elif sizes[2, i] > 0:
            tags = long(places[2, i])
            code = _text_hash(window, tags, tags + sizes[2, i], long(0))
            codes[i] = ((code + 0x80000000) & 0xFFFFFFFF) - 0x80000000
        else:
            codes[i] = 0
    return len(starts)


@jit
def pairs(  # noqa: C901 - one pass over the bytes
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
    for i in range(first, len(starts)):
        at = long(starts[i])
        begin, end = at, at + long(lengths[i])
        start = used
        high = np.uint8(0)
        while at < end:
            name = at
            separator = long(-1)
            while at < end and window[at] != 2:
                high |= window[at]
                if separator < 0 and window[at] == 1:
                    separator = at
                at += 1
            length = separator - name
            if length > 0 and separator + 1 < at:
                number = start
                while number < used:
                    if sizes[0, number] == length:
                        known = long(places[0, number])
                        same = 0
                        while same < length and window[known + same] == window[name + same]:
                            same += 1
                        if same == length:
                            break
                    number += 1
                if number == used:
                    places[0, number] = name
                    sizes[0, number] = length
                    used += 1
                places[1, number] = separator + 1
                sizes[1, number] = at - separator - 1
            at += 1
        if high & 0x80 and not _well_formed(window, begin, end):
            return i, start
        counts[i] = used - start
    return len(starts), used
