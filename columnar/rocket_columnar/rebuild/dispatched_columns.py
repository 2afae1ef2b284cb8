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
from rocket_columnar.log import Requests, TopicNames, batch_copies, read_requests
from rocket_columnar.store import is_safe

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from rocket_columnar.log import Gap
    from rocket_columnar.store import StoreFile

__all__ = [
    "KEYS",
    "RECORDS",
    "UNIT",
    "Batch",
    "Dispatched",
    "KeySpan",
    "UnsafeQueue",
    "dispatch_log",
    "number_queues",
    "reordered",
    "unsafe_names",
]

_AT_ONCE: Final = 1 << 16  # records
_DIGITS: Final = 1 << 16  # numbers below it are sorted digit by digit

UNIT: Final = np.dtype(
    [
        ("phy_offset", "<i8"),
        ("tags_code", "<i8"),
        ("logical_offset", "<i8"),
        ("store_timestamp", "<i8"),
        ("topic", "<i4"),
        ("queue_id", "<i4"),
        ("size", "<i4"),
        ("is_copy", "?"),
    ],
    align=True,
)
KEYS: Final = {"key_hash": "<i4"}
"""Columns with a row for each key."""

RECORDS: Final = {"phy_offset": "<i8", "store_timestamp": "<i8", "key_count": "<i4"}
"""Columns with a row for each record that is dispatched."""


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


class Batch(NamedTuple):
    """Rows of the columns that were written together.

    Attributes:
        records: number of records, at least one.
        keys: number of their keys.
        first_time: store timestamp of the first record, ms.
        tail_time: that of the first record after the last one with keys; None if there is none.
        units: number of units in each bucket.
    """

    records: int
    keys: int
    first_time: int
    tail_time: int | None
    units: tuple[int, ...]


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
    size = file.size()
    gaps: list[Finding] = []

    def note(gap: Gap) -> None:
        tail = last and gap.end >= file.base_offset + size
        gaps.append(gap_finding(file, size, gap, tail=tail, live=False))

    topics = TopicNames()
    batches: list[Batch] = []
    with _Columns(directory, {**KEYS, **RECORDS}) as columns, _Buckets(directory, file, buckets) as dealt:
        for batch in _batches(read_requests(file, topics, note)):
            chosen = _chosen(batch.dispatched)
            times, counts = batch.store_timestamp[chosen], batch.key_count[chosen]
            if not times.size:
                continue
            with_keys = np.flatnonzero(counts)
            later = times[int(with_keys[-1]) + 1 :] if with_keys.size else times
            tail = int(later[0]) if later.size else None
            columns.add("key_hash", batch.key_hash)
            columns.add("phy_offset", batch.phy_offset[chosen])
            columns.add("store_timestamp", times)
            columns.add("key_count", counts)
            units = dealt.add(_units_of(file, batch, topics, light=light), topics)
            batches.append(Batch(times.size, batch.key_hash.size, int(times[0]), tail, units))
    (directory / "topics.json").write_text(json.dumps(topics.names), "utf-8")
    unsafe = tuple(sorted(dealt.unsafe.values(), key=lambda found: found.offset))
    return Dispatched(tuple(batches), tuple(gaps), unsafe)


def _chosen(mask: NDArray[np.bool_]) -> slice | NDArray[np.int64]:
    """The rows of a mask as an index; nearly always all of them."""
    return slice(None) if mask.all() else np.flatnonzero(mask)


def _batches(requests: Iterable[Requests]) -> Iterator[Requests]:
    """Batches of a suitable size: those of a large log stay in the processor's cache, those around damage are joined."""
    held: list[Requests] = []
    count = 0
    for large in requests:
        bounds = np.concatenate([[0], np.cumsum(large.key_count)])
        for start in range(0, large.phy_offset.size, _AT_ONCE):
            batch = large.part(start, min(start + _AT_ONCE, large.phy_offset.size), bounds)
            held.append(batch)
            count += batch.phy_offset.size
            if count >= _AT_ONCE:
                yield Requests.joined(held)
                held, count = [], 0
    if held:
        yield Requests.joined(held)


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


def _units_of(file: StoreFile, batch: Requests, topics: TopicNames, *, light: bool) -> NDArray[np.void]:
    """Units of a batch in the order of their puts: each record's own, then its copies'."""
    chosen = _chosen(batch.queued)
    offsets = batch.phy_offset[chosen]
    own = np.zeros(offsets.size, UNIT)
    own["phy_offset"] = offsets
    own["logical_offset"] = batch.queue_offset[chosen]
    for name in ("topic", "queue_id", "size", "tags_code", "store_timestamp"):
        own[name] = getattr(batch, name)[chosen]
    places, copied = [], []
    for place, copies in batch_copies(file, batch, light=light):
        number = int(np.searchsorted(offsets, batch.phy_offset[place]))
        record = own[number]
        for topic, queue_id, logical in copies:
            places.append(number + 1)
            copied.append(
                (
                    record["phy_offset"],
                    record["tags_code"],
                    logical,
                    0,
                    topics.number(topic),
                    queue_id,
                    record["size"],
                    True,
                )
            )
    return np.insert(own, places, np.array(copied, UNIT)) if copied else own


def reordered(units: NDArray[np.void], order: NDArray[np.int64]) -> NDArray[np.void]:
    """Units in another order; NumPy copies rows of words faster than structures."""
    return units.view(np.int64).reshape(-1, UNIT.itemsize // 8).take(order, axis=0).view(UNIT)[:, 0]


def number_queues(units: NDArray[np.void]) -> tuple[NDArray[Any], list[tuple[int, int]]]:
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
        numbers, queues = number_queues(units)
        bucket_of = np.array([self._bucket(topics.names[topic], queue) for topic, queue in queues], np.uint16)
        buckets = bucket_of[numbers]
        left_out = buckets == self._buckets
        for unit in units[left_out][np.unique(numbers[left_out], return_index=True)[1]]:
            topic, queue_id = topics.names[unit["topic"]], int(unit["queue_id"])
            place = int(unit["phy_offset"]) - self._log.base_offset
            self.unsafe.setdefault((topic, queue_id), UnsafeQueue(topic, queue_id, self._log.name, place))
        if self._buckets > 1 or left_out.any():
            units = reordered(units, np.argsort(buckets, kind="stable"))
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
