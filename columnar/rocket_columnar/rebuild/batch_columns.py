"""The entries and units that a batch of dispatch requests adds to index and consume queues, as columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rocket_columnar.log import Requests, TopicNames, batch_copies
from rocket_columnar.store import StoreFile

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

KEYS: Final = {"key_hash": "<i4"}
"""Columns with a row for each key."""

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
