"""Compiled loops over the records of a log: their frames, bytes moved into columns, distinct strings, checksums.

Imported only where a log is large. A window holds bytes of the file, and `SLACK` bytes more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

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
    "TOPIC",
    "check_bodies",
    "crc_table",
    "frame",
    "gather_bytes",
    "intern_strings",
]

DONE, TOPIC, LEFT, FULL, READ = range(5)
"""Why a scan stopped: no further record in the window or range; a new topic; a row that Python must complete; no room for
another row; the next window must be read."""

_FIXED: Final = RECORD_FIXED_V4
_MAGIC: Final = MESSAGE_MAGIC


@inlined
def frame(at: int, end_of_window: int, room: int, position: int) -> Any:
    """Where the parts of a record lie, if one verifies and lies whole before the window's end.

    `room` is what the file has from `at` on, `position` the physical offset there. What verifies is what
    `_record.check_head` and `check` let pass.

    Returns:
        Its bytes, 0 for none; the places of its store timestamp and of its body, the body's length, the place of its
        topic, the topic's length, and the place of its properties, which reach to its end.
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
    return total if verifies else 0, after_born, body, body_length, topic, topic_length, properties


@jit
def gather_bytes(
    window: NDArray[np.uint8],
    extra: NDArray[np.uint8],
    starts: NDArray[np.int32],
    offsets: NDArray[np.int32],
    data: NDArray[np.uint8],
) -> None:
    """Fills `data`, less its slack, with the item of each start, one behind the other, `offsets` telling where.

    An item whose start is negative lies at -1 - start of `extra`.
    """
    to, base, other = address(data), address(window), address(extra)
    for i in range(len(starts)):
        begin, start = long(offsets[i]), long(starts[i])
        copy(to + begin, base + start if start >= 0 else other - 1 - start, offsets[i + 1] - begin)


@jit
def intern_strings(
    window: NDArray[np.uint8],
    starts: NDArray[np.int32],
    lengths: NDArray[np.int32],
    first: int,
    table: NDArray[np.int32],
    pool: NDArray[np.uint8],
    bounds: NDArray[np.int64],
    used: int,
    numbers: NDArray[np.int32],
) -> tuple[int, int]:
    """The number of each item from `first` on among the distinct ones, new ones added to `pool`; see `find`.

    Returns the first item that found no room, and how many are known.
    """
    base, pool_place, mask = address(window), address(pool), len(table) - 1
    for i in range(first, len(starts)):
        at, length = base + long(starts[i]), long(lengths[i])
        number, place = find(at, length, address(table), mask, pool_place, address(bounds))
        if number < 0:
            number, end = long(used), bounds[used] + length
            if used + 1 >= len(bounds) or used * 2 >= len(table) or end + SLACK > len(pool):
                return i, used
            copy(pool_place + bounds[used], at, length)
            table[place] = used
            used += 1
            bounds[used] = end
        numbers[i] = number
    return len(starts), used


def crc_table() -> NDArray[np.uint32]:
    """Sixteen tables of CRC-32: of a byte, and of a byte with so many zero bytes behind it."""
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
    starts: NDArray[np.int32],
    lengths: NDArray[np.int32],
    expected: NDArray[np.int64],
    table: NDArray[np.uint32],
    good: NDArray[np.bool_],
) -> None:
    """Whether each body has the CRC that its record tells; true for none (LOG-REC-4)."""
    base = address(window)
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
