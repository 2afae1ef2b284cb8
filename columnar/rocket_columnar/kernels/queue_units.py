"""Compiled loops that distribute units to consume queues, each put as a broker puts it.

A queue is known by a small number; a table leads to it from the number of its topic and its queue id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from rocket_columnar.kernels.compilation import inlined, jit, long, signed

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["FREE", "QueueStates", "QueueTable", "UnitRows", "add_queue", "number_units", "put_units"]

FREE: Final = -1
"""In a table: no queue is here. Other negative numbers are of queues that are left out."""

_MIX: Final = np.uint64(0x9E3779B97F4A7C15)
_HALF: Final = np.uint64(32)
_ONE, _TWO, _THREE, _FOUR = (np.uint64(word) for word in range(1, 5))


class QueueTable(NamedTuple):
    """Queues by hash: topic number and queue id in one, and the queue's number; as long as a power of two, never full."""

    keys: NDArray[np.int64]
    numbers: NDArray[np.int32]


class UnitRows(NamedTuple):
    """Units in the order of their puts; `number` is that of the queue, negative if the unit is left out."""

    phy_offset: NDArray[np.int64]
    size: NDArray[np.int32]
    tags_code: NDArray[np.int64]
    logical_offset: NDArray[np.int64]
    number: NDArray[np.int32]


class QueueStates(NamedTuple):
    """State of each queue, and what a batch adds to it.

    Attributes:
        position: number of the next unit in its queue; unsigned, since it can exceed a Java long by one and more.
        max_phy_offset: physical offset of the end of the last record that was put.
        begin: first of the batch's units, counted in units from the first of all queues.
        stop: after the last one.
        skipped: 1 if the last unit of the batch was skipped because it is before the write position, else 0.
    """

    position: NDArray[np.int64]
    max_phy_offset: NDArray[np.int64]
    begin: NDArray[np.int64]
    stop: NDArray[np.int64]
    skipped: NDArray[np.int64]


@inlined
def _place(table: QueueTable, key: int) -> Any:
    """The place of a queue in a table, or where it would be put."""
    mask = len(table.keys) - 1
    place = long(np.uint64(key) * _MIX >> _HALF) & mask
    while table.keys[place] != key and table.numbers[place] != FREE:
        place = (place + 1) & mask
    return place


@jit
def add_queue(table: QueueTable, key: int, number: int) -> None:
    """Adds a queue to a table that has room for it."""
    place = _place(table, key)
    table.keys[place], table.numbers[place] = key, number


@jit
def number_units(
    topic: NDArray[np.int32],
    queue_id: NDArray[np.int32],
    table: QueueTable,
    numbers: NDArray[np.int32],
    first: int,
) -> int:
    """Finds the queue of each unit from `first` on; returns the first unit whose queue is not in the table, or their number."""
    for i in range(first, len(topic)):
        place = _place(table, long(topic[i]) << 32 | long(queue_id[i]) & 0xFFFFFFFF)
        if table.numbers[place] == FREE:
            return i
        numbers[i] = table.numbers[place]
    return len(topic)


@jit
def _swapped(value: Any) -> Any:
    """A number as a word of the file."""
    return np.uint32(signed(value))


@jit
def put_units(units: UnitRows, queues: QueueStates, words: NDArray[np.uint32]) -> None:
    """Puts units; skips, as 4.9.3 does, those that were put before and those before the write position.

    Args:
        units: in the order of their puts.
        queues: brought up to date.
        words: room for all units, as words of the files; those of a queue follow each other.

    Source: `ConsumeQueue.putMessagePositionInfo` 478-530.
    """
    begin, stop = queues.begin, queues.stop
    stop[:] = 0
    queues.skipped[:] = 0
    for i in range(len(units.number)):
        if units.number[i] >= 0:
            stop[units.number[i]] += 1
    total = long(0)
    for queue in range(len(stop)):
        begin[queue] = total
        total += stop[queue]
        stop[queue] = begin[queue]
    for i in range(len(units.number)):
        queue = units.number[i]
        if queue < 0:
            continue
        phy_offset, size, logical = units.phy_offset[i], units.size[i], units.logical_offset[i]
        if phy_offset + size <= queues.max_phy_offset[queue]:
            continue
        queues.skipped[queue] = logical < 0 or (
            logical > 0 and np.uint64(logical) < np.uint64(queues.position[queue])
        )
        if queues.skipped[queue]:
            continue
        at, code = np.uint64(5 * stop[queue]), units.tags_code[i]
        words[at] = _swapped(phy_offset >> 32)
        words[at + _ONE] = _swapped(phy_offset)
        words[at + _TWO] = _swapped(size)
        words[at + _THREE] = _swapped(code >> 32)
        words[at + _FOUR] = _swapped(code)
        stop[queue] += 1
        queues.position[queue] += 1
        queues.max_phy_offset[queue] = phy_offset + size
