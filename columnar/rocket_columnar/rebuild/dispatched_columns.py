"""Dispatches one log file to columns on disk: what each record adds to index and queues.

The columns of keys and records are in the order of the log. Units are in the order of their puts, sorted by bucket in
each batch.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self
from zlib import crc32

import numpy as np

from rocket_columnar.findings import Finding, finding, gap_finding
from rocket_columnar.log import TopicNames, read_requests
from rocket_columnar.rebuild.batch_columns import (
    KEYS,
    RECORDS,
    UNIT,
    Batch,
    joined_batches,
    keys_added,
    units_added,
)
from rocket_columnar.store import is_safe

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from rocket_columnar.log import Gap
    from rocket_columnar.store import StoreFile

__all__ = [
    "Dispatched",
    "KeySpan",
    "UnsafeQueue",
    "dispatch_log",
    "log_finding",
    "unsafe_names",
]

_AT_ONCE: Final = 1 << 16  # records
_DIGITS: Final = 1 << 16  # numbers below it are sorted digit by digit


@dataclass(frozen=True, slots=True)
class UnsafeQueue:
    """A queue whose topic cannot be the name of a directory, and where its first record is.

    Attributes:
        topic: of the queue.
        queue_id: of the queue.
        file: name of the log file.
        offset: byte of the record in it.
    """

    topic: str
    queue_id: int
    file: str
    offset: int


class KeySpan(NamedTuple):
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
        unsafe: queues that are skipped.
    """

    batches: tuple[Batch, ...]
    gaps: tuple[Finding, ...]
    unsafe: tuple[UnsafeQueue, ...]

    def as_plain(self) -> dict[str, Any]:
        """The same as dicts and lists, for JSON."""
        return asdict(self)

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Dispatched:
        """What `as_plain` gave, also by way of JSON."""
        return cls(
            tuple(
                Batch(records, keys, first, tail, tuple(units))
                for records, keys, first, tail, units in plain["batches"]
            ),
            tuple(Finding(**one) for one in plain["gaps"]),
            tuple(UnsafeQueue(**one) for one in plain["unsafe"]),
        )

    @property
    def records(self) -> int:
        """Number of records that were dispatched."""
        return sum(batch.records for batch in self.batches)

    @property
    def keys(self) -> int:
        """Number of their entries in the index."""
        return sum(batch.keys for batch in self.batches)

    def unit_spans(self, bucket: int) -> list[tuple[int, int]]:
        """First and number of the units of a bucket, batch by batch."""
        spans: list[tuple[int, int]] = []
        base = 0
        for batch in self.batches:
            if batch.units[bucket]:
                spans.append((base + sum(batch.units[:bucket]), batch.units[bucket]))
            base += sum(batch.units)
        return spans

    def key_spans(self, begin: int, end: int) -> list[KeySpan]:
        """The keys `begin` up to `end` of the file, batch by batch."""
        spans: list[KeySpan] = []
        record = key = 0
        for batch in self.batches:
            first, stop = max(begin, key), min(end, key + batch.keys)
            if first < stop:
                spans.append(KeySpan(record, batch.records, key, first - key, stop - key))
            record, key = record + batch.records, key + batch.keys
        return spans


def unsafe_names(dispatched: Iterable[Dispatched]) -> list[Finding]:
    """One finding for each queue whose topic cannot be the name of a directory."""
    first: dict[tuple[str, int], UnsafeQueue] = {}
    for part in dispatched:
        for queue in part.unsafe:
            first.setdefault((queue.topic, queue.queue_id), queue)
    text = "the topic {!r} of this record cannot be a directory name; its queue is left out"
    return [
        finding("store.unsafe_name", queue.file, queue.offset, text.format(queue.topic))
        for queue in first.values()
    ]


def dispatch_log(
    file: StoreFile, directory: Path, *, last: bool, buckets: int, light: bool = True
) -> Dispatched:
    """Dispatches one log file into `directory`, which is created.

    Args:
        file: of the log.
        directory: for columns of keys, records and units.
        last: whether no other file follows: a gap at its end is then a torn write.
        buckets: as in `plan_rebuild`.
        light: whether light queues have the number 0; see `plan_rebuild`.

    Raises:
        OSError: reading or writing fails.
    """
    directory.mkdir()
    gaps: list[Finding] = []

    def note(gap: Gap) -> None:
        gaps.append(log_finding(file, gap, last=last))

    topics = TopicNames()
    batches: list[Batch] = []
    with _Columns(directory, {**KEYS, **RECORDS}) as columns, _Buckets(directory, file, buckets) as dealt:
        for batch in joined_batches(read_requests(file, topics, note), _AT_ONCE):
            keys = keys_added(batch)
            if keys is None:
                continue
            for name, values in keys._asdict().items():
                columns.add(name, values)
            units = dealt.add(units_added(file, batch, topics, light=light).rows(), topics)
            batches.append(keys.summary(units))
    (directory / "topics.json").write_text(json.dumps(topics.names), "utf-8")
    unsafe = tuple(sorted(dealt.unsafe.values(), key=lambda found: found.offset))
    return Dispatched(tuple(batches), tuple(gaps), unsafe)


def log_finding(file: StoreFile, gap: Gap, *, last: bool) -> Finding:
    """The finding on a gap; at the end of the `last` file it is a torn write."""
    size = file.size()
    tail = last and gap.end >= file.base_offset + size
    return gap_finding(file, size, gap, tail=tail, live=False)


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


def _reordered(units: NDArray[np.void], order: NDArray[np.int64]) -> NDArray[np.void]:
    """Units in another order; NumPy copies rows of words faster than structures."""
    return units.view(np.int64).reshape(-1, UNIT.itemsize // 8).take(order, axis=0).view(UNIT)[:, 0]


def _number_queues(units: NDArray[np.void]) -> tuple[NDArray[Any], list[tuple[int, int]]]:
    """The queue of each unit as a small number, and number of the topic and queue id of each queue."""
    topic, queue_id = units["topic"].astype(np.int64), units["queue_id"].astype(np.int64)
    low, span = int(queue_id.min()), int(np.ptp(queue_id)) + 1
    codes = topic * span + (queue_id - low)
    room = (int(topic.max()) + 1) * span
    if room <= max(_DIGITS, units.size):
        known = np.flatnonzero(np.bincount(codes, minlength=room))
        table = np.zeros(room, np.uint16 if known.size <= _DIGITS else np.int64)
        table[known] = np.arange(known.size)
        numbers = table[codes]
    else:
        known, numbers = np.unique(codes, return_inverse=True)
        numbers = numbers.astype(np.uint16) if known.size <= _DIGITS else numbers
    return numbers, [(code // span, code % span + low) for code in known.tolist()]


class _Buckets:
    """The units of a log file, distributed to buckets batch by batch."""

    def __init__(self, directory: Path, file: StoreFile, buckets: int) -> None:
        self.unsafe: dict[tuple[str, int], UnsafeQueue] = {}
        self._log = file
        self._buckets = buckets
        self._file = (directory / "units").open("wb", buffering=0)
        self._bucket_of: dict[tuple[str, int], int] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add(self, units: NDArray[np.void], topics: TopicNames) -> tuple[int, ...]:
        """Writes the units of a batch; returns their number in each bucket."""
        if not units.size:
            return (0,) * self._buckets
        numbers, queues = _number_queues(units)
        bucket_of = np.array([self._bucket(topics.names[topic], queue) for topic, queue in queues], np.uint16)
        buckets = bucket_of[numbers]
        left_out = buckets == self._buckets
        for unit in units[left_out][np.unique(numbers[left_out], return_index=True)[1]]:
            topic, queue_id = topics.names[unit["topic"]], int(unit["queue_id"])
            place = int(unit["phy_offset"]) - self._log.base_offset
            self.unsafe.setdefault((topic, queue_id), UnsafeQueue(topic, queue_id, self._log.name, place))
        if self._buckets > 1 or left_out.any():
            units = _reordered(units, np.argsort(buckets, kind="stable"))
        counts = np.bincount(buckets, minlength=self._buckets)[: self._buckets]
        _write(self._file, units[: int(counts.sum())])
        return tuple(counts.tolist())

    def _bucket(self, topic: str, queue_id: int) -> int:
        """The bucket of a queue; one more than there are if it has no directory."""
        key = topic, queue_id
        if key not in self._bucket_of:
            name = f"{topic}/{queue_id}".encode("utf-8", "surrogatepass")
            self._bucket_of[key] = crc32(name) % self._buckets if is_safe(topic) else self._buckets
        return self._bucket_of[key]
