"""A rebuild in steps that need not run in one process: log file by log file, then index file by index file and queues.

What the steps leave together is what `rebuild` writes, byte for byte. First each log file is dispatched on its own, to
columns on disk (`dispatch_log`). How many keys each file holds then tells where index files begin and end, since a
file takes exactly one key less than its geometry says (`plan_indexes`); each is built from its keys alone, seeded
with the key before them (`write_index`). Consume queues are dealt out to buckets by their name, and each bucket's
queues are written from the units that every log file has for it, in the order of the log (`write_queues`).
"""

from __future__ import annotations

import json
import shutil
from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from zlib import crc32

import numpy as np
from rocket_spec.errors import UsageError
from rocket_spec.layout import QUEUE_UNIT, Geometry

from rocket_columnar._audit_dispatch import COMMIT, NOT, Requests, TopicNames, requests
from rocket_columnar._audit_ext import ExtUnits
from rocket_columnar._audit_finding import Finding, finding
from rocket_columnar._audit_index_read import read_headers
from rocket_columnar._audit_lmq import Copies, may_hold_copies
from rocket_columnar._audit_log import gap_finding
from rocket_columnar._audit_names import is_safe
from rocket_columnar._put_many import plain
from rocket_columnar._rebuild_ext import Addresses
from rocket_columnar._rebuild_index import IndexWriter, zone_of
from rocket_columnar._rebuild_queue import QueueWriter, Units
from rocket_columnar.index_file import IndexFile
from rocket_columnar.rebuild import _geometry, _queue_size
from rocket_columnar.store import find_files

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from rocket_columnar.decode import Gap
    from rocket_columnar.store import StoreFile

__all__ = [
    "Dispatched",
    "IndexPlan",
    "RebuildPlan",
    "dispatch_log",
    "name_indexes",
    "plan_indexes",
    "plan_rebuild",
    "write_index",
    "write_queues",
]

_LMQ: Final = "%LMQ%"
_BUCKET_BYTES: Final = 256 << 20
_MOST_BUCKETS: Final = 256
_AT_ONCE: Final = 1 << 20

_UNIT: Final = np.dtype(
    [
        ("topic", "<i4"),
        ("queue_id", "<i4"),
        ("phy_offset", "<i8"),
        ("size", "<i4"),
        ("tags_code", "<i8"),
        ("logical_offset", "<i8"),
        ("store_timestamp", "<i8"),
        ("is_copy", "?"),
    ]
)
_KEYS: Final = {"key_hash": "<i4", "key_offset": "<i8", "key_time": "<i8"}
_RECORDS: Final = {"record_offset": "<i8", "record_time": "<i8"}


@dataclass(frozen=True, slots=True)
class RebuildPlan:
    """What a rebuild of one store will do.

    Attributes:
        files: of the store.
        logs: those that are dispatched.
        geometry: of the index files to write.
        queue_file_size: of the consume-queue files to write, bytes.
        buckets: among how many the queues are dealt out.
    """

    files: tuple[StoreFile, ...]
    logs: tuple[StoreFile, ...]
    geometry: Geometry
    queue_file_size: int
    buckets: int


@dataclass(frozen=True, slots=True)
class Dispatched:
    """What dispatching one log file gave, beside the columns on disk.

    Attributes:
        records: how many were dispatched.
        keys: how many entries they get in the index.
        first_time: store timestamp of the first record, ms; None without records.
        tail_time: that of the first record behind the last one with keys; None where none is.
        bucket_units: how many units each bucket gets.
        findings: gaps, and topics that no directory can have.
    """

    records: int
    keys: int
    first_time: int | None
    tail_time: int | None
    bucket_units: tuple[int, ...]
    findings: tuple[Finding, ...]


class IndexPlan(NamedTuple):
    """One index file: keys `begin` up to `end` of all keys of the log."""

    begin: int
    end: int


def plan_rebuild(
    store: Path | str, geometry: Geometry | None = None, queue_file_size: int | None = None
) -> RebuildPlan:
    """Looks at a store, as `rebuild` does; arguments and errors as there."""
    files = tuple(find_files(store))
    logs = tuple(file for file in files if file.kind == "log")
    if not logs:
        raise UsageError(f"{store}: holds no commit log to rebuild from")
    if queue_file_size is not None and queue_file_size < 1:
        raise UsageError(f"a consume-queue file of {queue_file_size:,} bytes")
    shape = _geometry(files, geometry)
    if not plain(shape) or shape.index_num < 2 or shape.hash_slot_num < 1:
        raise UsageError(
            f"geometry {shape.hash_slot_num},{shape.index_num}: such an index file holds nothing"
        )
    size = queue_file_size or _queue_size(files)
    size = -(-size // QUEUE_UNIT.size) * QUEUE_UNIT.size
    held = sum(file.path.stat().st_size for file in logs)
    buckets = min(-(-held // _BUCKET_BYTES) or 1, _MOST_BUCKETS)
    return RebuildPlan(files, logs, shape, size, buckets)


def dispatch_log(file: StoreFile, directory: Path, *, last: bool, buckets: int) -> Dispatched:
    """Dispatches one log file into `directory`, which is made.

    Args:
        file: of the log.
        directory: gets columns of keys, records and units.
        last: whether no other file follows: a gap at its end is then a torn write.
        buckets: as `plan_rebuild` says.

    Raises:
        OSError: reading or writing fails.
    """
    directory.mkdir()
    size = file.path.stat().st_size
    findings: list[Finding] = []

    def note(gap: Gap) -> None:
        tail = last and gap.end >= file.base_offset + size
        findings.append(gap_finding(file, size, gap, tail=tail, live=False))

    topics = TopicNames()
    copies = Copies([file]) if may_hold_copies([file]) else None
    units: list[NDArray[np.void]] = []
    records = keys = 0
    first_time: int | None = None
    tail_time: int | None = None
    with _Columns(directory, {**_KEYS, **_RECORDS}) as columns:
        for batch in requests(file, topics, note):
            chosen = np.flatnonzero(batch.dispatched)
            if not chosen.size:
                continue
            times = batch.store_timestamp[chosen]
            if first_time is None:
                first_time = int(times[0])
            owner = np.repeat(np.arange(batch.phy_offset.size), batch.key_count)
            later = chosen[chosen > owner[-1]] if owner.size else chosen
            if owner.size or tail_time is None:
                tail_time = int(batch.store_timestamp[later[0]]) if later.size else None
            records += chosen.size
            keys += owner.size
            columns.add("key_hash", batch.key_hash)
            columns.add("key_offset", batch.phy_offset[owner])
            columns.add("key_time", batch.store_timestamp[owner])
            columns.add("record_offset", batch.phy_offset[chosen])
            columns.add("record_time", times)
            units += _units_of(batch, topics, copies)
    counts = _write_units(directory, units, topics, buckets, file, findings)
    return Dispatched(records, keys, first_time, tail_time, counts, tuple(findings))


class _Columns:
    """Arrays that grow on disk."""

    def __init__(self, directory: Path, names: dict[str, str]) -> None:
        self._types = names
        self._files = {name: (directory / name).open("wb") for name in names}

    def __enter__(self) -> _Columns:  # noqa: PYI034 - one class, no heirs
        return self

    def __exit__(self, *_: object) -> None:
        for file in self._files.values():
            file.close()

    def add(self, name: str, values: NDArray[Any]) -> None:
        self._files[name].write(np.ascontiguousarray(values, self._types[name]).data)


def _units_of(batch: Requests, topics: TopicNames, copies: Copies | None) -> Iterator[NDArray[np.void]]:
    """Units of a batch in the order of their puts: of each record its own, then its copies'."""
    kinds = batch.transaction
    chosen = np.flatnonzero(((kinds == NOT) | (kinds == COMMIT)) & batch.dispatched)
    own = np.zeros(chosen.size, _UNIT)
    for name in ("topic", "queue_id", "phy_offset", "size", "tags_code", "store_timestamp"):
        own[name] = getattr(batch, name)[chosen]
    own["logical_offset"] = batch.queue_offset[chosen]
    if copies is None:
        yield own
        return
    done = 0
    for number, place in enumerate(chosen.tolist()):
        for name, logical in copies.of(int(batch.phy_offset[place])):
            yield own[done : number + 1]
            done = number + 1
            copy = own[number : number + 1].copy()
            copy["topic"], copy["logical_offset"], copy["is_copy"] = topics.number(name), logical, True
            if name.startswith(_LMQ):
                copy["queue_id"] = 0
            yield copy
    yield own[done:]


def _write_units(
    directory: Path,
    units: list[NDArray[np.void]],
    topics: TopicNames,
    buckets: int,
    file: StoreFile,
    findings: list[Finding],
) -> tuple[int, ...]:
    """Writes the units bucket by bucket, in each queue by queue in the order of their puts; how many each got."""
    every = np.concatenate([np.zeros(0, _UNIT), *units])
    queues, first, queue = np.unique(every[["topic", "queue_id"]], return_index=True, return_inverse=True)
    named = [(topics.names[topic], int(queue_id)) for topic, queue_id in queues.tolist()]
    safe = np.array([is_safe(topic) for topic, _ in named], np.bool_)
    for number in sorted(np.flatnonzero(~safe).tolist(), key=lambda number: int(first[number])):
        at = int(every["phy_offset"][first[number]]) - file.base_offset
        findings.append(finding("store.unsafe_name", file.name, at, unsafe_text(named[number][0])))
    bucket_of = np.array([_bucket(topic, number, buckets) for topic, number in named], np.int64)
    kept = np.flatnonzero(safe[queue])
    bucket = bucket_of[queue[kept]]
    order = kept[np.lexsort((kept, queue[kept], bucket))]
    with (directory / "units").open("wb") as opened:
        for start in range(0, order.size, _AT_ONCE):
            opened.write(every[order[start : start + _AT_ONCE]].data)
    (directory / "topics.json").write_text(json.dumps(topics.names), "utf-8")
    return tuple(np.bincount(bucket, minlength=buckets).tolist())


def unsafe_text(topic: str) -> str:
    """What is said of a topic that cannot be a directory."""
    return f"the topic {topic!r} of this record cannot be the name of a directory; its queue is left out"


def _bucket(topic: str, queue_id: int, buckets: int) -> int:
    return crc32(f"{topic}/{queue_id}".encode("utf-8", "surrogatepass")) % buckets


def plan_indexes(dispatched: Sequence[Dispatched], geometry: Geometry) -> list[IndexPlan]:
    """The index files of a log, first to last.

    The first is made by the first record; a further one by any record that finds the file before full, with keys or
    without (IDX-SVC-3).
    """
    if not any(part.records for part in dispatched):
        return []
    total, room = sum(part.keys for part in dispatched), geometry.index_num - 1
    plans = [IndexPlan(begin, min(begin + room, total)) for begin in range(0, total, room)]
    if not plans:
        return [IndexPlan(0, 0)]
    if total % room == 0 and _behind(dispatched, total) is not None:
        plans.append(IndexPlan(total, total))
    return plans


def _behind(dispatched: Sequence[Dispatched], key: int) -> int | None:
    """Store timestamp of the first record behind key `key - 1`, the last one of its log file; None without."""
    ends = list(accumulate(part.keys for part in dispatched))
    number = bisect_right(ends, key - 1) if key else -1
    times = [dispatched[number].tail_time] if key else []
    times += (part.first_time for part in dispatched[number + 1 :])
    return next((time for time in times if time is not None), None)


def write_index(
    plan: IndexPlan,
    path: Path,
    parts: Sequence[tuple[Path, int]],
    geometry: Geometry,
) -> int | None:
    """Writes one index file from the columns of the log files.

    Args:
        plan: the file.
        path: where it goes; any name that is a number.
        parts: of each log file, in order, the directory that `dispatch_log` wrote, and its number of keys.
        geometry: of the file.

    Returns:
        Store timestamp of the record that made the file necessary, where the log file of the key before tells.

    Raises:
        OSError: reading or writing fails.
    """
    seed_offset = seed_time = 0
    cause: int | None = None
    if plan.begin:
        ((directory, at, _),) = _spans(parts, plan.begin - 1, plan.begin)
        seed_offset = int(_column(directory, "key_offset", at, 1)[0])
        seed_time = int(_column(directory, "key_time", at, 1)[0])
        cause = _cause(directory, at, seed_offset)
    with IndexFile(path, *geometry, end_phy_offset=seed_offset, end_timestamp=seed_time) as file:
        for directory, first, count in _spans(parts, plan.begin, plan.end):
            for start in range(first, first + count, _AT_ONCE):
                number = min(_AT_ONCE, first + count - start)
                file.put_many(*(_column(directory, name, start, number) for name in _KEYS))
    return cause


def _cause(directory: Path, at: int, offset: int) -> int | None:
    """Time of the record that comes to the next key's place: the one that has the key before, too, or the next."""
    if _column(directory, "key_offset", at + 1, 1).tolist() == [offset]:
        return int(_column(directory, "key_time", at + 1, 1)[0])
    offsets = np.memmap(directory / "record_offset", _RECORDS["record_offset"], "r")
    behind = int(np.searchsorted(offsets, offset, "right"))
    found = _column(directory, "record_time", behind, 1).tolist()
    return found[0] if found else None


def _column(directory: Path, name: str, first: int, count: int) -> NDArray[Any]:
    dtype = np.dtype({**_KEYS, **_RECORDS}[name])
    return np.fromfile(directory / name, dtype, count, offset=first * dtype.itemsize)


def _spans(parts: Sequence[tuple[Path, int]], begin: int, end: int) -> Iterator[tuple[Path, int, int]]:
    """Where the keys `begin` up to `end` lie: directory, first and count."""
    base = 0
    for directory, keys in parts:
        first, stop = max(begin, base), min(end, base + keys)
        if first < stop:
            yield directory, first - base, stop - first
        base += keys


def name_indexes(
    files: Sequence[StoreFile],
    geometry: Geometry,
    dispatched: Sequence[Dispatched],
    plans: Sequence[IndexPlan],
    causes: Sequence[int | None],
) -> list[str]:
    """The files' names, as `rebuild` gives them, from what `write_index` gave."""
    headers = read_headers(file for file in files if file.kind == "index")
    writer = IndexWriter(Path(), geometry, zone_of(headers))
    names = []
    for plan, cause in zip(plans, causes, strict=True):
        time = _behind(dispatched, plan.begin) if cause is None else cause
        names.append(writer.name(time or 0))
    return names


def write_queues(
    directory: Path,
    parts: Sequence[tuple[Path, int, int]],
    files: Sequence[StoreFile],
    queue_file_size: int,
) -> list[str]:
    """Writes the queues of one bucket, and copies their ext files.

    Args:
        directory: gets `consumequeue/` and `consumequeue_ext/`; made.
        parts: of each log file, in order, the directory that `dispatch_log` wrote, the number of units that it has for
            the buckets before, and for this one.
        files: the store's.
        queue_file_size: bytes.

    Returns:
        The queues' directories, relative to `directory`.

    Raises:
        OSError: reading or writing fails.
    """
    directory.mkdir()
    ext = ExtUnits(files)
    writers: dict[tuple[str, int], tuple[QueueWriter, Addresses]] = {}
    for part, before, count in parts:
        if not count:
            continue
        names = json.loads((part / "topics.json").read_text("utf-8"))
        units = np.fromfile(part / "units", _UNIT, count, offset=before * _UNIT.itemsize)
        changes = [np.diff(units[name]) != 0 for name in ("topic", "queue_id", "is_copy")]
        for run in np.split(units, np.flatnonzero(np.logical_or.reduce(changes)) + 1):
            key = names[run["topic"][0]], int(run["queue_id"][0])
            if key not in writers:
                path = directory / "consumequeue" / key[0] / str(key[1])
                writers[key] = QueueWriter(path, queue_file_size), Addresses(ext, *key)
            writer, addresses = writers[key]
            tags = run["tags_code"].astype(np.int64)
            if not run["is_copy"][0]:
                tags = addresses.take(tags, run["store_timestamp"])
            writer.put(
                Units(
                    run["phy_offset"].astype(np.int64),
                    run["size"].astype(np.int32),
                    tags,
                    run["logical_offset"].astype(np.int64),
                )
            )
    made = [f"consumequeue/{topic}/{number}" for topic, number in writers]
    return [place for place in made if (directory / place).exists()] + _copy_ext(
        files, writers.keys(), directory
    )


def _copy_ext(files: Sequence[StoreFile], queues: Any, directory: Path) -> list[str]:
    places: dict[str, None] = {}
    for file in files:
        if file.kind == "ext" and (file.topic or "", file.queue_id or 0) in queues:
            place = f"consumequeue_ext/{file.topic}/{file.queue_id}"
            (directory / place).mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file.path, directory / place / file.path.name)
            places[place] = None
    return list(places)
