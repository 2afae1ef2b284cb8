"""The search for a queue's minimum since 5.0.0: by halves, from the minimum on that is known.

Read beside `ConsumeQueue.correctMinOffset` 557-671 of 5.5.1.
"""

from rocket_reference._cursor import Cursor
from rocket_reference._nearest_unit import next_unit
from rocket_reference.consume_queue import UNIT_SIZE, QueueUnit
from rocket_reference.errors import JavaError
from rocket_reference.java import to_i32, to_i64
from rocket_reference.mapped_file_queue import MappedFileQueue
from rocket_reference.rules import Rules


def minimum_by_halves(
    files: MappedFileQueue, minimum: int, phy_min_offset: int, rules: Rules
) -> tuple[int, QueueUnit | None]:
    """The minimum of a queue, as byte offset, and the unit there if the search found one.

    A queue whose last unit is of a record before `phy_min_offset` begins at its end.

    Args:
        files: of the queue.
        minimum: byte offset that was the minimum.
        phy_min_offset: least offset in the commit log, bytes.
        rules: of the release.

    Raises:
        JavaError: IllegalArgumentException where the last file is empty, before 5.5.0.
    """
    first, last = files.first(), files.last()
    if first is None or last is None or minimum > files.max_offset():
        return minimum, None
    if minimum == files.max_offset() and not rules.resets_empty:
        return minimum, None
    if last.wrote_position < UNIT_SIZE and rules.empty_file_throws:
        last.hold()  # and never released
        raise JavaError("IllegalArgumentException", f"position {last.wrote_position - UNIT_SIZE}")
    newest = last.select(last.wrote_position - UNIT_SIZE, UNIT_SIZE)
    if newest is not None and next_unit(Cursor(newest)).phy_offset < phy_min_offset:
        return to_i64(last.file_from_offset + last.wrote_position), None
    start = to_i64(minimum - first.file_from_offset)
    known, start = start >= 0, max(start, 0)
    data = None if start > first.wrote_position else first.select(to_i32(start))
    if not data:
        return minimum, None
    try:
        if known and _phy_offset(data, 0) >= phy_min_offset:
            return minimum, None
        low, high = _halves(data, phy_min_offset)
        for position in range(low, high + 1, UNIT_SIZE):
            unit = next_unit(Cursor(data, position))
            if unit.phy_offset >= phy_min_offset:
                return to_i64(first.file_from_offset + start + position), unit
    except JavaError:
        pass  # caught and logged: less than a unit is left
    return minimum, None


def _halves(data: bytes, phy_min_offset: int) -> tuple[int, int]:
    """The positions of the last one or two units to look at."""
    low, high = 0, len(data) - UNIT_SIZE
    while high - low > UNIT_SIZE:
        middle = (low + high) // 2 // UNIT_SIZE * UNIT_SIZE
        phy_offset = _phy_offset(data, middle)
        if phy_offset == phy_min_offset:
            return middle, middle
        if phy_offset > phy_min_offset:
            high = middle
        else:
            low = middle
    return low, high


def _phy_offset(data: bytes, position: int) -> int:
    return Cursor(data, position).get_long()
