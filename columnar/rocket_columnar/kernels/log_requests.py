"""The compiled loop that makes dispatch requests of a log's records.

One pass: a record's frame, its fixed fields, its topic's number, and of its properties the tags code and the hashes of
its keys. It stops at what Python has to do: a topic that is new, text that is not well formed, a delay level that is more
than plain digits.

It is a loop beside `scan_columns`, which makes columns of texts: to make those columns takes 1.2 times as long as this loop,
and the keys in them would still have to be split and hashed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from rocket_columnar.kernels.compilation import inlined, jit, long
from rocket_columnar.kernels.log_records import (
    DONE,
    FULL,
    LEFT,
    READ,
    TOPIC,
    Items,
    Piece,
    StringTable,
    check_bodies,
    frame,
    places_of,
)
from rocket_columnar.kernels.property_values import delay_level, property_values
from rocket_columnar.kernels.raw_bytes import (
    SLACK,
    address,
    find,
    i32,
    i64,
    is_ascii,
    lowest,
    pread,
    put_i32,
    spaces,
    text_16,
    text_32,
    until,
)
from rocket_columnar.kernels.utf8_text import key_hash, text_hash

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["BodyChecks", "DispatchTopics", "OpenLog", "RequestColumns", "scan_requests"]


_ONE: Final = np.uint64(1)
_SIXTEENTH: Final = pow(31, 16, 1 << 32)
_THIRTY_SECOND: Final = pow(31, 32, 1 << 32)
_FACTORS: Final = np.array([pow(31, length, 1 << 32) for length in range(16)], np.int64)


@inlined
def _ascii_hash(at: int, length: int, code: int) -> Any:
    """`String.hashCode` of ASCII after a text whose hash is `code`, as an unsigned number."""
    if length == 32:  # as a unique key is
        return (code * _THIRTY_SECOND + text_32(at)) & 0xFFFFFFFF
    while length >= 16:
        code = code * _SIXTEENTH + text_16(at, long(16))
        at += 16
        length -= 16
    return (code * _FACTORS[length] + text_16(at, length)) & 0xFFFFFFFF


@inlined
def _hash(at: int, length: int, code: int) -> Any:
    """`String.hashCode` of UTF-8 after a text whose hash is `code`, as an unsigned number; -1 of what is not well formed."""
    if is_ascii(at, length):
        return _ascii_hash(at, length, code)
    return text_hash(at, at + length, code)


class OpenLog(NamedTuple):
    """A log file that a scan reads by itself.

    Attributes:
        descriptor: of the file; -1 if Python must read each window.
        size: of the file in bytes.
        base_offset: physical offset of its first byte.
        window: bytes of the file, and `SLACK` more.
        held: where the window's bytes begin and end in the file.
    """

    descriptor: int
    size: int
    base_offset: int
    window: NDArray[np.uint8]
    held: NDArray[np.int64]


class DispatchTopics(NamedTuple):
    """The topics met so far.

    Attributes:
        strings: their bytes.
        numbers: of each its number among the names.
        codes: of each the `String.hashCode` of what precedes its keys in the index.
        scheduled: of each whether it is that of delayed messages.
        delays: seconds of each delay level.
    """

    strings: StringTable
    numbers: NDArray[np.int32]
    codes: NDArray[np.int64]
    scheduled: NDArray[np.bool_]
    delays: NDArray[np.int64]


class BodyChecks(NamedTuple):
    """Where the rows' bodies are in the window, their lengths and recorded checksums; without rows if nobody asks.

    Attributes:
        starts: places in the window.
        lengths: in bytes.
        expected: the checksums that the records hold.
        table: of `crc_table`.
    """

    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]
    expected: NDArray[np.int64]
    table: NDArray[np.uint32]


class RequestColumns(NamedTuple):
    """Room for dispatch requests; the columns are those of `log.Requests`, and `key_hash` has a row for each key."""

    phy_offset: NDArray[np.int64]
    size: NDArray[np.int32]
    topic: NDArray[np.int32]
    queue_id: NDArray[np.int32]
    queue_offset: NDArray[np.int64]
    tags_code: NDArray[np.int64]
    dispatched: NDArray[np.bool_]
    store_timestamp: NDArray[np.int64]
    transaction: NDArray[np.int8]
    crc_ok: NDArray[np.bool_]
    copied: NDArray[np.bool_]
    key_count: NDArray[np.int32]
    key_hash: NDArray[np.int32]
    bodies: BodyChecks


@inlined
def _hash_words(at: int, end: int, code: int, hashes: int) -> Any:
    """Writes the key hashes of the words of KEYS to an address; where the next one goes, and whether all are UTF-8."""
    word, block, good = at, at, True
    while block <= end and at < end:
        ends = until(spaces(block), end - block)
        while ends:
            word_end = block + lowest(ends)
            ends &= ends - _ONE
            if word_end > word:
                found = _hash(word, word_end - word, code)
                good &= found >= 0
                put_i32(hashes, key_hash(found))
                hashes += 4
            word = word_end + 1
        block += 64
    return hashes, good


@inlined
def _hash_keys(values: Any, code: int, hashes: int) -> Any:
    """Writes the hashes of the unique key and of the words of KEYS; where the next one goes, and whether all are UTF-8."""
    good = True
    if values.unique_end > values.unique:
        found = _hash(values.unique, values.unique_end - values.unique, code)
        good = found >= 0
        put_i32(hashes, key_hash(found))
        hashes += 4
    hashes, words_good = _hash_words(values.keys, values.keys_end, code, hashes)
    return hashes, good and words_good


@inlined
def _tags_hash(values: Any) -> Any:
    """`String.hashCode` of TAGS as a signed number, 0 without tags; and whether they are UTF-8."""
    if values.tags_end <= values.tags:
        return long(0), True
    code = _hash(values.tags, values.tags_end - values.tags, long(0))
    return ((code + 0x80000000) & 0xFFFFFFFF) - 0x80000000, code >= 0


@jit
def _scan(  # noqa: PLR0915 - one pass over the bytes; its parts would take counted arrays
    piece: Piece, topics: DispatchTopics, rows: RequestColumns, stop: NDArray[np.void]
) -> tuple[int, int]:
    """Fills rows with the records that begin in a piece of the log and end in its window.

    Returns:
        Why it stopped, and where in the window the next record begins; `stop` holds the number of rows and hashes.
    """
    numbers, codes, scheduled, delays = topics.numbers, topics.codes, topics.scheduled, topics.delays
    known, bodies, hashes = places_of(topics.strings), rows.bodies, address(rows.key_hash)
    # Columns in locals, and row numbers without a sign: the loop takes less time than with attributes and signed ones.
    phy_offset, queue_offset = rows.phy_offset, rows.queue_offset
    store_timestamp, tags_code = rows.store_timestamp, rows.tags_code
    sizes, topic_numbers, queue_ids, key_counts = rows.size, rows.topic, rows.queue_id, rows.key_count
    transaction, dispatched, copied = rows.transaction, rows.dispatched, rows.copied
    row_room, hash_room = len(phy_offset), len(rows.key_hash)
    base = address(piece.window)
    at, size, last = base + piece.start, base + piece.end, base + piece.stop
    room, position = piece.room, piece.position
    row, used, why = stop[0].rows, stop[0].hashes, DONE
    while at < last:
        parts = frame(at, size, room, position)
        if parts.size == 0:
            break
        end = at + parts.size
        length = end - parts.properties
        if row >= row_room or used + length // 2 + 2 > hash_room:
            why = FULL
            break
        place, _ = find(parts.topic, parts.topic_length, *known)
        if place < 0:
            stop[0].topic, stop[0].length = parts.topic - base, parts.topic_length
            why = TOPIC
            break
        timestamp, sys_flag = i64(parts.after_born), i32(at + 36)
        values = property_values(parts.properties, end)
        i = np.uint64(row)
        phy_offset[i] = position
        queue_offset[i] = i64(at + 20)
        store_timestamp[i] = timestamp
        sizes[i] = parts.size
        topic_numbers[i] = numbers[place]
        queue_ids[i] = i32(at + 12)
        transaction[i] = sys_flag & 12
        dispatched[i] = True
        copied[i] = values.multi_dispatch
        if len(bodies.starts):
            bodies.starts[row], bodies.lengths[row] = parts.body - base, parts.body_length
            bodies.expected[row] = i32(at + 8) & 0xFFFFFFFF
        level = delay_level(values.delay, values.delay_end) if scheduled[place] else long(0)
        good, code = True, long(0)
        if level == 0:
            code, good = _tags_hash(values)
        elif level > 0:
            code = timestamp + 1000 * delays[min(level, len(delays)) - 1]
        tags_code[i] = code
        to = hashes + 4 * used
        if sys_flag & 12 != 12:
            to, keys_good = _hash_keys(values, long(codes[place]), to)
            good &= keys_good
        if level < 0 or not good:
            stop[0].properties, stop[0].length = parts.properties - base, length
            stop[0].size, stop[0].number = parts.size, place
            why = LEFT
            break
        count = (to - hashes) // 4 - used
        key_counts[i] = count
        used += count
        row += 1
        at, room, position = end, room - parts.size, position + parts.size
    stop[0].rows, stop[0].hashes = row, used
    return why, at - base


@jit
def scan_requests(
    log: OpenLog,
    position: int,
    end: int,
    topics: DispatchTopics,
    rows: RequestColumns,
    stop: NDArray[np.void],
) -> tuple[int, int]:
    """Fills rows with the records of a log file that begin from `position` to before `end`, window after window.

    Args:
        log: the file.
        position: where the first record begins in the file.
        end: where in the file a record must not begin any more.
        topics: the topics met so far.
        rows: to fill.
        stop: of dtype STOP; holds the number of rows and hashes that are filled, and tells Python what to do next.

    Returns:
        Why it stopped, and where in the file the next record begins.
    """
    held, window, bodies = log.held, log.window, rows.bodies
    while True:
        if not held[0] <= position < held[1]:
            length = min(len(window) - SLACK, log.size - position)
            held[0] = held[1] = 0
            if pread(log.descriptor, address(window), length, position) != length:
                return READ, position
            held[0], held[1] = position, position + length
        begin, first = held[0], stop[0].rows
        piece = Piece(
            window,
            position - begin,
            end - begin,
            held[1] - begin,
            log.size - position,
            log.base_offset + position,
        )
        why, at = _scan(piece, topics, rows, stop)
        if len(bodies.starts):
            last = stop[0].rows + (why == LEFT)
            check_bodies(
                window,
                Items(bodies.starts[first:last], bodies.lengths[first:last]),
                bodies.expected[first:last],
                bodies.table,
                rows.crc_ok[first:last],
            )
        position = begin + at
        # A record may go on after the window. Far from its end there is none, or a long one; both are left to Python, so
        # that a window is not read again for each of many bad records.
        left = held[1] - position
        if why != DONE or position >= end or at == 0 or held[1] == log.size or left > (held[1] - begin) // 2:
            return why, position
        held[0] = held[1] = 0
