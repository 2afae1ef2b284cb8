"""Compares two stores that hold the same messages, as master and slave do: which is behind, and where they first differ."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
from rocket_spec.errors import UsageError
from rocket_spec.layout import QUEUE_UNIT

from rocket_columnar.decode import decode
from rocket_columnar.describe.overview import Overview, QueueView, look_at
from rocket_columnar.facts import Store, as_store
from rocket_columnar.store import StoreFile, by_queue, is_gone

_Files = dict[tuple[str, int], list[StoreFile]]

_LOG: Final = ("", -1)
"""Stands for the log beside the queues."""

_BYTES_AT_ONCE: Final = 1 << 22


@dataclass(frozen=True, slots=True)
class StoreDifference:
    """One thing in which two stores differ.

    Attributes:
        part: "log", "index", or the queue: "TOPIC/NUMBER".
        what: "behind": its end is missing in one store; "begins later": its beginning is; "missing": all of it is;
            "content": bytes that both have differ.
        store: 1 or 2: the store that lacks something; None for "content".
        count: number of records of the log, entries of the index or units of the queue that it lacks; None for "content".
        offset: where the lacking part begins in the other store, or the first byte that differs: a physical offset; of a
            queue a logical one.
        record: physical offset of the record in which the logs first differ; None otherwise, or between records.
    """

    part: str
    what: str
    store: int | None
    count: int | None
    offset: int
    record: int | None = None


def compare_stores(
    first: Store | Path, second: Store | Path, *, on_progress: Callable[[int, int], None] | None = None
) -> Iterator[StoreDifference]:
    """Differences between the logs, the indexes and the queues of two stores; what only one still has is no first difference.

    Args:
        first: a store, or its directory.
        second: another.
        on_progress: called with the bytes of both logs that were compared, and those of all.

    Raises:
        UsageError: a store has no commit log.
        OSError: a file cannot be read.
    """
    stores = tuple(map(as_store, (first, second)))
    views = tuple(map(look_at, stores))
    files = tuple(map(_by_part, stores))
    for store, view in zip(stores, views, strict=True):
        if view.log is None:
            raise UsageError(f"{store.name}: contains no commit log")
    yield from _logs(views, files, on_progress)
    entries = [sum(index.entries for index in view.indexes) for view in views]
    ends = [
        max((index.end_phy_offset for index in view.indexes if index.entries), default=0) for view in views
    ]
    if ends[0] != ends[1]:
        late = int(ends[1] < ends[0])
        yield StoreDifference(
            "index", "behind", 1 + late, max(entries[1 - late] - entries[late], 0), ends[late]
        )
    queues = [{(queue.topic, queue.queue_id): queue for queue in view.queues} for view in views]
    for name in sorted({*queues[0], *queues[1]}):
        yield from _queue(name, [side.get(name) for side in queues], files)


def _by_part(store: Store) -> _Files:
    """The files of the log and of each queue; none of a queue that is deleted after the look at the store."""
    there = by_queue(file for file in store.queues if not is_gone(file))
    return defaultdict(list, {**there, _LOG: list(store.of("log"))})


def _logs(
    views: tuple[Overview, ...], files: tuple[_Files, ...], on_progress: Callable[[int, int], None] | None
) -> Iterator[StoreDifference]:
    logs = [view.log for view in views if view.log is not None]
    begins, ends = [log.begin for log in logs], [log.end for log in logs]
    for what, late, part in (
        ("begins later", int(begins[1] > begins[0]), (min(begins), min(max(begins), max(ends)))),
        ("behind", int(ends[1] < ends[0]), (max(min(ends), min(begins)), max(ends))),
    ):
        if part[0] < part[1]:
            rows = _records(files[1 - late][_LOG], *part)
            count = sum(part[0] <= row["phy_offset"] < part[1] for row in rows)
            yield StoreDifference("log", what, 1 + late, count, part[0])
    pair = files[0][_LOG], files[1][_LOG]
    at = _first_difference(pair, max(begins), min(ends), on_progress)
    if at is not None:
        rows = _records(pair[0], at, at + 1)
        held = (row["phy_offset"] for row in rows if 0 <= at - row["phy_offset"] < row["size"])
        yield StoreDifference("log", "content", None, None, at, next(held, None))


def _records(files: Sequence[StoreFile], begin: int, end: int) -> Iterator[dict[str, Any]]:
    """Place and size of the records in the files that hold a range."""
    chosen = [file for file in files if file.base_offset < end and file.base_offset + file.size() > begin]
    if not chosen:
        return iter(())
    batches = decode(chosen, tables=["commit_log"], columns=["phy_offset", "size"], on_gap=lambda _: None)
    return chain.from_iterable(batch.to_pylist() for _, batch in batches)


def _queue(
    name: tuple[str, int], pair: Sequence[QueueView | None], files: tuple[_Files, ...]
) -> Iterator[StoreDifference]:
    shown = f"{name[0]}/{name[1]}"
    first, second = pair
    if first is None or second is None:
        there = first or second
        assert there is not None  # noqa: S101 - one store has it
        yield StoreDifference(shown, "missing", 1 + (second is None), there.messages, there.min_offset)
        return
    ends = first.max_offset, second.max_offset
    if ends[0] != ends[1]:
        yield StoreDifference(shown, "behind", 1 + (ends[1] < ends[0]), abs(ends[0] - ends[1]), min(ends))
    begin, end = max(first.min_offset, second.min_offset), min(ends)
    at = _first_difference((files[0][name], files[1][name]), begin * QUEUE_UNIT.size, end * QUEUE_UNIT.size)
    if at is not None:
        yield StoreDifference(shown, "content", None, None, at // QUEUE_UNIT.size)


def _first_difference(
    pair: tuple[Sequence[StoreFile], Sequence[StoreFile]],
    begin: int,
    end: int,
    on_progress: Callable[[int, int], None] | None = None,
) -> int | None:
    """The first place in [begin, end) at which the bytes of two sequences of files differ, or only one has any."""
    spans = [[(file.base_offset, file.base_offset + file.size(), file) for file in files] for files in pair]
    ends = chain.from_iterable(span[:2] for span in chain(*spans))
    cuts = sorted({begin, end, *(cut for cut in ends if begin < cut < end)}) if begin < end else []
    for start, stop in pairwise(cuts):
        held = [next((file for low, high, file in side if low <= start < high), None) for side in spans]
        if held[0] is None or held[1] is None:
            if held[0] is not held[1]:
                return start
            continue
        with held[0].open() as one, held[1].open() as other:
            for position in range(start, stop, _BYTES_AT_ONCE):
                length = min(_BYTES_AT_ONCE, stop - position)
                first = one.read(position - held[0].base_offset, length)
                second = other.read(position - held[1].base_offset, length)
                places = np.flatnonzero(first != second)
                if places.size:
                    return position + int(places[0])
                if on_progress is not None:
                    on_progress(position - begin, end - begin)
    return None
