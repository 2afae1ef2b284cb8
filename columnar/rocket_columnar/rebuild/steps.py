"""A rebuild in steps that need not run in one process: log file by log file, then index file by index file and queues.

What the steps leave together is what `rebuild` writes, byte for byte. First each log file is dispatched on its own, to
columns on disk (`dispatch_log`). How many keys each file holds then tells where index files begin and end, since a
file takes exactly one key less than its geometry says (`plan_indexes`); each is built from its keys alone, seeded
with the key before them (`write_index`). Consume queues are dealt out to buckets by their name, and each bucket's
queues are written from the units that every log file has for it, in the order of the log (`write_queues`).
"""

from __future__ import annotations

import json
from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from rocket_spec.errors import UsageError
from rocket_spec.layout import QUEUE_UNIT, Geometry

from rocket_columnar.decode import ExtUnits
from rocket_columnar.index import IndexFile, plain, read_headers
from rocket_columnar.log import has_light_queues
from rocket_columnar.rebuild.dispatched_columns import (
    KEYS,
    RECORDS,
    UNIT,
    Dispatched,
    dispatch_log,
    put_run,
    queue_runs,
)
from rocket_columnar.rebuild.ext_addresses import Addresses
from rocket_columnar.rebuild.index_writer import IndexWriter, zone_of
from rocket_columnar.rebuild.missing_files import Twin, drop_unchanged, index_begins, settled_names, twin_of
from rocket_columnar.rebuild.queue_writer import QueueWriter
from rocket_columnar.rebuild.store_rebuild import _geometry, _queue_size
from rocket_columnar.store import find_files

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from rocket_columnar.store import StoreFile

__all__ = [
    "Dispatched",
    "IndexPlan",
    "RebuildPlan",
    "Twin",
    "dispatch_log",
    "drop_unchanged",
    "index_begins",
    "name_indexes",
    "plan_indexes",
    "plan_rebuild",
    "settled_names",
    "twin_of",
    "write_index",
    "write_queues",
]

_BUCKET_BYTES: Final = 256 << 20
_MOST_BUCKETS: Final = 256
_AT_ONCE: Final = 1 << 20


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

    @property
    def light(self) -> bool:
        """Whether light queues have the number 0."""
        return has_light_queues(self.files)


class IndexPlan(NamedTuple):
    """One index file: keys `begin` up to `end` of all keys of the log."""

    begin: int
    end: int


def plan_rebuild(
    store: Path | str,
    geometry: Geometry | None = None,
    queue_file_size: int | None = None,
    *,
    files: Sequence[StoreFile] | None = None,
) -> RebuildPlan:
    """Surveys at a store, as `rebuild` does; arguments and errors as there.

    `files` are its files where they lie elsewhere; `store` is then only named.
    """
    files = tuple(find_files(store) if files is None else files)
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
    held = sum(file.size() for file in logs)
    buckets = min(-(-held // _BUCKET_BYTES) or 1, _MOST_BUCKETS)
    return RebuildPlan(files, logs, shape, size, buckets)


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
                file.put_many(*(_column(directory, name, start, number) for name in KEYS))
    return cause


def _cause(directory: Path, at: int, offset: int) -> int | None:
    """Time of the record that comes to the next key's place: the one that has the key before, too, or the next."""
    if _column(directory, "key_offset", at + 1, 1).tolist() == [offset]:
        return int(_column(directory, "key_time", at + 1, 1)[0])
    offsets = np.memmap(directory / "record_offset", RECORDS["record_offset"], "r")
    behind = int(np.searchsorted(offsets, offset, "right"))
    found = _column(directory, "record_time", behind, 1).tolist()
    return found[0] if found else None


def _column(directory: Path, name: str, first: int, count: int) -> NDArray[Any]:
    dtype = np.dtype({**KEYS, **RECORDS}[name])
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
        units = np.fromfile(part / "units", UNIT, count, offset=before * UNIT.itemsize)
        for run in queue_runs(units):
            key = names[run["topic"][0]], int(run["queue_id"][0])
            if key not in writers:
                path = directory / "consumequeue" / key[0] / str(key[1])
                writers[key] = QueueWriter(path, queue_file_size), Addresses(ext, *key)
            put_run(run, *writers[key])
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
            with file.open() as reader, (directory / place / file.path.name).open("wb") as copy:
                for start in range(0, reader.size, _AT_ONCE):
                    copy.write(reader.read(start, min(_AT_ONCE, reader.size - start)).data)
            places[place] = None
    return list(places)
