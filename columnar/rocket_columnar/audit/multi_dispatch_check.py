"""Queues that multi-dispatch fills: what a range's records name, and which of their units are missing there.

4.9.3 appends a copy's unit where its queue ends, whatever logical offset the record names, unless that is above 0 and
below the queue's end: so it leaves gaps, and loses copies after a restart, when it counts from 0 again. Whether a unit
should be there is seen from its neighbours alone: the queue ended after the unit of the last record before it.

Source: `ConsumeQueue.putMessagePositionInfo` 478-530 and `multiDispatchLmqQueue` 432-453.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from rocket_spec.layout import PRE_BLANK_SIZE, QUEUE_UNIT

from rocket_columnar.audit.fault_runs import MOST
from rocket_columnar.audit.missing import files_now
from rocket_columnar.audit.range_result import AFTER, Frames, RangeResult, UnitRun
from rocket_columnar.audit.ranges import Range
from rocket_columnar.facts import Store
from rocket_columnar.formats import LONG_MAX, UNIT_DTYPE
from rocket_columnar.log import batch_copies, goes_to
from rocket_columnar.store import StoreFile, by_queue, is_safe, read_at

Queue = tuple[str, int]


@dataclass(frozen=True, slots=True)
class RangeCopies:
    """The copies that a range's records name.

    Attributes:
        of_place: of a record's place the logical offset in each queue.
        of_queue: places of each queue's records, in the order of the log.
        seen: places of each queue's records that a unit points to.
    """

    of_place: dict[int, dict[Queue, int]] = field(default_factory=dict)
    of_queue: dict[Queue, list[int]] = field(default_factory=dict)
    seen: dict[Queue, set[int]] = field(default_factory=dict)

    def logical(self, place: int, queue: Queue) -> int | None:
        """The logical offset of a record's copy in a queue; None if it has none there."""
        return self.of_place.get(place, {}).get(queue)


def read_copies(store: Store, range_: Range, frames: Frames, result: RangeResult) -> RangeCopies:
    """The copies of a range's records; of a queue that is named twice the first."""
    every, copies = frames.all, RangeCopies()
    if range_.log is None or not every.copied.any():
        return copies
    light = store.light
    try:
        for place, found in batch_copies(store.logs[range_.log], every, light=light):
            named = copies.of_place.setdefault(place, {})
            if not found:
                result.uncopied.append(int(every.phy_offset[place]))
            for name, queue_id, logical in found:
                result.asked.append(((name, queue_id), int(every.phy_offset[place]), logical))
                if not is_safe(name):
                    result.unsafe.setdefault(name, int(every.phy_offset[place]))
                elif (name, queue_id) not in named:
                    named[name, queue_id] = logical
                    copies.of_queue.setdefault((name, queue_id), []).append(place)
    except FileNotFoundError:  # expired meanwhile
        result.gone = True
    return copies


def check_copies(
    store: Store, frames: Frames, copies: RangeCopies, where: NDArray[np.int8], result: RangeResult
) -> None:
    """Copies without a unit that 4.9.3 would have put; those of the last record that is dispatched may be on their way."""
    files = by_queue(store.queues) if copies.of_queue else {}
    last = int(np.max(np.flatnonzero(where != AFTER), initial=-1)) if store.live else -1
    for queue, held in copies.of_queue.items():
        if copies.seen.get(queue, set()).issuperset(held):
            continue
        places = np.array(held, np.int64)
        units = _Units.read(files_now(store, files.get(queue, ()), *queue), store)
        sound = units.sound(store, queue, frames, places, result.range)
        runs: list[UnitRun] = []
        for number, position in _put_again(
            copies, queue, frames.all.phy_offset[places], places, units, sound
        ):
            if units.is_damaged(store, queue, position, sound):
                continue  # reported as such
            place = int(places[number])
            phy_offset = int(frames.all.phy_offset[place])
            stage = AFTER if place == last else int(where[place])
            if runs and (runs[-1].last + 1, runs[-1].where) == (position, stage):
                runs[-1] = replace(runs[-1], last=position, count=runs[-1].count + 1)
            else:
                runs.append(UnitRun(*queue, position, position, 1, phy_offset, stage))
        result.units += runs[:MOST]
        result.dropped += max(len(runs) - MOST, 0)


def _put_again(
    copies: RangeCopies,
    queue: Queue,
    offsets: NDArray[np.int64],
    places: NDArray[np.int64],
    units: _Units,
    sound: NDArray[np.bool_],
) -> Iterator[tuple[int, int]]:
    """Of the copies at `offsets` those that a put would append but no unit points to, each with its position."""
    order = np.flatnonzero(sound)[np.argsort(units.offset[sound], kind="stable")]
    known = units.offset[order]
    before = np.searchsorted(known, offsets)
    there = np.append(known, -1)[before] == offsets
    ends = np.append(units.begin, np.maximum.accumulate(units.position[order] + 1))[before]
    nexts = np.append(units.position[order], LONG_MAX)[before]
    end = 0
    for number in np.flatnonzero(~there).tolist():
        logical = copies.of_place[int(places[number])][queue]
        end = max(end, int(ends[number]))
        if logical == 0 or logical >= end:  # else 4.9.3 passes it over
            if logical < nexts[number]:  # no existing unit shows that there was a gap before
                end = max(end, logical)
            yield number, end
            end += 1


@dataclass(frozen=True, slots=True)
class _Units:
    """The units of a queue, less those that are empty.

    Attributes:
        position: where each is in the queue.
        offset: the physical offset in each, -1 where 4.9.3 takes none.
        size: the size in each.
        begin: where the queue began, for all that is known.
    """

    position: NDArray[np.int64]
    offset: NDArray[np.int64]
    size: NDArray[np.int64]
    begin: int

    @classmethod
    def read(cls, files: Sequence[StoreFile], store: Store) -> _Units:
        """The units in a queue's files now."""
        parts = [np.empty((3, 0), np.int64)]
        begin = 0
        for number, file in enumerate(files):
            try:
                with file.open() as reader:
                    raw = reader.read(0, reader.size // QUEUE_UNIT.size * QUEUE_UNIT.size).view(UNIT_DTYPE)
            except FileNotFoundError:
                continue
            first = file.base_offset // QUEUE_UNIT.size
            offset, size = raw["phy_offset"].astype(np.int64), raw["size"].astype(np.int64)
            empty = (offset == 0) & ((size == 0) | (size == PRE_BLANK_SIZE)) & (raw["tags_code"] == 0)
            held = np.flatnonzero(~empty)
            parts.append(np.array([held + first, np.where(size > 0, offset, -1)[held], size[held]]))
            if not number and store.begin and held[:1].tolist() == [0]:
                begin = first  # what came before has expired with its file
        positions, offsets, sizes = np.concatenate(parts, axis=1)
        return cls(positions, offsets, sizes, begin)

    def sound(
        self, store: Store, queue: Queue, frames: Frames, copied: NDArray[np.int64], range_: Range
    ) -> NDArray[np.bool_]:
        """A mask of the units that may be right: all that point outside the range, and those to records that go into the queue."""
        every = frames.all
        known = (every.topic == frames.names.numbers.get(queue[0], -1)) & (every.queue_id == queue[1])
        known = np.append(known, False)  # place -1, which is no record's
        known[copied] = True
        possible: NDArray[np.bool_] = (self.offset < range_.begin) | (self.offset >= range_.end)
        possible |= known[frames.find(self.offset)]
        return possible & (self.offset >= 0) & (self.offset < store.end)

    def is_damaged(self, store: Store, queue: Queue, position: int, sound: NDArray[np.bool_]) -> bool:
        """Whether a unit is at a position that does not belong there."""
        place = int(np.searchsorted(self.position, position))
        if self.position[place : place + 1].tolist() != [position]:
            return False
        offset, size = int(self.offset[place]), int(self.size[place])
        if not sound[place] or offset < store.begin:
            return not sound[place]
        file = store.log_at(offset)
        data = b"" if file is None else read_at(file, offset - file.base_offset, size)
        return not goes_to(data, *queue, light=store.light)
