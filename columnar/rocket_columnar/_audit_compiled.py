"""The compiled loop of an audit over a log's window; imported only where a store is large.

One pass: a record's frame, its fixed fields, its topic's number, and of its properties the tags code and the hashes of
its keys. It stops at what Python has to do: a topic that is new, text that is not well formed, a delay level that is more
than plain digits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from rocket_spec.layout import MESSAGE_MAGIC, RECORD_FIXED_V4

from rocket_columnar._compiled_text import _text_hash, _well_formed
from rocket_columnar._numba import jit, long

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["DONE", "FULL", "LEFT", "TOPIC", "scan"]

DONE, TOPIC, LEFT, FULL = range(4)
"""Why a scan stopped: the window has no further whole record that verifies, or the range ends; the topic at
`info[0]`, `info[1]` bytes long, is new; the row is there but for its keys and tags code, its properties at `info[2]`,
`info[3]` bytes long, the record `info[4]` bytes long, its topic's place `info[5]`; there is no room."""

_FIXED: Final = RECORD_FIXED_V4
_MAGIC: Final = MESSAGE_MAGIC
_SPACE: Final = 32


# Places in a window are unsigned here: a signed one may count from the end, which each access would have to ask.
_place: Any = np.uint64
_ONE, _TWO, _THREE, _FOUR, _FIVE, _SIX, _SEVEN, _EIGHT = (np.uint64(number) for number in range(1, 9))


@jit
def _i32(window: NDArray[np.uint8], at: int) -> Any:
    i = _place(at)
    return long(
        np.int32(
            np.uint32(window[i]) << np.uint32(24)
            | np.uint32(window[i + _ONE]) << np.uint32(16)
            | np.uint32(window[i + _TWO]) << np.uint32(8)
            | np.uint32(window[i + _THREE])
        )
    )


@jit
def _i64(window: NDArray[np.uint8], at: int) -> Any:
    return _i32(window, at) << 32 | (_i32(window, at + 4) & 0xFFFFFFFF)


@jit
def _pair_end(window: NDArray[np.uint8], at: int, end: int, separator: int) -> Any:
    """The next place from `at` on that holds the separator, or the end."""
    i, stop = _place(at), _place(end)
    while i < stop and window[i] != separator:
        i += _ONE
    return long(i)


@jit
def _all_bits(window: NDArray[np.uint8], at: int, end: int) -> Any:
    high = np.uint8(0)
    for i in range(_place(at), _place(end)):
        high |= window[i]
    return high


@jit
def _ascii_hash(window: NDArray[np.uint8], at: int, end: int, code: int) -> Any:
    """`String.hashCode` of ASCII behind a text whose hash is `code`, as an unsigned number."""
    i, stop = _place(at), _place(end)
    while i + _EIGHT <= stop:
        code = (
            code * 0x94446F01  # 31^8
            + long(window[i]) * 27512614111
            + long(window[i + _ONE]) * 887503681
            + long(window[i + _TWO]) * 28629151
            + long(window[i + _THREE]) * 923521
            + long(window[i + _FOUR]) * 29791
            + long(window[i + _FIVE]) * 961
            + long(window[i + _SIX]) * 31
            + long(window[i + _SEVEN])
        ) & 0xFFFFFFFF
        i += _EIGHT
    while i < stop:
        code = (code * 31 + long(window[i])) & 0xFFFFFFFF
        i += _ONE
    return code


@jit
def _hash(window: NDArray[np.uint8], at: int, end: int, code: int, plain: Any) -> Any:
    return _ascii_hash(window, at, end, code) if plain else _text_hash(window, at, end, code)


@jit
def _key_hash(window: NDArray[np.uint8], at: int, end: int, code: int, plain: Any) -> Any:
    """The key hash of a text behind one whose `String.hashCode` is `code` (IDX-HASH-1, IDX-HASH-2)."""
    code = _hash(window, at, end, code, plain)
    if code >= 0x80000000:
        code = (0x100000000 - code) & 0x7FFFFFFF
    return code


@jit
def _is(window: NDArray[np.uint8], at: int, end: int, name: NDArray[np.uint8]) -> Any:
    """Whether a pair begins with this name and its separator, and has a value."""
    if at + len(name) >= end:
        return False
    i = _place(at)
    for j in range(len(name)):
        if window[i] != name[j]:
            return False
        i += _ONE
    return True


_KEYS: Final = np.frombuffer(b"KEYS\1", np.uint8)
_UNIQ_KEY: Final = np.frombuffer(b"UNIQ_KEY\1", np.uint8)
_TAGS: Final = np.frombuffer(b"TAGS\1", np.uint8)
_DELAY: Final = np.frombuffer(b"DELAY\1", np.uint8)
_COPIES: Final = np.frombuffer(b"INNER_MULTI_DISPATCH\1", np.uint8)


@jit
def _topic_place(
    window: NDArray[np.uint8],
    at: int,
    length: int,
    table: NDArray[np.int32],
    pool: NDArray[np.uint8],
    bounds: NDArray[np.int64],
) -> Any:
    """The place of a topic among those that are known, or -1; `table` is a power of two long, -1 where free."""
    code = _ascii_hash(window, at, at + length, long(length))
    mask = len(table) - 1
    probe = code & mask
    while table[probe] >= 0:
        place = table[probe]
        begin = bounds[place]
        if bounds[place + 1] - begin == length:
            j = 0
            while j < length and pool[begin + j] == window[at + j]:
                j += 1
            if j == length:
                return place
        probe = (probe + 1) & mask
    return -1


@jit
def scan(  # noqa: C901, PLR0912, PLR0915 - one pass over the bytes
    window: NDArray[np.uint8],
    size: int,
    at: int,
    stop: int,
    room: int,
    position: int,
    topics: tuple[Any, ...],
    seconds: NDArray[np.int64],
    longs: NDArray[np.int64],
    ints: NDArray[np.int32],
    marks: NDArray[np.int8],
    bodies: NDArray[np.int64],
    hashes: NDArray[np.int32],
    info: NDArray[np.int64],
    row: int,
    used: int,
) -> tuple[int, int, int, int]:
    """Records from `at` on that begin before `stop` and lie whole in the window's first `size` bytes.

    Args:
        window: bytes of a file.
        size: how many there are.
        at: where the first record begins.
        stop: where the last one begins at most, excluded.
        room: what the file has from `at` on.
        position: physical offset of `at`.
        topics: table, pool and bounds of the known ones; of each its number, the hash code of what precedes its
            keys, and whether it is that of delayed messages.
        seconds: of the delay levels.
        longs: rows of offset, logical offset, store timestamp, tags code.
        ints: rows of size, topic, queue id, number of keys.
        marks: rows of transaction type, whether it is dispatched, whether it names queues for multi-dispatch.
        bodies: rows of place, length and checksum of the body; empty where nobody asks.
        hashes: of keys.
        info: filled where Python has to go on.
        row: the first to fill.
        used: how many hashes there are.

    Returns:
        Why it stopped, where the next record begins, the next row, and how many hashes there are.
    """
    table, pool, bounds, numbers, codes, scheduled = topics
    while at < stop and at + _FIXED <= size:
        total = _i32(window, at)
        if _i32(window, at + 4) != _MAGIC or not _FIXED <= total <= room or at + total > size:
            break
        if _i64(window, at + 28) != position:
            break
        sys_flag = _i32(window, at + 36)
        after_born = at + 48 + (20 if sys_flag & 16 else 8)
        body = after_born + 8 + (20 if sys_flag & 32 else 8) + 16
        end = at + total
        if body + 3 > end:
            break
        body_length = max(_i32(window, body - 4), 0)
        topic = body + body_length + 1
        if topic + 2 > end:
            break
        topic_length = long(window[topic - 1])
        properties = topic + topic_length + 2
        if topic_length > 127 or properties > end:
            break
        length = long(window[properties - 2]) << 8 | long(window[properties - 1])
        if length > 0x7FFF:
            length = long(0)
        if properties + length != end:
            break
        if row >= longs.shape[1] or used + length // 2 + 2 > len(hashes):
            return FULL, at, row, used
        place = _topic_place(window, topic, topic_length, table, pool, bounds)
        if place < 0:
            info[0], info[1] = topic, topic_length
            return TOPIC, at, row, used
        timestamp = _i64(window, after_born)
        longs[0, row] = position
        longs[1, row] = _i64(window, at + 20)
        longs[2, row] = timestamp
        ints[0, row] = total
        ints[1, row] = numbers[place]
        ints[2, row] = _i32(window, at + 12)
        marks[0, row] = sys_flag & 12
        marks[1, row] = 1
        marks[2, row] = 0
        if bodies.shape[1]:
            bodies[0, row], bodies[1, row], bodies[2, row] = (
                body,
                body_length,
                _i32(window, at + 8) & 0xFFFFFFFF,
            )
        plain = _all_bits(window, properties, end) < 0x80
        keys, keys_end, unique, unique_end = long(0), long(0), long(0), long(0)
        tags, tags_end, delay, delay_end = long(0), long(0), long(0), long(0)
        next_at = properties
        while next_at < end:
            letter = window[_place(next_at)]
            value, which = next_at, 0
            if letter == 75 and _is(window, next_at, end, _KEYS):
                value, which = next_at + 5, 1
            elif letter == 85 and _is(window, next_at, end, _UNIQ_KEY):
                value, which = next_at + 9, 2
            elif letter == 84 and _is(window, next_at, end, _TAGS):
                value, which = next_at + 5, 3
            elif letter == 68 and _is(window, next_at, end, _DELAY):
                value, which = next_at + 6, 4
            elif letter == 73 and _is(window, next_at, end, _COPIES):
                value, which = next_at + 21, 5
            next_at = _pair_end(window, value, end, 2)
            if which and next_at > value:
                if which == 1:
                    keys, keys_end = value, next_at
                elif which == 2:
                    unique, unique_end = value, next_at
                elif which == 3:
                    tags, tags_end = value, next_at
                elif which == 4:
                    delay, delay_end = value, next_at
                else:
                    marks[2, row] = 1
            next_at += 1
        level = long(0)
        left = not plain and not _well_formed(window, properties, end)
        if scheduled[place] and delay_end > delay:
            if delay_end - delay > 9:
                left = True
            else:
                for j in range(delay, delay_end):
                    digit = long(window[j]) - 48
                    if not 0 <= digit <= 9:
                        left = True
                    level = level * 10 + digit
        if left:
            info[2], info[3], info[4], info[5] = properties, length, total, place
            return LEFT, at, row, used
        if level > 0:
            longs[3, row] = timestamp + 1000 * seconds[min(level, len(seconds)) - 1]
        elif tags_end > tags:
            code = _hash(window, tags, tags_end, long(0), plain)
            longs[3, row] = ((code + 0x80000000) & 0xFFFFFFFF) - 0x80000000
        else:
            longs[3, row] = 0
        before = used
        if sys_flag & 12 != 12:
            first = long(codes[place])
            if unique_end > unique:
                hashes[used] = _key_hash(window, unique, unique_end, first, plain)
                used += 1
            while keys < keys_end:
                word = keys
                keys = _pair_end(window, keys, keys_end, _SPACE)
                if keys > word:
                    hashes[used] = _key_hash(window, word, keys, first, plain)
                    used += 1
                keys += 1
        ints[3, row] = used - before
        row += 1
        at = end
        room -= total
        position += total
    return DONE, at, row, used
