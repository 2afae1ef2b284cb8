"""The binary search for the unit of a queue file whose record was stored nearest to a time.

Read beside `ConsumeQueue.getOffsetInQueueByTime` 164-219 of 4.9.3.
"""

from collections.abc import Callable

from rocket_reference._cursor import Cursor
from rocket_reference._mapping import ReadableBuffer
from rocket_reference.consume_queue import UNIT_SIZE, QueueUnit
from rocket_reference.java import to_i64


def next_unit(cursor: Cursor) -> QueueUnit:
    """The unit at the position of a buffer, which moves to the end of it."""
    return QueueUnit(cursor.get_long(), cursor.get_int(), cursor.get_long())


def nearest_unit(
    data: ReadableBuffer,
    low: int,
    timestamp: int,
    store_timestamp: Callable[[int, int], int],
    min_phy_offset: int,
) -> int | None:
    """Byte position of the unit nearest to a time; None where a record's time cannot be read.

    Source: getOffsetInQueueByTime 164-219.
    """
    high = len(data) - UNIT_SIZE
    left = right = -1
    left_time = right_time = -1
    while high >= low:
        middle = (low + high) // (2 * UNIT_SIZE) * UNIT_SIZE
        unit = next_unit(Cursor(data, middle))
        if unit.phy_offset < min_phy_offset:
            low, left = middle + UNIT_SIZE, middle
            continue
        stored = store_timestamp(unit.phy_offset, unit.size)
        if stored < 0:
            return None
        if stored == timestamp:
            return middle
        if stored > timestamp:
            high, right, right_time = middle - UNIT_SIZE, middle, stored
        else:
            low, left, left_time = middle + UNIT_SIZE, middle, stored
    if left_time == -1:
        return right
    if right_time == -1:
        return left
    return right if _distance(timestamp, left_time) > _distance(timestamp, right_time) else left


def _distance(one: int, other: int) -> int:
    """`Math.abs(one - other)` of longs."""
    return to_i64(abs(to_i64(one - other)))
