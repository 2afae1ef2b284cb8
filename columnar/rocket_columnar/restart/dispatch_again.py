"""Predicts the dispatch of a start over a plain log: the units that it leaves out, and the places where it never ends.

Read beside `ConsumeQueue.putMessagePositionInfo` 481-513 and `ReputMessageService.doReput` 2058-2066. Light queues are not followed.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rocket_spec.layout import QUEUE_UNIT

from rocket_columnar.facts import Store
from rocket_columnar.formats import UNIT_DTYPE
from rocket_columnar.log import Requests, TopicNames, dispatch_stop, requests_before_gap, units_taken
from rocket_columnar.restart.queues import LostUnits, QueueStart
from rocket_columnar.store import Reader, StoreFile, read_at, size_of

_TAKEN = "an older message has its place in the queue (CQ-PUT-2)"


class Redispatched(NamedTuple):
    """The fate of the records that a start dispatches.

    Attributes:
        stuck: why dispatch never passes one of them, or None.
        lost: those that get no unit, since their places are taken.
    """

    stuck: str | None
    lost: tuple[LostUnits, ...]


def dispatched_again(
    store: Store, queues: Sequence[QueueStart], position: int, end: int, *, recovered_from: int | None
) -> Redispatched:
    """What a start dispatches, up to the log's end or to the first gap.

    Args:
        store: the store.
        queues: as they are before.
        position: the greatest end of a queue: physical offset from which dispatch begins, unless a recovery dispatches.
        end: of the log.
        recovered_from: physical offset from which a recovery dispatches. It notifies nobody: what can stop the dispatch
            (LOG-DSP-18) is after the last record with a unit. With enableMultiDispatch any record can, here as there.

    Raises:
        OSError: the log cannot be read.
    """
    puts = _Puts(position if recovered_from is None else recovered_from)
    multi = store.conf is not None and store.conf.multi_dispatch
    for queue in queues:
        place = queue.end // QUEUE_UNIT.size if queue.files else None
        puts.places[queue.topic, queue.queue_id] = _Place(place, queue.max_phy_offset, _Kept(queue))
    names, stuck = TopicNames(), -1
    files = zip(store.logs, store.log_sizes, strict=True)
    bounds = min(position, puts.begin), end
    for reader, base, batch in requests_before_gap(files, names, bounds=bounds, keys=store.keys):
        puts.add(batch, names)
        put = batch.queued & (batch.phy_offset >= puts.begin)
        at = _first_stop(reader, base, batch, put) if multi else -1
        if at >= 0:
            return Redispatched(_stuck_text(at, "enableMultiDispatch is off (CQ-LMQ-5)"), tuple(puts.lost))
        notified = batch.dispatched & (batch.phy_offset >= position)
        if recovered_from is not None and put.any():
            notified[: np.flatnonzero(put)[-1] + 1] = False
            stuck = -1
        if stuck < 0:
            stuck = _first_stop(reader, base, batch, notified)
    why = "the broker is a slave or has longPollingEnable off (LOG-DSP-18)"
    return Redispatched(_stuck_text(stuck, why) if stuck >= 0 else None, tuple(puts.lost))


def _first_stop(reader: Reader, base: int, batch: Requests, chosen: NDArray[np.bool_]) -> int:
    """Physical offset of the first of the chosen records whose offsets in light queues are not numbers; -1 if there is none."""
    for place in np.flatnonzero(batch.copied & chosen).tolist():
        at = int(batch.phy_offset[place])
        if dispatch_stop(reader.read(at - base, int(batch.size[place])).tobytes(), light=False):
            return at
    return -1


def _stuck_text(at: int, unless: str) -> str:
    return (
        f"the record at physical offset {at:,} has an INNER_MULTI_QUEUE_OFFSET that is not a number: dispatch stays there, "
        f"and a start never returns, unless {unless}"
    )


@dataclass(slots=True)
class _Kept:
    """The units that a queue keeps over the start; one file of them is in memory."""

    queue: QueueStart
    _file: StoreFile | None = None
    _targets: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))

    def has(self, logical: int, phy_offset: int) -> bool:
        """Whether the unit at a logical offset points to a record."""
        position = logical * QUEUE_UNIT.size
        files = self.queue.files
        number = bisect_right(files, position, key=lambda file: file.base_offset) - 1
        if number < 0 or position >= self.queue.end:
            return False
        file = files[number]
        if file is not self._file:
            raw = read_at(file, 0, size_of(file) or 0)
            self._file = file
            self._targets = np.frombuffer(raw, UNIT_DTYPE, len(raw) // QUEUE_UNIT.size)["phy_offset"]
        place = (position - file.base_offset) // QUEUE_UNIT.size
        return place < self._targets.size and int(self._targets[place]) == phy_offset


@dataclass(slots=True)
class _Place:
    """A queue: the logical offset at which the next unit goes in, None without a file, and the end of its last record."""

    next: int | None = None
    max_phy_offset: int = -1
    kept: _Kept | None = None


@dataclass(slots=True)
class _Puts:
    """Puts of records from `begin` on, and the runs of those that get no unit."""

    begin: int
    places: dict[tuple[str, int], _Place] = field(default_factory=dict)
    lost: list[LostUnits] = field(default_factory=list)

    def add(self, batch: Requests, names: TopicNames) -> None:
        chosen = np.flatnonzero(batch.queued & (batch.phy_offset >= self.begin))
        owners = np.stack((batch.topic[chosen], batch.queue_id[chosen]))
        for topic, queue_id in np.unique(owners, axis=1).T.tolist():
            rows = chosen[(owners[0] == topic) & (owners[1] == queue_id)]
            queue = names.names[topic], queue_id
            place = self.places.setdefault(queue, _Place())
            ends = batch.phy_offset[rows] + batch.size[rows]
            new = ends > place.max_phy_offset  # else they were built before: CQ-PUT-1
            if new.any():
                self._put(queue, place, batch.queue_offset[rows[new]], batch.phy_offset[rows[new]])
                place.max_phy_offset = int(ends[-1])

    def _put(self, queue: tuple[str, int], place: _Place, offsets: np.ndarray, starts: np.ndarray) -> None:
        if place.next is None:
            place.next = int(offsets[0])
        taken = units_taken(offsets, place.next)
        place.next += int(np.count_nonzero(taken))
        for offset, start in zip(offsets[~taken].tolist(), starts[~taken].tolist(), strict=True):
            if place.kept is not None and place.kept.has(offset, start):
                continue
            last = self.lost[-1] if self.lost else None
            if last is not None and (last.topic, last.queue_id, last.first + last.count) == (*queue, offset):
                self.lost[-1] = replace(last, count=last.count + 1)
            else:
                self.lost.append(LostUnits(*queue, offset, 1, start, _TAKEN))
