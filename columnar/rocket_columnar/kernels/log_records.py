"""Compiled loops over the records of a log: their frames, bytes moved into columns, distinct strings, checksums.

Imported only where a log is large. A window holds bytes of the file, and `SLACK` bytes more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from rocket_spec.layout import MESSAGE_MAGIC, RECORD_FIXED_V4

from rocket_columnar.kernels.compilation import inlined, jit, long
from rocket_columnar.kernels.raw_bytes import SLACK, address, byte, copy, find, i32, i64, word

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "DONE",
    "FULL",
    "LEFT",
    "READ",
    "STOP",
    "TOPIC",
    "Frame",
    "Items",
    "Piece",
    "StringTable",
    "check_bodies",
    "crc_table",
    "frame",
    "gather_bytes",
    "intern_strings",
    "places_of",
]

DONE, TOPIC, LEFT, FULL, READ = range(5)
"""Why a scan stopped: no further record in the window or range; a new topic; a row that Python must complete; no room for
another row; the next window must be read."""

STOP: Final = np.dtype(
    [
        (name, np.int64)
        for name in (
            *("topic", "properties", "length", "size", "number", "store_timestamp"),
            *("records", "rows", "hashes"),
        )
    ]
)
"""Where a scan stopped, as an array of one. On TOPIC: where in the window the new topic begins, and its `length`. On LEFT:
where the row's properties begin, and their `length`; the `size` of the record, the `number` of its topic and its store
timestamp. Always: the number of records that were passed, and of rows and hashes that are filled."""


class StringTable(NamedTuple):
    """Distinct byte strings as `find` looks them up: their numbers by hash, their bytes, and where each begins."""

    table: NDArray[np.int32]
    pool: NDArray[np.uint8]
    bounds: NDArray[np.int64]


class Items(NamedTuple):
    """Parts of a window: where each begins, and its length in bytes."""

    starts: NDArray[np.signedinteger]
    lengths: NDArray[np.signedinteger]


class Piece(NamedTuple):
    """A part of a log file in memory.

    Attributes:
        window: its bytes, and `SLACK` more.
        start: place in the window at which the first record begins.
        stop: place before which a record must begin.
        end: place at which the bytes end.
        room: bytes that the file has from the first record on.
        position: physical offset of the first record.
    """

    window: NDArray[np.uint8]
    start: int
    stop: int
    end: int
    room: int
    position: int


class Frame(NamedTuple):
    """Where the parts of a record are.

    Attributes:
        size: bytes of the record, 0 if none verifies.
        after_born: address of its store timestamp.
        body: address of its body.
        body_length: in bytes.
        topic: address of its topic.
        topic_length: in bytes.
        properties: address of its properties, which reach to its end.
    """

    size: Any
    after_born: Any
    body: Any
    body_length: Any
    topic: Any
    topic_length: Any
    properties: Any


_FIXED: Final = RECORD_FIXED_V4
_MAGIC: Final = MESSAGE_MAGIC


@inlined
def frame(at: int, end_of_window: int, room: int, position: int) -> Frame:
    """The record at an address, if one verifies and ends before the window does.

    `room` is the number of bytes that the file has from `at` on, `position` the physical offset there. A record verifies
    if `formats.check_frame_head` and `formats.parse_record` accept it.
    """
    total, after_born, body = long(0), long(0), long(0)
    body_length, topic, topic_length, properties = long(0), long(0), long(0), long(0)
    verifies = False
    if at + _FIXED <= end_of_window:
        total = i32(at)
        end = at + total
        if (
            i32(at + 4) == _MAGIC
            and _FIXED <= total <= room
            and end <= end_of_window
            and i64(at + 28) == position
        ):
            sys_flag = i32(at + 36)
            after_born = at + (68 if sys_flag & 16 else 56)
            body = after_born + (44 if sys_flag & 32 else 32)
            body_length = max(i32(body - 4), 0)
            topic = body + body_length + 1
            if topic + 2 <= end:
                topic_length = byte(topic - 1)
                properties = topic + topic_length + 2
                if topic_length < 128 and properties <= end:
                    length = i32(properties - 4) & 0xFFFF
                    verifies = properties + (length if length < 0x8000 else 0) == end
    size = total if verifies else long(0)
    return Frame(size, after_born, body, body_length, topic, topic_length, properties)


@jit
def gather_bytes(
    window: NDArray[np.uint8],
    extra: NDArray[np.uint8],
    starts: NDArray[np.int32],
    offsets: NDArray[np.int32],
    data: NDArray[np.uint8],
) -> None:
    """Fills `data`, less its slack, with the item of each start, one after the other, `offsets` telling where.

    An item whose start is negative is at -1 - start of `extra`.
    """
    to, base, other = address(data), address(window), address(extra)
    for i in range(len(starts)):
        begin, start = long(offsets[i]), long(starts[i])
        copy(to + begin, base + start if start >= 0 else other - 1 - start, offsets[i + 1] - begin)


@inlined
def places_of(strings: StringTable) -> Any:
    """The arguments of `find` that describe the known strings."""
    return address(strings.table), len(strings.table) - 1, address(strings.pool), address(strings.bounds)


@jit
def intern_strings(
    window: NDArray[np.uint8],
    items: Items,
    first: int,
    strings: StringTable,
    used: int,
    numbers: NDArray[np.int32],
) -> tuple[int, int]:
    """Fills `numbers` with that of each item from `first` on among the distinct strings; new ones are added.

    Returns the first item for which there is no room, and the number of known strings.
    """
    base, starts, lengths = address(window), items.starts, items.lengths
    table, pool, bounds = strings.table, strings.pool, strings.bounds
    known = places_of(strings)
    for i in range(first, len(starts)):
        at, length = base + long(starts[i]), long(lengths[i])
        number, place = find(at, length, *known)
        if number < 0:
            number, end = long(used), bounds[used] + length
            if used + 1 >= len(bounds) or used * 2 >= len(table) or end + SLACK > len(pool):
                return i, used
            copy(address(pool) + bounds[used], at, length)
            table[place] = used
            used += 1
            bounds[used] = end
        numbers[i] = number
    return len(starts), used


def crc_table() -> NDArray[np.uint32]:
    """Sixteen tables of CRC-32: of a byte followed by 0 to 15 zero bytes."""
    table = np.zeros((16, 256), np.uint32)
    code = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        code = np.where(code & 1, code >> 1 ^ np.uint32(0xEDB88320), code >> 1)
    table[0] = code
    for number in range(1, 16):
        code = code >> 8 ^ table[0][code & 0xFF]
        table[number] = code
    return table


@jit
def check_bodies(
    window: NDArray[np.uint8],
    bodies: Items,
    expected: NDArray[np.int64],
    table: NDArray[np.uint32],
    good: NDArray[np.bool_],
) -> None:
    """Whether each body has the CRC in its record; true for no body (LOG-REC-4)."""
    base, starts, lengths = address(window), bodies.starts, bodies.lengths
    for i in range(len(starts)):
        at = base + long(starts[i])
        end = at + long(lengths[i])
        code = np.uint32(0xFFFFFFFF)
        while at + 16 <= end:
            first, second = word(at) ^ np.uint64(code), word(at + 8)
            code = np.uint32(0)
            for j in range(8):
                code ^= table[15 - j, np.uint8(first >> np.uint64(8 * j))]
            for j in range(8):
                code ^= table[7 - j, np.uint8(second >> np.uint64(8 * j))]
            at += 16
        while at < end:
            code = code >> np.uint32(8) ^ table[0, np.uint8(code ^ np.uint32(byte(at)))]
            at += 1
        good[i] = lengths[i] == 0 or long(~code & np.uint32(0x7FFFFFFF)) == expected[i]
