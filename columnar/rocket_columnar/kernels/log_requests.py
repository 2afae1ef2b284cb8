"""The compiled loop of an audit over a log's window; imported only where a store is large.

One pass: a record's frame, its fixed fields, its topic's number, and of its properties the tags code and the hashes of
its keys. It stops at what Python has to do: a topic that is new, text that is not well formed, a delay level that is more
than plain digits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rocket_columnar.kernels.compilation import inlined, jit, long
from rocket_columnar.kernels.log_records import DONE, FULL, LEFT, READ, TOPIC, check_bodies, frame
from rocket_columnar.kernels.raw_bytes import (
    SLACK,
    address,
    byte,
    find,
    i32,
    i64,
    is_ascii,
    lowest,
    pread,
    spaces,
    text_16,
    text_32,
    until,
)
from rocket_columnar.kernels.raw_bytes import marks as twos
from rocket_columnar.kernels.utf8_text import key_hash, text_hash

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["free_place", "scan_requests"]


_ONE: Final = np.uint64(1)

# The first bytes of a pair that counts, as the high bytes of a big-endian long, the separator with them.
_KEYS: Final = int.from_bytes(b"KEYS\1")
_UNIQ_KEY: Final = int.from_bytes(b"UNIQ_KEY")
_TAGS: Final = int.from_bytes(b"TAGS\1")
_DELAY: Final = int.from_bytes(b"DELAY\1")
_COPIES: Final = tuple(map(int.from_bytes, (b"INNER_MU", b"LTI_DISP", b"ISPATCH\1")))

_SIXTEENTH: Final = pow(31, 16, 1 << 32)
_THIRTY_SECOND: Final = pow(31, 32, 1 << 32)
_FACTORS: Final = np.array([pow(31, length, 1 << 32) for length in range(16)], np.int64)


@inlined
def _ascii_hash(at: int, length: int, code: int) -> Any:
    """`String.hashCode` of ASCII behind a text whose hash is `code`, as an unsigned number."""
    if length == 32:  # as a unique key is
        return (code * _THIRTY_SECOND + text_32(at)) & 0xFFFFFFFF
    while length >= 16:
        code = code * _SIXTEENTH + text_16(at, long(16))
        at += 16
        length -= 16
    return (code * _FACTORS[length] + text_16(at, length)) & 0xFFFFFFFF


@inlined
def _hash(at: int, length: int, code: int) -> Any:
    """`String.hashCode` of UTF-8 behind a text whose hash is `code`, as an unsigned number; -1 of what is not well formed."""
    if is_ascii(at, length):
        return _ascii_hash(at, length, code)
    return text_hash(at, at + length, code)


@jit
def free_place(
    pool: NDArray[np.uint8], number: int, table: NDArray[np.int32], bounds: NDArray[np.int64]
) -> int:
    """Where in `table` the number of the string with this number of the pool belongs."""
    begin = bounds[number]
    known = address(table), len(table) - 1, address(pool), address(bounds)
    return find(address(pool) + begin, bounds[number + 1] - begin, *known)[1]


@jit
def _scan(  # noqa: C901, D417, PLR0912, PLR0915 - one pass over the bytes; the other arguments as with `scan`
    window: NDArray[np.uint8],
    size: int,
    at: int,
    stop: int,
    room: int,
    position: int,
    topics: tuple[Any, ...],
    seconds: NDArray[np.int64],
    rows: tuple[Any, ...],
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

    Returns:
        Why it stopped, where the next record begins, the next row, and how many hashes there are.
    """
    table, pool, bounds, numbers, codes, scheduled = topics
    longs, ints, marks, hashes, bodies, _ = rows
    known = address(table), len(table) - 1, address(pool), address(bounds)
    base = address(window)
    at, size, stop = at + base, size + base, stop + base
    while at < stop:
        total, after_born, body, body_length, topic, topic_length, properties = frame(
            at, size, room, position
        )
        if total == 0:
            break
        end = at + total
        length = end - properties
        if row >= longs.shape[1] or used + length // 2 + 2 > len(hashes):
            return FULL, at - base, row, used
        place, _ = find(topic, topic_length, *known)
        if place < 0:
            info[0], info[1] = topic - base, topic_length
            return TOPIC, at - base, row, used
        timestamp, sys_flag = i64(after_born), i32(at + 36)
        longs[0, row] = position
        longs[1, row] = i64(at + 20)
        longs[2, row] = timestamp
        ints[0, row] = total
        ints[1, row] = numbers[place]
        ints[2, row] = i32(at + 12)
        marks[0, row] = sys_flag & 12
        marks[1, row] = 1
        marks[2, row] = 0
        if bodies.shape[1]:
            bodies[0, row], bodies[1, row], bodies[2, row] = (
                body - base,
                body_length,
                i32(at + 8) & 0xFFFFFFFF,
            )
        # Of each pair that counts its value: the last that is not empty.
        keys, keys_end, unique, unique_end = long(0), long(0), long(0), long(0)
        tags, tags_end, delay, delay_end = long(0), long(0), long(0), long(0)
        pair, block = properties, properties
        while block <= end:
            ends = until(twos(block), end - block)
            while ends:
                pair_end = block + lowest(ends)
                ends &= ends - _ONE
                head = i64(pair)
                if head >> 24 == _KEYS and pair_end > pair + 5:
                    keys, keys_end = pair + 5, pair_end
                elif head == _UNIQ_KEY and pair_end > pair + 9 and byte(pair + 8) == 1:
                    unique, unique_end = pair + 9, pair_end
                elif head >> 24 == _TAGS and pair_end > pair + 5:
                    tags, tags_end = pair + 5, pair_end
                elif head >> 16 == _DELAY and pair_end > pair + 6:
                    delay, delay_end = pair + 6, pair_end
                elif (
                    head == _COPIES[0]
                    and pair_end > pair + 21
                    and i64(pair + 8) == _COPIES[1]
                    and i64(pair + 13) == _COPIES[2]
                ):
                    marks[2, row] = 1
                pair = pair_end + 1
            block += 64
        level, left = long(0), False
        if scheduled[place] and delay_end > delay:
            if delay_end - delay > 9:
                left = True
            else:
                for j in range(delay, delay_end):
                    digit = byte(j) - 48
                    if not 0 <= digit <= 9:
                        left = True
                    level = level * 10 + digit
        if level > 0:
            longs[3, row] = timestamp + 1000 * seconds[min(level, len(seconds)) - 1]
        elif tags_end > tags:
            code = _hash(tags, tags_end - tags, long(0))
            left |= code < 0
            longs[3, row] = ((code + 0x80000000) & 0xFFFFFFFF) - 0x80000000
        else:
            longs[3, row] = 0
        before = used
        if sys_flag & 12 != 12:
            first = long(codes[place])
            if unique_end > unique:
                code = _hash(unique, unique_end - unique, first)
                left |= code < 0
                hashes[used] = key_hash(code)
                used += 1
            word, block = keys, keys
            while block <= keys_end and keys < keys_end:
                words = until(spaces(block), keys_end - block)
                while words:
                    word_end = block + lowest(words)
                    words &= words - _ONE
                    if word_end > word:
                        code = _hash(word, word_end - word, first)
                        left |= code < 0
                        hashes[used] = key_hash(code)
                        used += 1
                    word = word_end + 1
                block += 64
        if left:
            info[2], info[3], info[4], info[5] = properties - base, length, total, place
            return LEFT, at - base, row, before
        ints[3, row] = used - before
        row += 1
        at = end
        room -= total
        position += total
    return DONE, at - base, row, used


@jit
def scan_requests(
    descriptor: int,
    window: NDArray[np.uint8],
    held: NDArray[np.int64],
    position: int,
    end: int,
    size: int,
    base: int,
    topics: tuple[Any, ...],
    seconds: NDArray[np.int64],
    rows: tuple[Any, ...],
    crc: NDArray[np.uint32],
    info: NDArray[np.int64],
    row: int,
    used: int,
) -> tuple[int, int, int, int]:
    """Records of an open file, one window of it after the other.

    On TOPIC the new topic begins at `info[0]` and is `info[1]` bytes long. On LEFT the row lacks its keys and tags code:
    its properties begin at `info[2]` and are `info[3]` bytes long, the record has `info[4]` bytes, and its topic has
    place `info[5]`.

    Args:
        descriptor: of the file; -1 where each window has to be read by Python.
        window: bytes of the file, and `SLACK` more.
        held: where they begin and end in the file.
        position: where the first record begins in the file.
        end: where the last one begins at most, excluded.
        size: of the file.
        base: physical offset of its first byte.
        topics: table, pool and bounds of the known ones; of each its number, the hash code of what precedes its
            keys, and whether it is that of delayed messages.
        seconds: of the delay levels.
        rows: rows of offset, logical offset, store timestamp, tags code; of size, topic, queue id, number of keys; of
            transaction type, whether it is dispatched, whether it names queues for multi-dispatch; hashes of keys; rows
            of place, length and checksum of the body, none where nobody asks; whether the body has its checksum.
        crc: the table of the checksum.
        info: filled where Python has to go on.
        row: the first to fill.
        used: how many hashes there are.

    Returns:
        Why it stopped, where the next record begins in the file, the next row, and how many hashes there are.
    """
    bodies, good = rows[4], rows[5]
    while True:
        if not held[0] <= position < held[1]:
            length = min(len(window) - SLACK, size - position)
            held[0] = held[1] = 0
            if pread(descriptor, address(window), length, position) != length:
                return READ, position, row, used
            held[0], held[1] = position, position + length
        first = row
        begin, stop = held[0], held[1]
        why, at, row, used = _scan(
            window,
            stop - begin,
            position - begin,
            end - begin,
            size - position,
            base + position,
            topics,
            seconds,
            rows,
            info,
            row,
            used,
        )
        if bodies.shape[1]:
            last = row + (why == LEFT)
            check_bodies(
                window,
                bodies[0, first:last],
                bodies[1, first:last],
                bodies[2, first:last],
                crc,
                good[first:last],
            )
        position = begin + at
        if why != DONE or position >= end or at == 0:
            return why, position, row, used
        held[0] = held[1] = 0  # the record goes on behind the window
