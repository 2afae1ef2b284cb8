"""The records of a log by loops that Numba compiles when one is first called, unless the cache has the code; importing this loads Numba.

Loops over the records of a log, and over text in UTF-8: whether it is well formed, and its hashes.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import Any, Final, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from rocket_spec.errors import UsageError
from rocket_spec.layout import LONG_TOPIC_MAGIC, MESSAGE_MAGIC, RECORD_FIXED_V4

from rocket_columnar.fast.compiling import SETTINGS, cache_folder, report_once, settings_in_the_way

if settings_in_the_way():  # Numba would read them when it is imported
    raise UsageError(f"{SETTINGS}: in the working folder, found settings for Numba, expected none")

if cache_folder() is not None and "numba" not in sys.modules:  # which reads the variable when it is imported
    os.environ.setdefault("NUMBA_CACHE_DIR", str(cache_folder()))

from collections.abc import Callable

import numba

_Function = TypeVar("_Function", bound="Callable[..., Any]")

long: Any = np.int64  # a wide local of a compiled loop; its place in Python's types does not matter


def jit(function: _Function) -> _Function:
    """A compiled loop, cached on disk, free of the interpreter lock, with the type as it was."""
    folder = cache_folder()
    if folder is None:
        report_once(
            "compiling loops for large files, at each start: there is no cache folder that is the user's alone"
        )
        return cast("_Function", numba.njit(nogil=True)(function))
    known = folder / f"{function.__module__.rpartition('.')[2]}.compiled"
    if not known.exists():
        report_once("compiling loops for large files; the compiled code is cached for later starts")
        with suppress(OSError):  # the line is then printed at the next start too
            known.parent.mkdir(exist_ok=True)
            known.touch()
    return cast("_Function", numba.njit(nogil=True, cache=True)(function))


def inlined(function: _Function) -> _Function:
    """Like `jit`, but inlined into its callers, because a Numba call copies array descriptors."""
    return cast("_Function", numba.njit(nogil=True, forceinline=True)(function))


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
    """Fills `hashes` with the key hash of each text (IDX-HASH-1, IDX-HASH-2); returns the first text that is not well formed, else -1.

    Texts in UTF-8 are in `data`, from each of `bounds` up to the next. `first` is the `String.hashCode` of what precedes each text, unsigned.
    """
    for i in range(len(hashes)):
        code = text_hash(data, long(bounds[i]), long(bounds[i + 1]), first)
        if code < 0:
            return i
        hashes[i] = key_hash(code)
    return -1


# Compiled loops over the records of a window: frames and fields, properties, and byte strings joined or numbered.


_BORN_HOST: Final = 48  # its offset in a record
_BEFORE_BODY: Final = 16  # bytes between the store host and the body
_FIXED: Final = RECORD_FIXED_V4
_MAGIC: Final = MESSAGE_MAGIC
_LONG_TOPIC_MAGIC: Final = LONG_TOPIC_MAGIC
_PRIME: Final = 0x9E3779B97F4A7C15 - (1 << 64)

# The first bytes of a pair, with the separator, as the high bytes of a big-endian long.
_KEYS: Final = int.from_bytes(b"KEYS\1")
_UNIQ_KEY: Final = int.from_bytes(b"UNIQ_KEY")
_TAGS: Final = int.from_bytes(b"TAGS\1")
_DELAY: Final = int.from_bytes(b"DELAY\1")
_MULTI_DISPATCH: Final = tuple(map(int.from_bytes, (b"INNER_MU", b"LTI_DISP", b"ISPATCH\1")))


@jit
def find_records(window: _Bytes, range_: Any, rows: Any) -> tuple[int, int]:
    """See `PlainLog.find_records`; a record verifies if `formats.check_frame_head` and `formats.parse_record` accept it."""
    at, room, position = range_.at, range_.room, range_.position
    count = 0
    while at < range_.stop and at + _FIXED <= range_.end and count < len(rows):
        size = i32(window, at)
        end = at + size
        if not _FIXED <= size <= room or end > range_.end:
            break
        magic = i32(window, at + 4)
        if magic not in (_MAGIC, _LONG_TOPIC_MAGIC) or i64(window, at + 28) != position:
            break
        sys_flag = i32(window, at + 36)
        born = at + (68 if sys_flag & 16 else 56)  # after the born host
        body = born + (44 if sys_flag & 32 else 32)
        body_length = max(i32(window, body - 4), 0)
        mask = 0xFF if magic == _MAGIC else 0xFFFF  # of the length of the topic
        topic = body + body_length + (1 if magic == _MAGIC else 2)
        if topic + 2 > end:
            break
        topic_length = i32(window, topic - 4) & mask
        properties = topic + topic_length + 2
        if topic_length > mask >> 1 or properties > end:
            break
        length = i32(window, properties - 4) & 0xFFFF
        if properties + (length if length < 0x8000 else 0) != end:
            break
        row = rows[count]
        row.size = size
        row.body_crc = i32(window, at + 8)
        row.queue_id = i32(window, at + 12)
        row.flag = i32(window, at + 16)
        row.queue_offset = i64(window, at + 20)
        row.phy_offset = position
        row.sys_flag = sys_flag
        row.born_timestamp = i64(window, at + 40)
        row.store_timestamp = i64(window, born)
        row.reconsume_times = i32(window, body - 16)
        row.prepared_transaction_offset = i64(window, body - 12)
        row.born_host_at = at + _BORN_HOST
        row.born_host_length = born - at - _BORN_HOST
        row.store_host_at = born + 8
        row.store_host_length = body - _BEFORE_BODY - born - 8
        row.body_at = body
        row.body_length = body_length
        row.topic_at = topic
        row.topic_length = topic_length
        row.properties_at = properties
        row.properties_length = end - properties
        count += 1
        at, room, position = end, room - size, position + size
    return count, at


@jit
def find_values(window: _Bytes, rows: Any) -> None:
    """See `PlainLog.find_values`."""
    for i in range(len(rows)):
        row = rows[i]
        begin = row.properties_at
        end = begin + row.properties_length
        keys, keys_end, unique, unique_end = begin, begin, begin, begin
        tags, tags_end, delay, delay_end = begin, begin, begin, begin
        multi_dispatch, high = False, np.uint8(0)
        at = begin
        for pair_end in range(begin, end + 1):
            if pair_end < end:  # the last pair ends with the properties
                unit = window[np.uint64(pair_end)]
                high |= unit
                if unit != 2:
                    continue
            head = i64(window, at)
            if head >> 24 == _KEYS and pair_end > at + 5:
                keys, keys_end = at + 5, pair_end
            elif head == _UNIQ_KEY and pair_end > at + 9 and window[at + 8] == 1:
                unique, unique_end = at + 9, pair_end
            elif head >> 24 == _TAGS and pair_end > at + 5:
                tags, tags_end = at + 5, pair_end
            elif head >> 16 == _DELAY and pair_end > at + 6:
                delay, delay_end = at + 6, pair_end
            elif (
                head == _MULTI_DISPATCH[0]
                and pair_end > at + 21
                and i64(window, at + 8) == _MULTI_DISPATCH[1]
                and i64(window, at + 13) == _MULTI_DISPATCH[2]
            ):
                multi_dispatch = True
            at = pair_end + 1
        row.keys_at, row.keys_length = keys, keys_end - keys
        row.uniq_key_at, row.uniq_key_length = unique, unique_end - unique
        row.tags_at, row.tags_length = tags, tags_end - tags
        row.delay_at, row.delay_length = delay, delay_end - delay
        row.multi_dispatch = multi_dispatch
        row.readable = high < 0x80 or well_formed(window, begin, end)


@jit
def hash_codes(
    window: _Bytes, starts: NDArray[np.int64], lengths: NDArray[np.int64], codes: NDArray[np.int32]
) -> None:
    """See `PlainLog.hash_codes`."""
    for i in range(len(starts)):
        codes[i] = np.int32(text_hash(window, starts[i], starts[i] + lengths[i], 0))


@jit
def hash_row_keys(window: _Bytes, rows: Any, codes: NDArray[np.uint32], room: tuple[Any, Any]) -> int:
    """See `PlainLog.hash_keys`; `room` is that for the number of keys of each row, and for the hashes. Returns their number."""
    counts, hashes = room
    used = 0
    for i in range(len(rows)):
        row, first, code = rows[i], used, long(codes[i])
        if row.uniq_key_length > 0:
            at = row.uniq_key_at
            hashes[used] = key_hash(text_hash(window, at, at + row.uniq_key_length, code))
            used += 1
        word = row.keys_at
        end = word + row.keys_length
        for at in range(word, end + 1):
            if at == end or window[np.uint64(at)] == 32:
                if at > word:
                    hashes[used] = key_hash(text_hash(window, word, at, code))
                    used += 1
                word = at + 1
        counts[i] = used - first
    return used


@inlined
def _same(data: _Bytes, at: int, other: _Bytes, place: int, length: int) -> bool:
    """Whether two byte strings of one length are the same."""
    i = 0
    while i < length and data[np.uint64(at + i)] == other[np.uint64(place + i)]:
        i += 1
    return i >= length


@jit
def split_pairs(window: _Bytes, rows: Any, counts: NDArray[np.int32], pairs: NDArray[np.int64]) -> int:
    """Finds all pairs of each row, and their number; a name keeps its first place and its last value, as in a dict.

    `pairs` gets place and length of each name, and of each value. Returns the number of all pairs.
    """
    used = 0
    for i in range(len(rows)):
        name = rows[i].properties_at
        end = name + rows[i].properties_length
        first, separator = used, long(-1)
        for at in range(name, end + 1):
            unit = window[np.uint64(at)] if at < end else np.uint8(2)
            if unit == 1 and separator < 0:
                separator = at
            if unit != 2:
                continue
            length = separator - name
            if length > 0 and separator + 1 < at:
                number = first
                while number < used and not (
                    pairs[1, number] == length and _same(window, pairs[0, number], window, name, length)
                ):
                    number += 1
                if number == used:
                    pairs[0, number], pairs[1, number] = name, length
                    used += 1
                pairs[2, number], pairs[3, number] = separator + 1, at - separator - 1
            name, separator = at + 1, long(-1)
        counts[i] = used - first
    return used


@inlined
def _copy(to: _Bytes, place: int, data: _Bytes, at: int, length: int) -> None:
    for i in range(length):
        to[np.uint64(place + i)] = data[np.uint64(at + i)]


@jit
def gather_bytes(window: _Bytes, at: NDArray[np.int64], offsets: NDArray[np.int32], data: _Bytes) -> None:
    """Fills `data` with an item from each place, one after the other, `offsets` giving their bounds."""
    for i in range(len(at)):
        _copy(data, long(offsets[i]), window, at[i], long(offsets[i + 1]) - long(offsets[i]))


class StringTable(NamedTuple):
    """Distinct byte strings: numbers by hash, -1 where free; their bytes, one after the other; where each begins.

    The length of `table` is a power of two, and it is never full.
    """

    table: NDArray[np.int32]
    pool: NDArray[np.uint8]
    bounds: NDArray[np.int64]


@jit
def number_strings(
    window: _Bytes,
    items: tuple[NDArray[np.int64], NDArray[np.int64]],
    first: int,
    strings: StringTable,
    used: int,
    numbers: NDArray[np.int32],
) -> tuple[int, int]:
    """Fills `numbers` with that of each item from `first` on among the distinct strings; new ones are added.

    `items` are places and lengths. Returns the first item for which there is no room, and the number of known strings.
    """
    starts, lengths = items
    table, pool, bounds = strings
    for i in range(first, len(starts)):
        at, length = starts[i], lengths[i]
        code = length
        for place in range(at, at + length):
            code = (code ^ long(window[np.uint64(place)])) * _PRIME
        code ^= code >> 32
        probe = code & (len(table) - 1)
        while table[probe] >= 0:
            begin = long(bounds[table[probe]])
            if bounds[table[probe] + 1] - begin == length and _same(window, at, pool, begin, length):
                break
            probe = (probe + 1) & (len(table) - 1)
        if table[probe] < 0:
            end = bounds[used] + length
            if used + 1 >= len(bounds) or used * 2 >= len(table) or end > len(pool):
                return i, used
            _copy(pool, bounds[used], window, at, length)
            table[probe] = used
            used += 1
            bounds[used] = end
        numbers[i] = table[probe]
    return len(starts), used
