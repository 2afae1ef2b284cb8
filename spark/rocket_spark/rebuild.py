"""Rebuilding stores on Spark: a task for each log file, then one for each index file and each group of queues."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple, Unpack

import numpy as np
from rocket_columnar import rebuild as engine
from rocket_columnar.facts import Store
from rocket_columnar.store import ALL_KINDS, StoreFile, size_of
from rocket_spec.errors import UsageError
from rocket_spec.layout import Geometry

from rocket_spark.files import is_remote
from rocket_spark.output import WHOLE, Folder, Output, attempt, check_out, fetched
from rocket_spark.stores import FoundStore, JobOptions, JobStores, StorePath, all_open, copied
from rocket_spark.tasks import Progress, Spark, silent

_NUMBER: Final = "0"  # temporary name of an index file, until all names are known


@dataclass(frozen=True, slots=True)
class _Task:
    """A call in a task, on bytes of this number."""

    store: str
    weight: int
    call: Callable[..., Any]


class _MadeIndex(NamedTuple):
    """An index file below the attempts, as of `write_index`, and its twin among the store's own."""

    path: str
    cause: int | None
    twin: engine.Twin | None


class _MadeQueues(NamedTuple):
    """A folder of the attempts, the files in it, and queues that are left out."""

    folder: str
    places: list[str]
    left_out: list[engine.LeftOut]


def _dispatch(
    file: StoreFile, attempts: Folder, *, last: bool, buckets: int, rules: engine.BrokerRules
) -> tuple[str, engine.Dispatched]:
    """In a task: one log file, to a folder of `attempts`."""
    with attempt(attempts, "log") as folder:
        done = engine.dispatch_log(file, folder, last=last, buckets=buckets, rules=rules)
        engine.keep_own_keys([folder], [done], rules)
    return folder.name, done


def _make_index(
    plan: engine.IndexPlan,
    logs: Sequence[engine.LogKeys],
    geometry: Geometry,
    begins: dict[tuple[int, int], StoreFile],
    attempts: Folder,
) -> _MadeIndex:
    """In a task: one index file. Its name is of this attempt, and a number, as 4.9.3 asks for."""
    with attempt(attempts, "index") as folder:
        folder.mkdir()
        made = folder / _NUMBER
        with fetched(attempts, dict(_key_ranges(logs))) as near:
            keys = [part._replace(directory=near / part.directory) for part in logs]
            cause = engine.write_index(plan, made, keys, geometry)
        twin = engine.twin_of(made, begins)
    return _MadeIndex(f"{folder.name}/{_NUMBER}", cause, twin)


def _key_ranges(logs: Sequence[engine.LogKeys]) -> Iterator[tuple[str, tuple[int, int]]]:
    """Bytes of the columns that an index file is built from."""
    for log in logs:
        first, last = log.ranges[0], log.ranges[-1]
        rows = first.record, last.record + last.records
        keys = first.key + first.begin, last.key + last.end
        yield from (
            (f"{log.directory}/{name}", _bytes_of(dtype, *rows)) for name, dtype in engine.RECORDS.items()
        )
        yield from (
            (f"{log.directory}/{name}", _bytes_of(dtype, *keys)) for name, dtype in engine.KEYS.items()
        )


def _bytes_of(dtype: Any, first: int, end: int) -> tuple[int, int]:
    size = np.dtype(dtype).itemsize
    return first * size, end * size


@dataclass(frozen=True, slots=True)
class _Bucket:
    """The queues of one bucket: the store's own files of them, and their units by log, first and number."""

    own: list[StoreFile]
    units: tuple[tuple[str, list[tuple[int, int]]], ...]

    def make(
        self, file_size: int, holes: engine.Holes, attempts: Folder, *, only_missing: bool
    ) -> _MadeQueues:
        """In a task: its files."""
        needed: dict[str, tuple[int, int]] = {}
        for log, ranges in self.units:
            end = sum(ranges[-1])
            needed |= {f"{log}/units": _bytes_of(engine.UNIT, ranges[0][0], end), f"{log}/topics.json": WHOLE}
        with attempt(attempts, "queues") as folder:
            with fetched(attempts, needed) as near:
                parts = [(near / log, ranges) for log, ranges in self.units]
                folder.mkdir()
                left_out = engine.write_queues(folder, parts, self.own, file_size, holes)
            if only_missing:
                engine.drop_unchanged(folder, self.own)
            made = [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]
        return _MadeQueues(folder.name, made, left_out)


class RebuildOptions(JobOptions, total=False):
    """Options of a rebuild, whose geometry is 4.9.3's default where no index file shows it.

    Attributes:
        queue_file_size: bytes; else that of each store's own queues, else 4.9.3's default.
        only_missing: skips the files that a store already has, byte for byte.
        overwrite: replaces what an earlier job wrote to `out`, once everything is written.
    """

    queue_file_size: int | None
    only_missing: bool
    overwrite: bool


@dataclass(frozen=True, slots=True)
class RebuildJob:
    """The plan of a rebuild job: the request has been checked, nothing is written.

    `folders` are of each store in the output; "" of a single one, whose files go to the output itself.
    """

    out: str | Path
    options: RebuildOptions
    job: JobStores
    plans: dict[str, engine.RebuildPlan]
    folders: dict[str, str]

    @property
    def stores(self) -> dict[str, str]:
        """Path or URI of each store, by name."""
        return self.job.paths


def rebuild_stores(
    spark: Spark, stores: StorePath | Sequence[StorePath], out: str | Path, **options: Unpack[RebuildOptions]
) -> dict[str, engine.Rebuilt]:
    """Makes index files and consume queues from the commit logs of stores: the files of `rebuild`, byte for byte.

    A single store's files go to `out/index`, `out/consumequeue` and `out/consumequeue_ext`; with several stores each has a
    folder of its own. `out` contains all of them and `_SUCCESS`, or after an error what it contained before. The index
    that is replaced is not needed: only its geometry is used, as far as it can be read.

    Args:
        spark: the session that runs the tasks; they see `stores` and `out` under the same paths as the driver.
        stores: the directories of one store or several, as paths or URIs of S3 or HDFS.
        out: a directory, missing or empty; a path, or a URI of S3 or HDFS.
        options: see `RebuildOptions`.

    Returns:
        What was written, by the name of the store.

    Raises:
        UsageError: `out` cannot be used, a store has no commit log, the geometry cannot be inferred or does not fit.
        OSError: a file cannot be read or written.
        JobError: Spark gave up, or no store can be rebuilt.
    """
    return run_rebuild(spark, plan_rebuilds(stores, out, **options), progress=options.get("progress", silent))


def plan_rebuilds(
    stores: StorePath | Sequence[StorePath], out: str | Path, **options: Unpack[RebuildOptions]
) -> RebuildJob:
    """The first half of `rebuild_stores`, without Spark; arguments and errors as there."""
    storage = options.get("storage")
    job = JobStores(stores, geometry=options.get("geometry"), storage=storage, failed=options.get("failed"))
    plans: dict[str, engine.RebuildPlan] = {}
    for task in job.tasks:
        with job.planning(task.store):
            size = options.get("queue_file_size") or task.queue_file_size
            plans[task.store] = _plan(_store(task), size)
    job.good((), ())
    folders = _folders(job)
    owned = engine.FOLDERS if len(folders) == 1 else {folder.partition("/")[0] for folder in folders.values()}
    out = check_out(out, job.paths.values(), owned, storage, overwrite=options.get("overwrite", False))
    return RebuildJob(out, options, job, plans, folders)


def _plan(store: Store, queue_file_size: int | None) -> engine.RebuildPlan:
    """The plan for a store without the files that cannot be opened, which its findings name."""

    def planned() -> engine.RebuildPlan:
        plan = engine.plan_rebuild(store, queue_file_size)
        all_open([*plan.files])
        return plan

    return store.looked_at(planned)


def _folders(job: JobStores) -> dict[str, str]:
    """The folder of each store in the output: of a single one the output itself, else its name."""
    names = list(job.paths)
    if len(names) == 1:
        return {names[0]: ""}
    folders = {name: name.partition("://")[2] or name.strip("/") for name in names}
    for name, folder in folders.items():
        others = (other for other in folders if other != name)
        if any(f"{folders[other]}/".startswith(f"{folder}/") for other in others):
            raise UsageError(f"{name}: its folder is that of another store too; give it a name, NAME=PATH")
    return folders


def _store(task: FoundStore) -> Store:
    """A store and its list of topics; deleted topics are not rebuilt."""
    if not is_remote(task.path):
        return Store(task.path, commitlog=task.commitlog, geometry=task.geometry, conf=task.conf)
    skipped: list[tuple[str, str]] = []
    files = task.files(ALL_KINDS, lambda *left_out: skipped.append(left_out))
    with copied(file for file in files if file.kind == "config") as place:
        (place / "commitlog").mkdir()
        topics = Store(place).listed_topics
    store = Store.of_files(files, name=task.path, geometry=task.geometry, skipped=skipped, topics=topics)
    store.conf = task.conf
    return store


def run_rebuild(spark: Spark, job: RebuildJob, *, progress: Progress = silent) -> dict[str, engine.Rebuilt]:
    """The second half of `rebuild_stores`; arguments and errors as there."""
    job.job.progress = progress
    with Output(job.out, job.options.get("storage")) as output:
        running = _Running(spark, job, output)
        running.dispatch()
        running.make_files()
        failed = job.job.failed
        good = [name for name in job.plans if name not in failed]
        parts = {
            f"{job.folders[name]}/{place}".lstrip("/"): made
            for name in good
            for place, made in running.parts[name].items()
        }
        output.commit(parts)
    return {
        name: engine.rebuilt(
            job.plans[name], running.dispatched[name], sorted(running.parts[name]), running.left_out[name]
        )
        for name in good
    }


class _Running:
    """A job between its phases: what the tasks of each store wrote."""

    def __init__(self, spark: Spark, job: RebuildJob, output: Output) -> None:
        self.spark = spark
        self.job = job
        self.output = output
        self.only_missing = job.options.get("only_missing", False)
        self.logs: dict[str, list[str]] = {name: [] for name in job.plans}
        self.dispatched: dict[str, list[engine.Dispatched]] = {name: [] for name in job.plans}
        self.left_out: dict[str, list[engine.LeftOut]] = {name: [] for name in job.plans}
        self.parts: dict[str, dict[str, str]] = {name: {} for name in job.plans}

    def _plans(self) -> Iterator[tuple[str, engine.RebuildPlan]]:
        failed = self.job.job.failed
        return ((name, plan) for name, plan in self.job.plans.items() if name not in failed)

    def _outcomes(self, tasks: Sequence[_Task], what: str) -> list[tuple[_Task, Any]]:
        """Tasks with what they returned; those of stores that failed skipped."""
        attempts = self.output.folder
        return self.job.job.run(self.spark, lambda task: task.call(attempts), tasks, what)

    def dispatch(self) -> None:
        """The first phase, log file by log file."""
        tasks = []
        for name, plan in self._plans():
            for file in plan.logs:
                how: dict[str, Any] = {
                    "last": file is plan.logs[-1],
                    "buckets": plan.buckets,
                    "rules": plan.rules,
                }
                tasks.append(_Task(name, size_of(file) or 0, partial(_dispatch, file, **how)))
        for task, (folder, done) in self._outcomes(tasks, "commit logs"):
            self.logs[task.store].append(folder)
            self.dispatched[task.store].append(done)

    def make_files(self) -> None:
        """The second phase: index file by index file, and bucket of queues by bucket, which need not wait for each other."""
        plans = {
            name: engine.plan_indexes(self.dispatched[name], plan.geometry) for name, plan in self._plans()
        }
        tasks = [*self._index_tasks(plans), *self._queue_tasks()]
        indexes: dict[str, list[_MadeIndex]] = {}
        for task, made in self._outcomes(tasks, "index files and queues"):
            if isinstance(made, _MadeIndex):
                indexes.setdefault(task.store, []).append(made)
            else:
                self.left_out[task.store] += made.left_out
                self.parts[task.store] |= {place: f"{made.folder}/{place}" for place in made.places}
        for name, mine in indexes.items():
            causes = [index.cause for index in mine]
            names = engine.name_indexes(
                self.job.plans[name].files, self.dispatched[name], plans[name], causes
            )
            for index, file in zip(
                mine, engine.settled_names(names, [index.twin for index in mine]), strict=True
            ):
                if file is not None:
                    self.parts[name][f"index/{file}"] = index.path

    def _index_tasks(self, plans: Mapping[str, list[engine.IndexPlan]]) -> Iterator[_Task]:
        for name, indexes in plans.items():
            folders = [Path(log) for log in self.logs[name]]
            geometry = self.job.plans[name].geometry
            begins = engine.index_begins(self.job.plans[name].files) if self.only_missing else {}
            for index in indexes:
                keys = tuple(engine.keys_of(index, folders, self.dispatched[name]))
                yield _Task(name, geometry.file_size, partial(_make_index, index, keys, geometry, begins))

    def _queue_tasks(self) -> Iterator[_Task]:
        for name, plan in self._plans():
            holes = engine.log_holes(plan.logs, self.dispatched[name], plan.files)
            queues = [file for file in plan.files if file.kind in ("ext", "queue")]
            for number in range(plan.buckets):
                ranges = (part.unit_ranges(number) for part in self.dispatched[name])
                units = tuple((log, held) for log, held in zip(self.logs[name], ranges, strict=True) if held)
                own = engine.in_bucket(queues, number, plan.buckets)  # copied or compared
                if units or own:
                    bucket = _Bucket(own, units)
                    weight = (
                        sum(count for _, held in units for _, count in held) * np.dtype(engine.UNIT).itemsize
                    )
                    make = partial(bucket.make, plan.queue_file_size, holes, only_missing=self.only_missing)
                    yield _Task(name, weight, make)
