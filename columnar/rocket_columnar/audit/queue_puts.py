"""Queues that differ from their records' logical offsets, yet are as a broker makes them of its log (CQ-PUT-2, CQ-PUT-3).

A record that repeats a logical offset gets no unit, and after one that skips some the units go on without a gap. Such a queue
is not damaged, and a rebuild makes the same files again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray
from rocket_spec.layout import PRE_BLANK_SIZE, QUEUE_UNIT

from rocket_columnar.audit.fault_runs import Marks
from rocket_columnar.facts import Store
from rocket_columnar.findings import Finding, finding
from rocket_columnar.formats import UNIT_DTYPE
from rocket_columnar.log import Gap, TopicNames, requests_before_gap, units_taken
from rocket_columnar.store import StoreFile, by_queue

_MOVED: Final = "unit.moved"

_SHOWN: Final = 5
"""Number of records without a unit that a finding names."""

Queue = tuple[str, int]


@dataclass(slots=True)
class _Puts:
    """The puts of one queue's records, from the record of its first unit on.

    Attributes:
        files: of the queue, in order.
        first: logical offset of its first unit with a record, and that record's physical offset.
        units: physical offsets of the units from there on.
        placed: physical offsets of the records that get a unit, batch by batch.
        next: logical offset of the next unit.
        repeats: physical and logical offset of each record that gets none.
        skips: logical offsets of the units after which the records go on with a greater offset.
        again: number of records with the logical offset 0 after others.
    """

    files: Sequence[StoreFile]
    first: tuple[int, int] = (0, 0)
    units: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    placed: list[NDArray[np.int64]] = field(default_factory=list)
    next: int = 0
    repeats: list[tuple[int, int]] = field(default_factory=list)
    skips: list[int] = field(default_factory=list)
    again: int = 0

    def read(self, begin: int) -> None:
        """Reads the units, from the first on whose record is in the log, which begins at `begin`.

        A queue with a hole before its end has none: no puts leave one.
        """
        base = self.files[0].base_offset // QUEUE_UNIT.size
        parts = [np.frombuffer(_units_before_holes(file), UNIT_DTYPE) for file in self.files]
        every = np.concatenate(parts)
        offset, size = every["phy_offset"].astype(np.int64), every["size"].astype(np.int32)
        used = (size > 0) & ~((offset == 0) & (size == PRE_BLANK_SIZE))
        known = np.flatnonzero(used & (offset >= begin))
        if known.size:
            start, stop = int(known[0]), int(known[-1]) + 1
            self.first = self.next, _ = base + start, int(offset[start])
            self.units = np.where(used, offset, -1)[start:stop]

    def put(self, offsets: NDArray[np.int64], starts: NDArray[np.int64]) -> None:
        """Puts the records of a batch: their logical and physical offsets, in the order of the log."""
        chosen = starts >= self.first[1]
        offsets, starts = offsets[chosen], starts[chosen]
        taken = units_taken(offsets, self.next)
        self.repeats += zip(starts[~taken].tolist(), offsets[~taken].tolist(), strict=True)
        units = self.next + np.arange(np.count_nonzero(taken))
        self.skips += units[offsets[taken] > units].tolist()
        self.placed.append(starts[taken])
        self.next += units.size

    @property
    def agrees(self) -> bool:
        """Whether the units are those that these puts make."""
        placed = np.concatenate([np.empty(0, np.int64), *self.placed])
        return self.units.size > 0 and np.array_equal(self.units, placed[: self.units.size])


def _units_before_holes(file: StoreFile) -> bytes:
    """The units of a file up to the hole at its end; none if there is another."""
    with file.open() as reader:
        held = list(reader.extents())
        end = held[0][1] if len(held) == 1 and not held[0][0] else 0
        return reader.read(0, end // QUEUE_UNIT.size * QUEUE_UNIT.size).tobytes()


def take_own_puts(store: Store, marks: Marks, report: Callable[[Finding], None], held: Counter[str]) -> None:
    """Takes the marks off units that are where a broker's own puts place them, and reports the records without a unit.

    `held` counts the clauses that the puts show.

    Raises:
        OSError: a file cannot be read.
    """
    moved = {file for what, file in marks.runs if what == _MOVED}
    if not moved:
        return
    files = by_queue(store.queues)
    puts = {key: _Puts(own) for key, own in files.items() if moved & {file.name for file in own}}
    for one in puts.values():
        one.read(store.begin)
    if not _put_all(store, puts):
        return
    for (topic, queue_id), one in puts.items():
        if not one.agrees:
            continue
        held.update({"CQ-PUT-2": len(one.repeats), "CQ-PUT-3": len(one.skips), "CQ-PUT-4": one.again})
        for file in one.files:
            marks.runs.pop((_MOVED, file.name), None)
            marks.more.pop((_MOVED, file.name), None)
        for found in _findings(store, f"{topic} queue {queue_id}", one):
            report(found)


def _put_all(store: Store, puts: dict[Queue, _Puts]) -> bool:
    """Puts the log's records of some queues; whether the log has no gap, across which nothing is known."""
    files = tuple(zip(store.logs, store.log_sizes, strict=True))
    if any(file.base_offset + size != after.base_offset for (file, size), (after, _) in pairwise(files)):
        return False
    names, gaps = TopicNames(), list[Gap]()
    bounds = store.begin, store.end
    for _, _, batch in requests_before_gap(files, names, bounds=bounds, on_gap=gaps.append, keys=store.keys):
        for (topic, queue_id), one in puts.items():
            rows = batch.queued & (batch.topic == names.numbers.get(topic, -1))
            rows &= batch.queue_id == queue_id
            one.put(batch.queue_offset[rows], batch.phy_offset[rows])
    return not gaps


def _findings(store: Store, queue: str, puts: _Puts) -> list[Finding]:
    found = []
    if puts.repeats:
        some = ", ".join(f"{start:,} (offset {offset:,})" for start, offset in puts.repeats[:_SHOWN])
        more = f" and {len(puts.repeats) - _SHOWN:,} more" if len(puts.repeats) > _SHOWN else ""
        text = (
            f"{len(puts.repeats):,} records of {queue} repeat a logical offset, and get no unit from a broker: "
            f"physical offset {some}{more}; no consumer gets them"
        )
        cure = "none in this store: send these messages again; `rocketspec decode --table commit_log` prints them"
        found.append(
            finding(
                "queue.missing_unit",
                *store.at(puts.repeats[0][0]),
                text,
                clause="CQ-PUT-2",
                cure=cure,
            )
        )
    if puts.skips:
        text = (
            f"records of {queue} skip logical offsets before unit {puts.skips[0]:,}: from there on a unit's number is lower "
            "than the offset that its record states (CQ-PUT-3); no message is lost"
        )
        file = next(
            file for file in reversed(puts.files) if file.base_offset <= puts.skips[0] * QUEUE_UNIT.size
        )
        at = puts.skips[0] * QUEUE_UNIT.size - file.base_offset
        cure = "none needed: consumers get every message"
        found.append(
            finding("queue.order", file.name, at, text, severity="note", clause="CQ-PUT-3", cure=cure)
        )
    return found
