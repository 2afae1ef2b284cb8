"""Compiled loops of the commit-log scan: framing, fixed fields, and bytes moved into columns.

Imported only where a log is large. A window holds bytes of the file; every place is an offset in it.
Indices of `longs`, `ints` and `spans` are the constants below.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from rocket_spec.layout import MESSAGE_MAGIC, RECORD_FIXED_V4

from rocket_columnar._numba import jit, long

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "BODY",
    "BODY_LENGTH",
    "INTS",
    "LONGS",
    "PROPERTIES",
    "PROPERTIES_LENGTH",
    "SPANS",
    "START",
    "TOPIC",
    "TOPIC_LENGTH",
    "check_bodies",
    "crc_table",
    "frames",
    "gather",
    "intern",
]

LONGS: Final = (
    "queue_offset",
    "phy_offset",
    "born_timestamp",
    "store_timestamp",
    "prepared_transaction_offset",
    "body_crc",
)
INTS: Final = ("size", "queue_id", "flag", "sys_flag", "reconsume_times")
START, BODY, BODY_LENGTH, TOPIC, TOPIC_LENGTH, PROPERTIES, PROPERTIES_LENGTH = range(7)
SPANS: Final = 7

_FIXED: Final = RECORD_FIXED_V4
_MAGIC: Final = MESSAGE_MAGIC


@jit
def _i32(window: NDArray[np.uint8], at: int) -> Any:
    return long(
        np.int32(
            np.uint32(window[at]) << np.uint32(24)
            | np.uint32(window[at + 1]) << np.uint32(16)
            | np.uint32(window[at + 2]) << np.uint32(8)
            | np.uint32(window[at + 3])
        )
    )


@jit
def _i64(window: NDArray[np.uint8], at: int) -> Any:
    return _i32(window, at) << 32 | (_i32(window, at + 4) & 0xFFFFFFFF)


@jit
def frames(  # noqa: PLR0915 - one record, field after field
    window: NDArray[np.uint8],
    size: int,
    at: int,
    room: int,
    position: int,
    longs: NDArray[np.int64],
    ints: NDArray[np.int32],
    spans: NDArray[np.int32],
) -> tuple[int, int]:
    """Records from `at` on, as many as verify, lie whole in the window's first `size` bytes, and fit.

    `room` is what the file has from `at` on, `position` the physical offset there. Returns how many
    records, and where the next begins. What verifies is what `_record.check_head` and `check` let pass.
    """
    count = 0
    while count < longs.shape[1] and at + _FIXED <= size:
        total = _i32(window, at)
        if _i32(window, at + 4) != _MAGIC or not _FIXED <= total <= room or at + total > size:
            break
        if _i64(window, at + 28) != position:
            break
        sys_flag = _i32(window, at + 36)
        born = 20 if sys_flag & 16 else 8
        after_born = at + 48 + born
        after_store = after_born + 8 + (20 if sys_flag & 32 else 8)
        end = at + total
        body = after_store + 16
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
        longs[0, count] = _i64(window, at + 20)
        longs[1, count] = position
        longs[2, count] = _i64(window, at + 40)
        longs[3, count] = _i64(window, after_born)
        longs[4, count] = _i64(window, after_store + 4)
        longs[5, count] = _i32(window, at + 8) & 0xFFFFFFFF
        ints[0, count] = total
        ints[1, count] = _i32(window, at + 12)
        ints[2, count] = _i32(window, at + 16)
        ints[3, count] = sys_flag
        ints[4, count] = _i32(window, after_store)
        spans[0, count] = at
        spans[1, count] = body
        spans[2, count] = body_length
        spans[3, count] = topic
        spans[4, count] = topic_length
        spans[5, count] = properties
        spans[6, count] = length
        count += 1
        at = end
        room -= total
        position += total
    return count, at


@jit
def gather(
    window: NDArray[np.uint8],
    extra: NDArray[np.uint8],
    starts: NDArray[np.int32],
    offsets: NDArray[np.int32],
    data: NDArray[np.uint8],
) -> None:
    """Fills `data` with the item of each start, one behind the other, `offsets` telling where.

    An item whose start is negative lies at -1 - start of `extra`.
    """
    for i in range(len(starts)):
        begin, end = long(offsets[i]), long(offsets[i + 1])
        start = long(starts[i])
        if end - begin > 64 and start >= 0:
            data[begin:end] = window[start : start + end - begin]
        elif start >= 0:
            for j in range(end - begin):
                data[begin + j] = window[start + j]
        else:
            for j in range(end - begin):
                data[begin + j] = extra[j - 1 - start]


@jit
def intern(  # noqa: C901 - one probe, as compiled code has it
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
    """The number of each item from `first` on among the distinct ones, new ones added to `pool`.

    `table` (a power of two long, -1 where free) leads from hashes to numbers, item `n` being
    `pool[bounds[n]:bounds[n + 1]]`. Returns the first item that found no room, and how many are known.
    """
    mask = len(table) - 1
    last = -1
    for i in range(first, len(starts)):
        start, length = long(starts[i]), long(lengths[i])
        number = last
        place = -1
        while True:
            if number >= 0 and bounds[number + 1] - bounds[number] == length:
                begin = bounds[number]
                same = 0
                while same < length and pool[begin + same] == window[start + same]:
                    same += 1
                if same == length:
                    break
            if place < 0:
                code = np.uint64(0xCBF29CE484222325)
                for j in range(length):
                    code = (code ^ np.uint64(window[start + j])) * np.uint64(0x100000001B3)
                place = long((code ^ (code >> np.uint64(32))) & np.uint64(mask))
            else:
                place = (place + 1) & mask
            number = long(table[place])
            if number < 0:
                if used + 1 >= len(bounds) or used * 2 >= mask or bounds[used] + length > len(pool):
                    return i, used
                number = used
                begin = bounds[number]
                for j in range(length):
                    pool[begin + j] = window[start + j]
                bounds[number + 1] = begin + length
                table[place] = number
                used += 1
                break
        numbers[i] = number
        last = number
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
    for i in range(len(starts)):
        at, left = long(starts[i]), long(lengths[i])
        code = np.uint32(0xFFFFFFFF)
        while left >= 16:
            folded = np.uint32(0)
            for j in range(4):
                folded ^= table[15 - j, np.uint8(code >> np.uint32(8 * j)) ^ window[at + j]]
            for j in range(4, 16):
                folded ^= table[15 - j, window[at + j]]
            code = folded
            at += 16
            left -= 16
        while left > 0:
            code = code >> np.uint32(8) ^ table[0, np.uint8(code) ^ window[at]]
            at += 1
            left -= 1
        good[i] = lengths[i] == 0 or long(~code & np.uint32(0x7FFFFFFF)) == expected[i]
