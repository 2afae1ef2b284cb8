"""Rebuilding stores on Spark: log files, then index files and queues, each in a task of its own."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from rocket_columnar.rebuild import (
    KEYS,
    PARTS,
    RECORDS,
    UNIT,
    Dispatched,
    IndexPlan,
    LogKeys,
    RebuildPlan,
    Rebuilt,
    Twin,
    dispatch_log,
    drop_unchanged,
    index_begins,
    keys_of,
    name_indexes,
    plan_indexes,
    plan_rebuild,
    rebuilt,
    settled_names,
    twin_of,
    write_index,
    write_queues,
)

from rocket_spark.output import WHOLE, Folder, attempt, check_out, fetched, open_out
from rocket_spark.stores import StorePath, name_stores, store_files
from rocket_spark.tasks import Progress, run_tasks, silent

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyspark.sql import SparkSession
    from rocket_columnar.store import StoreFile
    from rocket_spec.layout import Geometry

__all__ = ["RebuildJob", "plan_rebuilds", "rebuild_stores", "run_rebuild"]

_NUMBER: Final = "0"
"""What an index file is called until all names are known."""


@dataclass(frozen=True, slots=True)
class RebuildJob:
    """What a rebuild job will do: all that can be wrong with the request has been checked, nothing is written."""

    out: str | Path
    overwrite: bool
    storage: dict[str, str]
    stores: dict[str, str]
    plans: dict[str, RebuildPlan]
    only_missing: bool


@dataclass(frozen=True, slots=True)
class _LogTask:
    store: str
    file: StoreFile
    last: bool
    buckets: int
    light: bool


@dataclass(frozen=True, slots=True)
class _IndexTask:
    store: str
    plan: IndexPlan
    keys: tuple[LogKeys, ...]
    geometry: Geometry


@dataclass(frozen=True, slots=True)
class _QueueTask:
    store: str
    parts: tuple[tuple[str, tuple[tuple[int, int], ...]], ...]
    queue_file_size: int
    only_missing: bool


def rebuild_stores(
    spark: SparkSession,
    stores: StorePath | Sequence[StorePath],
    out: str | Path,
    *,
    geometry: Geometry | None = None,
    queue_file_size: int | None = None,
    only_missing: bool = False,
    overwrite: bool = False,
    storage: Mapping[str, str] | None = None,
    progress: Progress = silent,
) -> dict[str, Rebuilt]:
    """Makes index files and consume queues from the commit logs of stores: the files of `rebuild`, byte for byte.

    One store's go to `out/index`, `out/consumequeue` and `out/consumequeue_ext`; of several each has a folder of its
    own. `out` holds all of them and `_SUCCESS`, or after an error what it held before.

    Args:
        spark: the session that runs the tasks; they see `stores` and `out` under the same paths as the driver.
        stores: the directories of one store or several, as paths or URIs of S3 or HDFS.
        out: a directory, missing or empty; a path, or a URI of S3 or HDFS.
        geometry: of the index files; else that of each store's own, else 4.9.3's default.
        queue_file_size: bytes; else that of each store's own queues, else 4.9.3's default.
        only_missing: leaves out the files that a store holds already, byte for byte.
        overwrite: replaces what an earlier job wrote to `out`, once all is written.
        storage: options of S3 and HDFS; see `rocket_spark.files.storage_for`.
        progress: see `rocket_spark.tasks.Progress`.

    Returns:
        What was written, by the name of the store; one store has the name "".

    Raises:
        UsageError: `out` will not do, a store has no commit log, the geometry cannot be told or does not fit.
        OSError: a file cannot be read or written.
        JobError: Spark gave up.
    """
    job = plan_rebuilds(
        stores,
        out,
        geometry=geometry,
        queue_file_size=queue_file_size,
        only_missing=only_missing,
        overwrite=overwrite,
        storage=storage,
    )
    return run_rebuild(spark, job, progress=progress)


def plan_rebuilds(
    stores: StorePath | Sequence[StorePath],
    out: str | Path,
    *,
    geometry: Geometry | None = None,
    queue_file_size: int | None = None,
    only_missing: bool = False,
    overwrite: bool = False,
    storage: Mapping[str, str] | None = None,
) -> RebuildJob:
    """The first half of `rebuild_stores`, without Spark; arguments and errors as there."""
    named = name_stores(stores)
    plans: dict[str, RebuildPlan] = {}
    for name, path in named.items():
        skipped: list[tuple[str, str]] = []
        files = store_files(path, storage, lambda *left_out, skipped=skipped: skipped.append(left_out))
        plans[name] = plan_rebuild(path, geometry, queue_file_size, files=files, skipped=skipped)
    owned = PARTS if "" in named else {name.partition("/")[0] for name in named}
    out = check_out(out, named, owned, storage, overwrite=overwrite)
    return RebuildJob(out, overwrite, dict(storage or {}), named, plans, only_missing)


def run_rebuild(spark: SparkSession, job: RebuildJob, *, progress: Progress = silent) -> dict[str, Rebuilt]:
    """The second half of `rebuild_stores`; arguments and errors as there."""
    with open_out(job.out, job.storage, overwrite=job.overwrite) as output:
        attempts = output.folder
        logs, dispatched = _dispatch(spark, job, attempts, progress)
        parts: dict[str, str] = {}
        _indexes(spark, job, logs, dispatched, attempts, parts, progress)
        _queues(spark, job, logs, dispatched, attempts, parts, progress)
        output.commit(parts, {"job": "rebuild", "stores": job.stores})
    return {name: rebuilt(plan, dispatched[name], _files(parts, name)) for name, plan in job.plans.items()}


def _dispatch(
    spark: SparkSession, job: RebuildJob, attempts: Folder, progress: Progress
) -> tuple[dict[str, list[str]], dict[str, list[Dispatched]]]:
    """The first phase, log file by log file: for each store the attempts, and what they hold."""
    tasks = [
        _LogTask(name, file, file is plan.logs[-1], plan.buckets, plan.light)
        for name, plan in job.plans.items()
        for file in plan.logs
    ]
    work = dispatch_task
    outcomes = run_tasks(
        spark, lambda task: work(task, attempts), tasks, what="commit logs", progress=progress
    )
    logs: dict[str, list[str]] = {name: [] for name in job.plans}
    dispatched: dict[str, list[Dispatched]] = {name: [] for name in job.plans}
    for task, (folder, done) in zip(tasks, outcomes, strict=True):
        logs[task.store].append(folder)
        dispatched[task.store].append(done)
    return logs, dispatched


def dispatch_task(task: _LogTask, attempts: Folder) -> tuple[str, Dispatched]:
    """In a task: one log file."""
    with attempt(attempts, "log") as folder:
        done = dispatch_log(task.file, folder, last=task.last, buckets=task.buckets, light=task.light)
    return folder.name, done


def _indexes(
    spark: SparkSession,
    job: RebuildJob,
    logs: dict[str, list[str]],
    dispatched: dict[str, list[Dispatched]],
    attempts: Folder,
    parts: dict[str, str],
    progress: Progress,
) -> None:
    """The second phase, index file by index file; `parts` gets them."""
    tasks: list[_IndexTask] = []
    plans: dict[str, list[IndexPlan]] = {}
    for name, plan in job.plans.items():
        folders = [Path(log) for log in logs[name]]
        plans[name] = plan_indexes(dispatched[name], plan.geometry)
        tasks += (
            _IndexTask(name, one, tuple(keys_of(one, folders, dispatched[name])), plan.geometry)
            for one in plans[name]
        )
    begins = {name: index_begins(plan.files) if job.only_missing else {} for name, plan in job.plans.items()}
    work = index_task
    outcomes = run_tasks(
        spark,
        lambda task, known: work(task, attempts, known),
        tasks,
        what="index files",
        progress=progress,
        common=begins,
    )
    for name, plan in job.plans.items():
        mine = [outcome for task, outcome in zip(tasks, outcomes, strict=True) if task.store == name]
        causes = [cause for _, cause, _ in mine]
        names = name_indexes(plan.files, dispatched[name], plans[name], causes)
        settled = settled_names(names, [twin for _, _, twin in mine])
        for (made, _, _), file in zip(mine, settled, strict=True):
            if file is not None:
                parts[_place(name, f"index/{file}")] = made


def index_task(
    task: _IndexTask, attempts: Folder, begins: dict[tuple[int, int], StoreFile]
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


def _key_ranges(task: _IndexTask) -> Iterator[tuple[str, tuple[int, int]]]:
    """Bytes of the columns that an index file is built from."""
    for log in task.keys:
        first, last = log.spans[0], log.spans[-1]
        rows = first.record, last.record + last.records
        keys = first.key + first.begin, last.key + last.end
        yield from ((f"{log.directory}/{name}", _bytes_of(dtype, *rows)) for name, dtype in RECORDS.items())
        yield from ((f"{log.directory}/{name}", _bytes_of(dtype, *keys)) for name, dtype in KEYS.items())


def _bytes_of(dtype: Any, first: int, end: int) -> tuple[int, int]:
    size = np.dtype(dtype).itemsize
    return first * size, end * size


def _queues(
    spark: SparkSession,
    job: RebuildJob,
    logs: dict[str, list[str]],
    dispatched: dict[str, list[Dispatched]],
    attempts: Folder,
    parts: dict[str, str],
    progress: Progress,
) -> None:
    """The third phase, bucket of queues by bucket; `parts` gets the queues' files."""
    tasks: list[_QueueTask] = []
    kinds = ("ext", "queue") if job.only_missing else ("ext",)
    own = {name: [file for file in plan.files if file.kind in kinds] for name, plan in job.plans.items()}
    for name, plan in job.plans.items():
        for bucket in range(plan.buckets):
            spans = (tuple(part.unit_spans(bucket)) for part in dispatched[name])
            units = tuple((log, own) for log, own in zip(logs[name], spans, strict=True) if own)
            if units:
                tasks.append(_QueueTask(name, units, plan.queue_file_size, job.only_missing))
    work = queue_task
    outcomes = run_tasks(
        spark,
        lambda task, files: work(task, attempts, files),
        tasks,
        what="consume queues",
        progress=progress,
        common=own,
    )
    for task, (folder, places) in zip(tasks, outcomes, strict=True):
        for place in places:
            parts[_place(task.store, place)] = f"{folder}/{place}"


def queue_task(task: _QueueTask, attempts: Folder, files: list[StoreFile]) -> tuple[str, list[str]]:
    """In a task: the queues of one bucket; `files` are the store's own of that kind."""
    ranges: dict[str, tuple[int, int]] = {}
    for log, spans in task.parts:
        end = sum(spans[-1])
        ranges |= {f"{log}/units": _bytes_of(UNIT, spans[0][0], end), f"{log}/topics.json": WHOLE}
    with attempt(attempts, "queues") as folder:
        with fetched(attempts, ranges) as near:
            parts = [(near / log, spans) for log, spans in task.parts]
            folder.mkdir()
            write_queues(folder, parts, files, task.queue_file_size)
        if task.only_missing:
            drop_unchanged(folder, files)
        made = [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]
    return folder.name, made


def _place(store: str, place: str) -> str:
    return f"{store}/{place}" if store else place


def _files(parts: Mapping[str, str], store: str) -> list[str]:
    """The files of one store, relative to its folder."""
    root = _place(store, "")
    return sorted(place.removeprefix(root) for place in parts if place.startswith(root))
