"""Compiled loops over the records of a window: their frames and fields, and byte strings moved or numbered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from rocket_spec.layout import MESSAGE_MAGIC, RECORD_FIXED_V4

from rocket_columnar.fast.compiled.compilation import inlined, jit, long
from rocket_columnar.fast.compiled.intrinsics import byte, fetch, i32, i64
from rocket_columnar.fast.compiled.raw_bytes import address, copy, find
from rocket_columnar.fast.log_row import SLACK

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rocket_columnar.fast.log_row import LogRange

__all__ = ["Frame", "StringTable", "find_records", "frame", "gather_bytes", "number_strings"]

_LINES: Final = 4  # of 64 bytes
_BORN_HOST: Final = 48  # its offset in a record
_BEFORE_BODY: Final = 16  # bytes between the store host and the body
_FIXED: Final = RECORD_FIXED_V4
_MAGIC: Final = MESSAGE_MAGIC


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
def find_records(window: NDArray[np.uint8], range_: LogRange, rows: Any) -> tuple[int, int]:
    """See `LogForm.find_records`."""
    base = address(window)
    at, stop, end = base + range_.at, base + range_.stop, base + range_.end
    room, position = range_.room, range_.position
    count = 0
    while at < stop and count < len(rows):
        parts = frame(at, end, room, position)
        if parts.size == 0:
            break
        next_end = at + parts.size + i32(at + parts.size)
        for line in range(_LINES):  # the next record's topic and properties are probably there
            fetch(next_end - 64 * line)
        row = rows[count]
        row.size = parts.size
        row.body_crc = i32(at + 8)
        row.queue_id = i32(at + 12)
        row.flag = i32(at + 16)
        row.queue_offset = i64(at + 20)
        row.phy_offset = position
        row.sys_flag = i32(at + 36)
        row.born_timestamp = i64(at + 40)
        row.store_timestamp = i64(parts.after_born)
        row.reconsume_times = i32(parts.body - 16)
        row.prepared_transaction_offset = i64(parts.body - 12)
        row.born_host_at = at + _BORN_HOST - base
        row.born_host_length = parts.after_born - at - _BORN_HOST
        row.store_host_at = parts.after_born + 8 - base
        row.store_host_length = parts.body - _BEFORE_BODY - parts.after_born - 8
        row.body_at = parts.body - base
        row.body_length = parts.body_length
        row.topic_at = parts.topic - base
        row.topic_length = parts.topic_length
        row.properties_at = parts.properties - base
        row.properties_length = at + parts.size - parts.properties
        count += 1
        at, room, position = at + parts.size, room - parts.size, position + parts.size
    return count, at - base


@jit
def gather_bytes(
    window: NDArray[np.uint8], at: NDArray[np.int64], offsets: NDArray[np.int32], data: NDArray[np.uint8]
) -> None:
    """Fills `data`, less its slack, with an item from each place, one after the other, `offsets` giving their bounds."""
    to, base = address(data), address(window)
    for i in range(len(at)):
        copy(to + long(offsets[i]), base + at[i], long(offsets[i + 1]) - long(offsets[i]))


class StringTable(NamedTuple):
    """Distinct byte strings as `find` looks them up: their numbers by hash, their bytes, and where each begins."""

    table: NDArray[np.int32]
    pool: NDArray[np.uint8]
    bounds: NDArray[np.int64]


@jit
def number_strings(
    window: NDArray[np.uint8],
    items: tuple[NDArray[np.int64], NDArray[np.int64]],
    first: int,
    strings: StringTable,
    used: int,
    numbers: NDArray[np.int32],
) -> tuple[int, int]:
    """Fills `numbers` with that of each item from `first` on among the distinct strings; new ones are added.

    `items` are places and lengths. Returns the first item for which there is no room, and the number of known strings.
    """
    base = address(window)
    starts, lengths = items
    table, pool, bounds = strings.table, strings.pool, strings.bounds
    known = address(table), len(table) - 1, address(pool), address(bounds)
    for i in range(first, len(starts)):
        at, length = base + starts[i], lengths[i]
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
