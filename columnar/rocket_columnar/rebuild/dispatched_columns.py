"""Dispatches one log file to columns on disk: what each record adds to index and queues.

The columns of keys and records are in the order of the log. Units are in the order of their puts, sorted by bucket in
each batch.
"""

from __future__ import annotations

import json
from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple, Self
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from rocket_spec.layout import DEFAULT_GEOMETRY, RECORD_FIXED_V4, Geometry

from rocket_columnar.facts import is_deleted
from rocket_columnar.findings import Finding, finding, gap_findings
from rocket_columnar.index import hashes_at
from rocket_columnar.log import (
    FileLives,
    Gap,
    KeyRules,
    Life,
    Lives,
    Requests,
    TopicNames,
    batch_copies,
    read_requests,
)
from rocket_columnar.store import StoreFile, WorkDone, is_safe, read_at


class BrokerRules(NamedTuple):
    """Rules that depend on a broker's configuration and release."""

    light: bool  # whether light queues have the number 0 (`enableLmq`)
    keys: KeyRules  # what is read in the properties
    # topics of batch queues, which are not rebuilt: beside them a broker of 5.x takes no other queue (BCQ-2)
    batched: frozenset[str] = frozenset()
    # the topics that a broker knows or has queues of; any other one was deleted, and is not rebuilt. None for all
    kept: frozenset[str] | None = None
    indexes: tuple[StoreFile, ...] = ()  # the store's own index files that have the usual length
    geometry: Geometry = DEFAULT_GEOMETRY  # of these

    def writes(self, topic: str) -> bool:
        """Whether the queues of a topic are rebuilt."""
        return topic not in self.batched and not is_deleted(topic, self.kept)


# Gaps between the records of a commit log: as findings, and as the holes in which records are lost.


_BLANK: Final = 8  # bytes at the start of the blank record that ends a file

_FILES: Final = 64  # log files that one hole stands for, at most: names can claim any distance


@dataclass(slots=True)
class Holes:
    """The ranges of a log whose records are lost."""

    most: int  # bytes of records in one range, at most
    ranges: list[tuple[int, int]] = field(default_factory=list)  # physical offsets where they begin and end
    records: int = 0  # the most that may have been in all ranges
    # physical offset where the log begins: records before it have expired, or their files are gone
    log_begin: int = 0
    lives: Lives = field(default_factory=Lives)  # of its queues; what precedes the last one is in no queue

    def add(self, begin: int, end: int) -> None:
        """Adds a range, unless it is empty."""
        if end > begin:
            insort(self.ranges, (begin, end))
            self.records += min(end - begin, self.most) // RECORD_FIXED_V4

    def add_records(self, phy_offset: NDArray[np.int64], size: NDArray[np.int32]) -> None:
        """Adds the ranges of records, neighbours as one."""
        ends = phy_offset + size
        is_first = np.append(True, phy_offset[1:] != ends[:-1])
        for begin, end in zip(
            phy_offset[is_first].tolist(), ends[np.roll(is_first, -1)].tolist(), strict=True
        ):
            self.add(begin, end)

    def cut(self, end: int) -> None:
        """Removes the ranges from `end` on."""
        kept = [pair for pair in self.ranges if pair[0] < end]
        self.ranges, self.records = [], 0
        for pair in kept:
            self.add(*pair)

    def between(self, begin: int, end: int) -> bool:
        """Whether a range begins between two physical offsets."""
        at = bisect_left(self.ranges, (begin, begin))
        return at < len(self.ranges) and self.ranges[at][0] < end

    def hold(self, phy_offset: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether records begin in a range, or before the log does."""
        begins, ends = np.array([(0, self.log_begin), *self.ranges], np.int64).T
        at = np.searchsorted(begins, phy_offset, "right") - 1
        held: NDArray[np.bool_] = (at >= 0) & (phy_offset < ends[at])
        return held


def missing_holes(logs: Sequence[StoreFile]) -> Holes:
    """The holes that missing files of a log make."""
    holes = Holes(_FILES * max(file.size() for file in logs), log_begin=logs[0].base_offset)
    for file, after in pairwise(logs):
        holes.add(file.base_offset + file.size(), after.base_offset)
    return holes


class Gaps:
    """The gaps of a log file between its records, and after them; `last` is whether no other file follows.

    Attributes:
        findings: on the ranges without records.
        holes: the ranges whose records are lost are added to these.
        end: physical offset up to which the file was read.
    """

    def __init__(self, file: StoreFile, holes: Holes, *, last: bool) -> None:
        self.findings: list[Finding] = []
        self._file = file
        self._last = last
        self._holes = holes
        self.end = file.base_offset
        self._records_end = self.end

    def add(self, gap: Gap) -> None:
        """Adds a range without records; at the end of the last file it is a torn write."""
        size = self._file.size()
        tail = self._last and gap.end >= self._file.base_offset + size
        self.findings += gap_findings(self._file, size, gap, tail=tail, live=False)
        self._holes.add(gap.begin, gap.end)
        self.end = max(self.end, gap.end)

    def pass_over(self, batch: Requests) -> None:
        """Notes where the records end so far."""
        if batch.phy_offset.size:
            self._records_end = int(batch.phy_offset[-1]) + int(batch.size[-1])
            self.end = max(self.end, self._records_end)

    def close(self) -> None:
        """Notes the file's end: zeros after the records of a file are a hole if another one follows; else a start ends the log there."""
        if self._last:
            self._holes.cut(self._records_end)
        head = read_at(self._file, self.end - self._file.base_offset, _BLANK)
        if not self._last and len(head) == _BLANK and not any(head):
            self._holes.add(self.end, self._file.base_offset + self._file.size())


# The entries and units that a batch of dispatch requests adds to index and consume queues, as columns.


COPIED_BYTES: Final = 4 << 20  # bytes of records that are copied to further queues
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

KEYS: Final = {"key_hash": "<i4"}  # columns with a row for each key

RECORDS: Final = {"phy_offset": "<i8", "store_timestamp": "<i8", "key_count": "<i4"}
"""Columns with a row for each record that is dispatched."""


class Units(NamedTuple):
    """Units of consume queues in the order of their puts, as columns; the fields of `UNIT`."""

    phy_offset: NDArray[np.int64]
    tags_code: NDArray[np.int64]
    logical_offset: NDArray[np.int64]
    store_timestamp: NDArray[np.int64]
    topic: NDArray[np.int32]
    queue_id: NDArray[np.int32]
    size: NDArray[np.int32]
    is_copy: NDArray[np.bool_]

    def rows(self) -> NDArray[np.void]:
        """The same as an array of `UNIT`."""
        rows = np.zeros(self.topic.size, UNIT)
        for name, column in self._asdict().items():
            rows[name] = column
        return rows

    @classmethod
    def of(cls, rows: NDArray[np.void]) -> Units:
        """The columns of an array of `UNIT`."""
        return cls(*(np.ascontiguousarray(rows[name]) for name in cls._fields))

    def taken(self, rows: slice | NDArray[np.int64]) -> Units:
        """Some of them, or in another order."""
        return Units._make(column[rows] for column in self)

    @classmethod
    def joined(cls, parts: Sequence[Units]) -> Units:
        """Units of several batches."""
        return parts[0] if len(parts) == 1 else cls(*map(np.concatenate, zip(*parts, strict=True)))


def by_queue(units: Units) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The order of the units sorted by queue, those of a queue as they were, and where each queue begins in it."""
    codes = units.topic.astype(np.int64) << 32 | units.queue_id.astype(np.int64) & 0xFFFFFFFF
    order = np.argsort(codes, kind="stable")
    changes = np.flatnonzero(np.diff(codes[order]))
    return order, np.append(0, changes + 1)


class Batch(NamedTuple):
    """Rows of the columns that were written together."""

    records: int  # number of records, at least one
    keys: int
    first_time: int  # store timestamp of the first record, ms
    tail_time: int | None  # that of the first record after the last one with keys; None if there is none
    units: tuple[int, ...]  # number of units in each bucket


class KeysAdded(NamedTuple):
    """The additions of a batch to the index: `KEYS` and `RECORDS`."""

    key_hash: NDArray[np.int32]
    phy_offset: NDArray[np.int64]
    store_timestamp: NDArray[np.int64]
    key_count: NDArray[np.int32]

    def summary(self, units: tuple[int, ...] = ()) -> Batch:
        """Numbers and times of the batch."""
        times, with_keys = self.store_timestamp, np.flatnonzero(self.key_count)
        later = times[int(with_keys[-1]) + 1 :] if with_keys.size else times
        tail = int(later[0]) if later.size else None
        return Batch(times.size, self.key_hash.size, int(times[0]), tail, units)


def keys_added(batch: Requests) -> KeysAdded | None:
    """The additions of a batch to the index; None if no record of it is dispatched."""
    chosen = _chosen(batch.dispatched)
    times = batch.store_timestamp[chosen]
    if not times.size:
        return None
    return KeysAdded(batch.key_hash, batch.phy_offset[chosen], times, batch.key_count[chosen])


def _chosen(mask: NDArray[np.bool_]) -> slice | NDArray[np.int64]:
    """The rows of a mask as an index; nearly always all of them."""
    return slice(None) if mask.all() else np.flatnonzero(mask)


def joined_batches(requests: Iterable[Requests], at_least: int) -> Iterator[Requests]:
    """Batches of `at_least` records, for those around damage are small; less at the end, and where records are copied."""
    held: list[Requests] = []
    count = 0
    for batch in requests:
        held.append(batch)
        count += batch.phy_offset.size
        if count >= at_least:
            yield from _few_copies(Requests.joined(held))
            held, count = [], 0
    if held:
        yield from _few_copies(Requests.joined(held))


def _few_copies(batch: Requests) -> Iterator[Requests]:
    """A batch in parts whose copied records have few bytes: every four of them may name a queue."""
    if not batch.copied.any():
        yield batch
        return
    held = np.cumsum(np.where(batch.copied, batch.size, 0), dtype=np.int64)
    cuts = (np.flatnonzero(np.diff(held // COPIED_BYTES)) + 1).tolist()
    if not cuts:
        yield batch
        return
    bounds = np.append(0, np.cumsum(batch.key_count))
    for start, stop in pairwise([0, *cuts, held.size]):
        yield batch.part(start, stop, bounds)


def units_added(file: StoreFile, batch: Requests, topics: TopicNames, *, light: bool) -> Units:
    """Units of a batch in the order of their puts: each record's own, then its copies'."""
    chosen = _chosen(batch.queued)
    offsets = batch.phy_offset[chosen]
    own = Units(
        offsets,
        batch.tags_code[chosen],
        batch.queue_offset[chosen],
        batch.store_timestamp[chosen],
        batch.topic[chosen],
        batch.queue_id[chosen],
        batch.size[chosen],
        np.zeros(offsets.size, np.bool_),
    )
    places: list[int] = []
    copied: list[tuple[int, int, int]] = []
    for place, copies in batch_copies(file, batch, light=light):
        number = int(np.searchsorted(offsets, batch.phy_offset[place]))
        places += [number] * len(copies)
        copied += ((topics.number(topic), queue_id, logical) for topic, queue_id, logical in copies)
    if not copied:
        return own
    topic, queue_id, logical = (np.array(column) for column in zip(*copied, strict=True))
    added = Units._make(column[places] for column in own)._replace(
        topic=topic,
        queue_id=queue_id,
        logical_offset=logical,
        store_timestamp=np.zeros(len(places), np.int64),
        is_copy=np.ones(len(places), np.bool_),
    )
    after = np.array(places) + 1
    pairs: Iterable[tuple[NDArray[Any], NDArray[Any]]] = zip(own, added, strict=True)
    return Units._make(np.insert(column, after, more) for column, more in pairs)


_RECORDS_AT_ONCE: Final = 1 << 16
_KEPT: Final = "keep the store's own files of this queue; copy them from a replica if they are damaged"


class LeftOut(NamedTuple):
    """A queue that is not written, and the physical offset of the record that shows why.

    `reason` is what that record states; None if the topic cannot be the name of a directory.
    """

    topic: str
    queue_id: int
    phy_offset: int
    reason: str | None


class KeyRange(NamedTuple):
    """Keys of one batch."""

    record: int  # row of the batch's first record
    records: int  # number of the batch's records
    key: int  # row of the batch's first key
    begin: int  # first key, counted from the batch's first
    end: int  # the key after the last one, counted likewise


@dataclass(frozen=True, slots=True)
class Dispatched:
    """The result of dispatching one log file, in addition to the columns on disk."""

    batches: tuple[Batch, ...]  # the rows of the columns
    gaps: tuple[Finding, ...]  # findings on the ranges without records
    holes: tuple[tuple[int, int], ...] = ()  # physical offsets of the ranges whose records are lost
    left_out: tuple[LeftOut, ...] = ()  # queues that are skipped
    lives: tuple[Life, ...] = ()  # the last ones of queues in the file
    # physical offset, first key and number of keys of the records with keys whose topics cannot be directories
    unsafe_keys: tuple[tuple[int, int, int], ...] = ()

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


def log_holes(
    logs: Sequence[StoreFile], parts: Sequence[Dispatched], files: Iterable[StoreFile] = ()
) -> Holes:
    """The holes of a log, missing files and those that were found in its files, and the last lives of its queues; `files` are the store's."""
    holes = missing_holes(logs)
    for part in parts:
        for begin, end in part.holes:
            holes.add(begin, end)
    holes.lives = Lives((part.lives for part in parts), files)
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


class UnsafeKeys:
    """Records with keys whose topics cannot be directories: damaged, so that nobody asks for their keys; `rows` as of `Dispatched.unsafe_keys`."""

    def __init__(self) -> None:
        self._unsafe: list[int] = []
        self._known = self._added = 0
        self.rows: list[tuple[int, int, int]] = []

    def add(self, batch: Requests, topics: TopicNames) -> None:
        """Takes down those of a batch, whose keys are added to the column."""
        new = topics.names[self._known :]
        self._unsafe += [number for number, name in enumerate(new, self._known) if not is_safe(name)]
        self._known += len(new)
        counts = batch.key_count
        if self._unsafe:
            rows = np.flatnonzero(np.isin(batch.topic, self._unsafe) & (counts > 0))
            begins = np.cumsum(counts, dtype=np.int64) - counts + self._added
            found = zip(
                *(column[rows].tolist() for column in (batch.phy_offset, begins, counts)), strict=True
            )
            self.rows.extend(found)
        self._added += batch.key_hash.size


def dispatch_log(
    file: StoreFile,
    directory: Path,
    *,
    last: bool,
    buckets: int,
    rules: BrokerRules,
    work: WorkDone | None = None,
) -> Dispatched:
    """Dispatches one log file into `directory`, which is created, for columns of keys, records and units.

    `last` is whether no other file follows: a gap at its end is then a torn write. `buckets` is as in `plan_rebuild`; `work` counts the bytes of
    the file. OSError if reading or writing fails.
    """
    directory.mkdir()
    holes = Holes(file.size())
    gaps = Gaps(file, holes, last=last)
    topics, lives = TopicNames(), FileLives()
    batches: list[Batch] = []
    counted, done = work or WorkDone(None), file.base_offset
    unsafe = UnsafeKeys()
    with (
        _Columns(directory, {**KEYS, **RECORDS}) as columns,
        _Buckets(directory, buckets, rules, holes) as dealt,
    ):
        for batch in joined_batches(read_requests(file, topics, gaps.add, keys=rules.keys), _RECORDS_AT_ONCE):
            gaps.pass_over(batch)
            lives.add(batch, topics)
            counted.add(gaps.end - done)
            done = gaps.end
            keys = keys_added(batch)
            if keys is None:
                continue
            unsafe.add(batch, topics)
            for name, values in keys._asdict().items():
                columns.add(name, values)
            units = dealt.add(units_added(file, batch, topics, light=rules.light), topics)
            batches.append(keys.summary(units))
    (directory / "topics.json").write_text(json.dumps(topics.names), "utf-8")
    counted.add(file.base_offset + file.size() - done)
    gaps.close()
    left_out = tuple(sorted(dealt.unsafe.values(), key=lambda found: found.phy_offset))
    return Dispatched(
        tuple(batches), tuple(gaps.findings), tuple(holes.ranges), left_out, lives.last, tuple(unsafe.rows)
    )


def keep_own_keys(folders: Sequence[Path], dispatched: Sequence[Dispatched], rules: BrokerRules) -> None:
    """Writes the keys of the store's own index, which is read once, over those of records whose topics cannot be directories.

    `folders` have the columns of each log file that was dispatched.
    """
    offsets = [row[0] for part in dispatched for row in part.unsafe_keys]
    own = hashes_at(rules.indexes, rules.geometry, offsets) if offsets else {}
    kind = np.dtype(KEYS["key_hash"])
    for folder, part in zip(folders, dispatched, strict=True):
        for phy_offset, begin, count in part.unsafe_keys:
            kept = np.array(own.get(phy_offset, ()), kind)
            if kept.size == count:
                with (folder / "key_hash").open("r+b") as file:
                    file.seek(begin * kind.itemsize)
                    file.write(kept.tobytes())


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
    """Units of a log file by bucket, batch by batch. Places of records whose topic cannot be a directory stay free, as those of lost ones."""

    def __init__(self, directory: Path, buckets: int, rules: BrokerRules, holes: Holes) -> None:
        self._rules, self._holes = rules, holes
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
        stops = [*begins[1:].tolist(), order.size]
        for first, stop, queue, bucket in zip(begins.tolist(), stops, queues, of_queue, strict=True):
            if bucket == self._buckets and self._rules.writes(queue[0]):
                rows = order[first:stop]
                self.unsafe.setdefault(queue, LeftOut(*queue, int(units.phy_offset[rows[0]]), None))
                self._holes.add_records(units.phy_offset[rows], units.size[rows])
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
