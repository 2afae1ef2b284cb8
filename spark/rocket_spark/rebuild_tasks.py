"""The tasks of a rebuild: one for each log file, each index file, and each group of queues.

The outcome of a task begins with the name of what it wrote.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from rocket_columnar.rebuild import (
    KEYS,
    RECORDS,
    UNIT,
    BrokerRules,
    Dispatched,
    Holes,
    IndexPlan,
    LeftOut,
    LogKeys,
    Twin,
    dispatch_log,
    drop_unchanged,
    in_bucket,
    twin_of,
    write_index,
    write_queues,
)
from rocket_columnar.store import StoreFile, size_of
from rocket_spec.layout import Geometry

from rocket_spark.output import WHOLE, Folder, attempt, fetched

_NUMBER: Final = "0"
"""Temporary name of an index file, until all names are known."""


@dataclass(frozen=True, slots=True)
class LogTask:
    """One log file to dispatch.

    Attributes:
        store: its name.
        file: of the log.
        last: whether no other file follows.
        buckets: of the store's `RebuildPlan`.
        rules: of the store's `RebuildPlan`.
    """

    store: str
    file: StoreFile
    last: bool
    buckets: int
    rules: BrokerRules

    @property
    def weight(self) -> int:
        """Bytes of the file."""
        return size_of(self.file) or 0


@dataclass(frozen=True, slots=True)
class IndexTask:
    """One index file to build."""

    store: str
    plan: IndexPlan
    keys: tuple[LogKeys, ...]
    geometry: Geometry
    only_missing: bool

    @property
    def weight(self) -> int:
        """Bytes of the file."""
        return self.geometry.file_size


@dataclass(frozen=True, slots=True)
class QueueTask:
    """The queues of one bucket, with its number and how many there are; `holes` are the log's."""

    store: str
    bucket: tuple[int, int]
    parts: tuple[tuple[str, tuple[tuple[int, int], ...]], ...]
    queue_file_size: int
    holes: Holes
    only_missing: bool

    @property
    def weight(self) -> int:
        """Bytes of the units."""
        return sum(count for _, ranges in self.parts for _, count in ranges) * np.dtype(UNIT).itemsize


class OwnFiles(NamedTuple):
    """A store's own files that new ones are compared with: index files as of `index_begins`, and queues with ext files."""

    begins: dict[tuple[int, int], StoreFile]
    queues: list[StoreFile]


def dispatch_task(task: LogTask, attempts: Folder) -> tuple[str, Dispatched]:
    """In a task: one log file. The outcome begins with a name in `attempts`."""
    with attempt(attempts, "log") as folder:
        done = dispatch_log(task.file, folder, last=task.last, buckets=task.buckets, rules=task.rules)
    return folder.name, done


def file_task(task: IndexTask | QueueTask, attempts: Folder, own: OwnFiles) -> Any:
    """In a task: an index file, or the queues of a bucket; `own` is of the task's store."""
    if isinstance(task, IndexTask):
        return index_task(task, attempts, own.begins)
    return queue_task(task, attempts, own.queues)


def index_task(
    task: IndexTask, attempts: Folder, begins: dict[tuple[int, int], StoreFile]
) -> tuple[str, int | None, Twin | None]:
    """In a task: one index file, and its twin among the store's own that `begins` holds.

    Its name is of this attempt, and a number, as 4.9.3 asks for.
    """
    with attempt(attempts, "index") as folder:
        folder.mkdir()
        made = folder / _NUMBER
        with fetched(attempts, dict(_key_ranges(task))) as near:
            keys = [part._replace(directory=near / part.directory) for part in task.keys]
            cause = write_index(task.plan, made, keys, task.geometry)
        twin = twin_of(made, begins)
    return f"{folder.name}/{_NUMBER}", cause, twin


def _key_ranges(task: IndexTask) -> Iterator[tuple[str, tuple[int, int]]]:
    """Bytes of the columns that an index file is built from."""
    for log in task.keys:
        first, last = log.ranges[0], log.ranges[-1]
        rows = first.record, last.record + last.records
        keys = first.key + first.begin, last.key + last.end
        yield from ((f"{log.directory}/{name}", _bytes_of(dtype, *rows)) for name, dtype in RECORDS.items())
        yield from ((f"{log.directory}/{name}", _bytes_of(dtype, *keys)) for name, dtype in KEYS.items())


def _bytes_of(dtype: Any, first: int, end: int) -> tuple[int, int]:
    size = np.dtype(dtype).itemsize
    return first * size, end * size


def queue_task(
    task: QueueTask, attempts: Folder, files: list[StoreFile]
) -> tuple[str, list[str], list[LeftOut]]:
    """In a task: the queues of one bucket, and those that are left out; `files` are the store's own of that kind."""
    needed: dict[str, tuple[int, int]] = {}
    for log, ranges in task.parts:
        end = sum(ranges[-1])
        needed |= {f"{log}/units": _bytes_of(UNIT, ranges[0][0], end), f"{log}/topics.json": WHOLE}
    with attempt(attempts, "queues") as folder:
        with fetched(attempts, needed) as near:
            parts = [(near / log, ranges) for log, ranges in task.parts]
            folder.mkdir()
            own = in_bucket(files, *task.bucket)
            left_out = write_queues(folder, parts, own, task.queue_file_size, task.holes)
        if task.only_missing:
            drop_unchanged(folder, files)
        made = [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]
    return folder.name, made, left_out
