"""Dispatches one log file to columns on disk: what each record adds to index and queues.

The columns of keys and records are in the order of the log. Units are in the order of their puts, sorted by bucket in
each batch.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple, Self
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from rocket_columnar.findings import Finding, finding
from rocket_columnar.log import FileLives, Life, Lives, TopicNames, read_requests
from rocket_columnar.rebuild.batch_columns import (
    KEYS,
    RECORDS,
    Batch,
    Units,
    by_queue,
    joined_batches,
    keys_added,
    units_added,
)
from rocket_columnar.rebuild.broker_rules import BrokerRules
from rocket_columnar.rebuild.holes import Gaps, Holes, missing_holes
from rocket_columnar.store import StoreFile, WorkDone, is_safe

_RECORDS_AT_ONCE: Final = 1 << 16
_KEPT: Final = "keep the store's own files of this queue; copy them from a replica if they are damaged"


class LeftOut(NamedTuple):
    """A queue that is not written, and the physical offset of the record that shows why.

    Attributes:
        topic: of the queue.
        queue_id: of the queue.
        phy_offset: of the record.
        reason: what the record states; None if the topic cannot be the name of a directory.
    """

    topic: str
    queue_id: int
    phy_offset: int
    reason: str | None


class KeyRange(NamedTuple):
    """Keys of one batch.

    Attributes:
        record: row of the batch's first record.
        records: number of the batch's records.
        key: row of the batch's first key.
        begin: first key, counted from the batch's first.
        end: the key after the last one, counted likewise.
    """

    record: int
    records: int
    key: int
    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class Dispatched:
    """The result of dispatching one log file, in addition to the columns on disk.

    Attributes:
        batches: the rows of the columns.
        gaps: findings on the ranges without records.
        holes: physical offsets of the ranges whose records are lost.
        left_out: queues that are skipped.
        lives: where queues begin to count from 0.
    """

    batches: tuple[Batch, ...]
    gaps: tuple[Finding, ...]
    holes: tuple[tuple[int, int], ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    lives: tuple[Life, ...] = ()

    @property
    def records(self) -> int:
        """Number of records that were dispatched."""
        return sum(batch.records for batch in self.batches)

    @property
    def keys(self) -> int:
        """Number of their entries in the index."""
        return sum(batch.keys for batch in self.batches)

    def unit_ranges(self, bucket: int) -> list[tuple[int, int]]:
        """First and number of the units of a bucket, batch by batch."""
        ranges: list[tuple[int, int]] = []
        base = 0
        for batch in self.batches:
            if batch.units[bucket]:
                ranges.append((base + sum(batch.units[:bucket]), batch.units[bucket]))
            base += sum(batch.units)
        return ranges

    def key_ranges(self, begin: int, end: int) -> list[KeyRange]:
        """The keys `begin` up to `end` of the file, batch by batch."""
        ranges: list[KeyRange] = []
        record = key = 0
        for batch in self.batches:
            first, stop = max(begin, key), min(end, key + batch.keys)
            if first < stop:
                ranges.append(KeyRange(record, batch.records, key, first - key, stop - key))
            record, key = record + batch.records, key + batch.keys
        return ranges


def log_holes(logs: Sequence[StoreFile], parts: Sequence[Dispatched]) -> Holes:
    """The holes of a log, missing files and those that were found in its files, and the last lives of its queues."""
    holes = missing_holes(logs)
    for part in parts:
        for begin, end in part.holes:
            holes.add(begin, end)
    holes.lives = Lives(part.lives for part in parts)
    return holes


def bucket_of(topic: str, queue_id: int, buckets: int) -> int:
    """The bucket of a queue whose topic can be the name of a directory."""
    return crc32(f"{topic}/{queue_id}".encode("utf-8", "surrogatepass")) % buckets


def left_out_findings(left_out: Iterable[LeftOut], logs: Sequence[StoreFile]) -> list[Finding]:
    """One finding for each queue that is not written."""
    first: dict[tuple[str, int], LeftOut] = {}
    for queue in left_out:
        first.setdefault(queue[:2], queue)
    found: list[Finding] = []
    for queue in first.values():
        if queue.reason is None:
            file = next(file for file in reversed(logs) if file.base_offset <= queue.phy_offset)
            text = (
                f"the topic {queue.topic!r} of this record cannot be a directory name; its queue is left out"
            )
            found.append(finding("store.unsafe_name", file.name, queue.phy_offset - file.base_offset, text))
        else:
            text = (
                f"the record at physical offset {queue.phy_offset:,} {queue.reason}: the places of its units are unknown, "
                "and the queue is left out"
            )
            place = f"consumequeue/{queue.topic}/{queue.queue_id}"
            found.append(finding("queue.order", place, None, text, cure=_KEPT))
    return found


def dispatch_log(
    file: StoreFile,
    directory: Path,
    *,
    last: bool,
    buckets: int,
    rules: BrokerRules,
    work: WorkDone | None = None,
) -> Dispatched:
    """Dispatches one log file into `directory`, which is created.

    Args:
        file: of the log.
        directory: for columns of keys, records and units.
        last: whether no other file follows: a gap at its end is then a torn write.
        buckets: as in `plan_rebuild`.
        rules: of the broker.
        work: counts the bytes of the file.

    Raises:
        OSError: reading or writing fails.
    """
    directory.mkdir()
    holes = Holes(file.size())
    gaps = Gaps(file, holes, last=last)
    topics, lives = TopicNames(), FileLives()
    batches: list[Batch] = []
    counted, done = work or WorkDone(None), file.base_offset
    with (
        _Columns(directory, {**KEYS, **RECORDS}) as columns,
        _Buckets(directory, buckets, rules) as dealt,
    ):
        for batch in joined_batches(read_requests(file, topics, gaps.add, keys=rules.keys), _RECORDS_AT_ONCE):
            gaps.pass_over(batch)
            lives.add(batch, topics)
            counted.add(gaps.end - done)
            done = gaps.end
            keys = keys_added(batch)
            if keys is None:
                continue
            for name, values in keys._asdict().items():
                columns.add(name, values)
            units = dealt.add(units_added(file, batch, topics, light=rules.light), topics)
            batches.append(keys.summary(units))
    (directory / "topics.json").write_text(json.dumps(topics.names), "utf-8")
    counted.add(file.base_offset + file.size() - done)
    gaps.close()
    left_out = tuple(sorted(dealt.unsafe.values(), key=lambda found: found.phy_offset))
    return Dispatched(tuple(batches), tuple(gaps.findings), tuple(holes.ranges), left_out, lives.last)


class _Columns:
    """Arrays that grow on disk."""

    def __init__(self, directory: Path, names: dict[str, str]) -> None:
        self._types = names
        self._files = {name: (directory / name).open("wb", buffering=0) for name in names}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for file in self._files.values():
            file.close()

    def add(self, name: str, values: NDArray[Any]) -> None:
        """Appends to one of them."""
        _write(self._files[name], np.ascontiguousarray(values, self._types[name]))


def _write(file: Any, values: NDArray[Any]) -> None:
    """Writes all of an array to an unbuffered file."""
    left = values.view(np.uint8).data if values.size else memoryview(b"")
    while left:
        left = left[file.write(left) :]


class _Buckets:
    """The units of a log file, distributed to buckets batch by batch."""

    def __init__(self, directory: Path, buckets: int, rules: BrokerRules) -> None:
        self._rules = rules
        self.unsafe: dict[tuple[str, int], LeftOut] = {}
        self._buckets = buckets
        self._file = (directory / "units").open("wb", buffering=0)
        self._bucket_of: dict[tuple[str, int], int] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add(self, units: Units, topics: TopicNames) -> tuple[int, ...]:
        """Writes the units of a batch; returns their number in each bucket."""
        if not units.phy_offset.size:
            return (0,) * self._buckets
        order, begins = by_queue(units)
        firsts = order[begins].tolist()
        queues = [(topics.names[units.topic[at]], int(units.queue_id[at])) for at in firsts]
        of_queue = [self._bucket(*queue) for queue in queues]
        for at, queue, bucket in zip(firsts, queues, of_queue, strict=True):
            if bucket == self._buckets and self._rules.writes(queue[0]):
                self.unsafe.setdefault(queue, LeftOut(*queue, int(units.phy_offset[at]), None))
        buckets = np.repeat(np.array(of_queue, np.uint16), np.diff(begins, append=order.size))
        counts = np.bincount(buckets, minlength=self._buckets)[: self._buckets]
        chosen = order[np.argsort(buckets, kind="stable")[: int(counts.sum())]]
        _write(self._file, units.taken(chosen).rows())
        return tuple(counts.tolist())

    def _bucket(self, topic: str, queue_id: int) -> int:
        """The bucket of a queue; one more than there are if it is not written."""
        key = topic, queue_id
        if key not in self._bucket_of:
            written = is_safe(topic) and self._rules.writes(topic)
            self._bucket_of[key] = bucket_of(*key, self._buckets) if written else self._buckets
        return self._bucket_of[key]
