"""One log file dispatched to columns on disk: what each of its records asks of index and queues.

The columns of keys and records lie side by side, in the order of the log; the units bucket by bucket, and in each
queue by queue in the order of their puts.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from zlib import crc32

import numpy as np

from rocket_columnar.findings import Finding, finding, gap_finding
from rocket_columnar.log import Requests, TopicNames, batch_copies, read_requests
from rocket_columnar.rebuild.queue_writer import Units
from rocket_columnar.store import is_safe

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from rocket_columnar.log import Gap
    from rocket_columnar.rebuild.ext_addresses import Addresses
    from rocket_columnar.rebuild.queue_writer import QueueWriter
    from rocket_columnar.store import StoreFile

__all__ = ["KEYS", "RECORDS", "UNIT", "Dispatched", "dispatch_log", "put_run", "queue_runs", "units_of"]

_AT_ONCE: Final = 1 << 20

UNIT: Final = np.dtype(
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
KEYS: Final = {"key_hash": "<i4", "key_offset": "<i8", "key_time": "<i8"}
RECORDS: Final = {"record_offset": "<i8", "record_time": "<i8"}


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


def dispatch_log(
    file: StoreFile, directory: Path, *, last: bool, buckets: int, light: bool = True
) -> Dispatched:
    """Dispatches one log file into `directory`, which is made.

    Args:
        file: of the log.
        directory: gets columns of keys, records and units.
        last: whether no other file follows: a gap at its end is then a torn write.
        buckets: as `plan_rebuild` says.
        light: whether light queues have the number 0, as `plan_rebuild` says.

    Raises:
        OSError: reading or writing fails.
    """
    directory.mkdir()
    size = file.size()
    findings: list[Finding] = []

    def note(gap: Gap) -> None:
        tail = last and gap.end >= file.base_offset + size
        findings.append(gap_finding(file, size, gap, tail=tail, live=False))

    topics = TopicNames()
    units: list[NDArray[np.void]] = []
    records = keys = 0
    first_time: int | None = None
    tail_time: int | None = None
    with _Columns(directory, {**KEYS, **RECORDS}) as columns:
        for batch in read_requests(file, topics, note):
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
            units.append(units_of(file, batch, topics, light=light))
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


def units_of(file: StoreFile, batch: Requests, topics: TopicNames, *, light: bool) -> NDArray[np.void]:
    """Units of a batch in the order of their puts: of each record its own, then its copies'."""
    chosen = np.flatnonzero(batch.queued)
    own = np.zeros(chosen.size, UNIT)
    for name in ("topic", "queue_id", "phy_offset", "size", "tags_code", "store_timestamp"):
        own[name] = getattr(batch, name)[chosen]
    own["logical_offset"] = batch.queue_offset[chosen]
    behind, copied = [], []
    for place, copies in batch_copies(file, batch, light=light):
        number = int(np.searchsorted(chosen, place))
        for topic, queue_id, logical in copies:
            behind.append(number + 1)
            copied.append((topics.number(topic), queue_id, *own[number].item()[2:5], logical, 0, True))
    return np.insert(own, behind, np.array(copied, UNIT)) if copied else own


def queue_runs(units: NDArray[np.void]) -> list[NDArray[np.void]]:
    """Units that lie queue by queue, cut where the queue changes, and where copies begin and end."""
    changes = [np.diff(units[name]) != 0 for name in ("topic", "queue_id", "is_copy")]
    return np.split(units, np.flatnonzero(np.logical_or.reduce(changes)) + 1) if units.size else []


def put_run(run: NDArray[np.void], writer: QueueWriter, addresses: Addresses) -> None:
    """Puts a run of `queue_runs` into its queue; copies never get an ext address."""
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


def _write_units(
    directory: Path,
    units: list[NDArray[np.void]],
    topics: TopicNames,
    buckets: int,
    file: StoreFile,
    findings: list[Finding],
) -> tuple[int, ...]:
    """Writes the units bucket by bucket, in each queue by queue in the order of their puts; how many each got."""
    every = np.concatenate([np.zeros(0, UNIT), *units])
    codes = every["topic"].astype(np.int64) << 32 | every["queue_id"].astype(np.int64) & 0xFFFFFFFF
    queues = np.unique(codes)
    queue = np.searchsorted(queues, codes)
    named = [
        (topics.names[code >> 32], (code & 0xFFFFFFFF ^ 1 << 31) - (1 << 31)) for code in queues.tolist()
    ]
    safe = np.array([is_safe(topic) for topic, _ in named], np.bool_)
    first = {number: int(np.argmax(queue == number)) for number in np.flatnonzero(~safe).tolist()}
    for number in sorted(first, key=first.__getitem__):
        at = int(every["phy_offset"][first[number]]) - file.base_offset
        findings.append(finding("store.unsafe_name", file.name, at, _unsafe_text(named[number][0])))
    bucket_of = np.array([_bucket(topic, number, buckets) for topic, number in named], np.int64)
    place = np.empty(len(named), np.min_scalar_type(len(named)))  # small numbers are sorted digit by digit
    place[np.argsort(bucket_of, kind="stable")] = np.arange(len(named))
    kept = np.flatnonzero(safe[queue])
    bucket = bucket_of[queue[kept]]
    order = kept[np.argsort(place[queue[kept]], kind="stable")]
    with (directory / "units").open("wb") as opened:
        for start in range(0, order.size, _AT_ONCE):
            opened.write(every[order[start : start + _AT_ONCE]].data)
    (directory / "topics.json").write_text(json.dumps(topics.names), "utf-8")
    return tuple(np.bincount(bucket, minlength=buckets).tolist())


def _unsafe_text(topic: str) -> str:
    """What is said of a topic that cannot be a directory."""
    return f"the topic {topic!r} of this record cannot be the name of a directory; its queue is left out"


def _bucket(topic: str, queue_id: int, buckets: int) -> int:
    return crc32(f"{topic}/{queue_id}".encode("utf-8", "surrogatepass")) % buckets
