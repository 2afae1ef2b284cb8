"""Rebuilding stores on Spark: log files, then index files together with queues, each in a task of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from rocket_columnar.facts import Store
from rocket_columnar.index import resolve_each
from rocket_columnar.rebuild import (
    FOLDERS,
    Dispatched,
    IndexPlan,
    LeftOut,
    RebuildPlan,
    Rebuilt,
    Twin,
    in_bucket,
    index_begins,
    keys_of,
    log_holes,
    name_indexes,
    plan_indexes,
    plan_rebuild,
    rebuilt,
    settled_names,
)
from rocket_columnar.store import StoreFile
from rocket_spec.errors import UsageError
from rocket_spec.layout import Geometry

from rocket_spark.output import Output, check_out
from rocket_spark.rebuild_tasks import (
    IndexTask,
    LogTask,
    OwnFiles,
    QueueTask,
    dispatch_task,
    file_task,
)
from rocket_spark.stores import JobStores, StorePath
from rocket_spark.tasks import Failures, Progress, silent

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class RebuildOptions(TypedDict, total=False):
    """Options of a rebuild.

    Attributes:
        geometry: of the index files; else that of each store's own, else 4.9.3's default.
        queue_file_size: bytes; else that of each store's own queues, else 4.9.3's default.
        only_missing: skips the files that a store already has, byte for byte.
        overwrite: replaces what an earlier job wrote to `out`, once everything is written.
        storage: options of S3 and HDFS; see `rocket_spark.files.storage_for`.
        failed: receives the error of each store that cannot be rebuilt, instead of raising it; a job with a single store
            raises it in any case.
    """

    geometry: Geometry | None
    queue_file_size: int | None
    only_missing: bool
    overwrite: bool
    storage: Mapping[str, str] | None
    failed: Failures | None


@dataclass(frozen=True, slots=True)
class RebuildJob:
    """The plan of a rebuild job: the request has been checked, nothing is written.

    Attributes:
        out: the output folder.
        options: how.
        job: the stores, and those that failed.
        plans: of the stores that can be rebuilt.
        unused: by store, index files that cannot be read, and why: the geometry is not taken from these.
        folders: of each store in the output; "" of a single one, whose files go to the output itself.
    """

    out: str | Path
    options: RebuildOptions
    job: JobStores
    plans: dict[str, RebuildPlan]
    unused: dict[str, tuple[str, ...]]
    folders: dict[str, str]

    @property
    def stores(self) -> dict[str, str]:
        """Path or URI of each store, by name."""
        return self.job.paths


def rebuild_stores(
    spark: SparkSession,
    stores: StorePath | Sequence[StorePath],
    out: str | Path,
    *,
    progress: Progress = silent,
    **options: Unpack[RebuildOptions],
) -> dict[str, Rebuilt]:
    """Makes index files and consume queues from the commit logs of stores: the files of `rebuild`, byte for byte.

    A single store's files go to `out/index`, `out/consumequeue` and `out/consumequeue_ext`; with several stores each has a
    folder of its own. `out` contains all of them and `_SUCCESS`, or after an error what it contained before. The index
    that is replaced is not needed: only its geometry is used, as far as it can be read.

    Args:
        spark: the session that runs the tasks; they see `stores` and `out` under the same paths as the driver.
        stores: the directories of one store or several, as paths or URIs of S3 or HDFS.
        out: a directory, missing or empty; a path, or a URI of S3 or HDFS.
        progress: see `rocket_spark.tasks.Progress`.
        options: see `RebuildOptions`.

    Returns:
        What was written, by the name of the store.

    Raises:
        UsageError: `out` cannot be used, a store has no commit log, the geometry cannot be inferred or does not fit.
        OSError: a file cannot be read or written.
        JobError: Spark gave up, or no store can be rebuilt.
    """
    return run_rebuild(spark, plan_rebuilds(stores, out, **options), progress=progress)


def plan_rebuilds(
    stores: StorePath | Sequence[StorePath], out: str | Path, **options: Unpack[RebuildOptions]
) -> RebuildJob:
    """The first half of `rebuild_stores`, without Spark; arguments and errors as there."""
    storage = options.get("storage")
    job = JobStores(stores, geometry=options.get("geometry"), storage=storage, failed=options.get("failed"))
    plans: dict[str, RebuildPlan] = {}
    unused: dict[str, tuple[str, ...]] = {}
    for task in job.tasks:
        with job.planning(task.store):
            skipped: list[tuple[str, str]] = []
            files = task.files(on_skip=lambda *left_out, skipped=skipped: skipped.append(left_out))
            usable, unused[task.store] = _usable(files)
            size = options.get("queue_file_size") or task.queue_file_size
            plans[task.store] = plan_rebuild(
                Store.of_files(usable, name=task.path, geometry=task.geometry, skipped=skipped), size
            )
    job.good((), ())
    folders = _folders(job)
    owned = FOLDERS if len(folders) == 1 else {folder.partition("/")[0] for folder in folders.values()}
    out = check_out(out, job.paths.values(), owned, storage, overwrite=options.get("overwrite", False))
    return RebuildJob(out, options, job, plans, unused, folders)


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


def _usable(files: Sequence[StoreFile]) -> tuple[list[StoreFile], tuple[str, ...]]:
    """The files without index files that cannot be read, and why those cannot: they are about to be replaced."""
    bad: dict[StoreFile, str] = {}
    indexes = [file for file in files if file.kind == "index"]
    with suppress(
        UsageError
    ):  # size and content leave the geometry open: it may be given, or the plan raises this
        resolve_each(indexes, on_error=lambda file, error: bad.update({file: str(error)}))
    return [file for file in files if file not in bad], tuple(bad.values())


def run_rebuild(spark: SparkSession, job: RebuildJob, *, progress: Progress = silent) -> dict[str, Rebuilt]:
    """The second half of `rebuild_stores`; arguments and errors as there."""
    with Output(job.out, job.options.get("storage")) as output:
        running = _Running(spark, job, output, progress)
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
        name: rebuilt(
            job.plans[name],
            running.dispatched[name],
            sorted(running.parts[name]),
            running.left_out[name],
        )
        for name in good
    }


class _Running:
    """A job between its phases: what the tasks of each store wrote."""

    def __init__(self, spark: SparkSession, job: RebuildJob, output: Output, progress: Progress) -> None:
        self.spark = spark
        self.job = job
        self.output = output
        self.progress = progress
        self.only_missing = job.options.get("only_missing", False)
        self.logs: dict[str, list[str]] = {name: [] for name in job.plans}
        self.dispatched: dict[str, list[Dispatched]] = {name: [] for name in job.plans}
        self.left_out: dict[str, list[LeftOut]] = {name: [] for name in job.plans}
        self.parts: dict[str, dict[str, str]] = {name: {} for name in job.plans}

    def _plans(self) -> Iterator[tuple[str, RebuildPlan]]:
        failed = self.job.job.failed
        return ((name, plan) for name, plan in self.job.plans.items() if name not in failed)

    def _outcomes(
        self,
        work: Callable[..., Any],
        tasks: Sequence[Any],
        what: str,
        common: Mapping[str, Any] | None = None,
    ) -> list[tuple[Any, Any]]:
        """Tasks with what they returned; those of stores that failed skipped."""
        attempts, stores = self.output.folder, self.job.job

        def in_task(task: Any, *shared: Any) -> Any:
            return work(task, attempts, *shared)

        results = stores.run(self.spark, in_task, tasks, what=what, progress=self.progress, common=common)
        return stores.good(tasks, results)

    def dispatch(self) -> None:
        """The first phase, log file by log file."""
        tasks = [
            LogTask(name, file, file is plan.logs[-1], plan.buckets, plan.rules)
            for name, plan in self._plans()
            for file in plan.logs
        ]
        for task, (folder, done) in self._outcomes(dispatch_task, tasks, "commit logs"):
            self.logs[task.store].append(folder)
            self.dispatched[task.store].append(done)

    def make_files(self) -> None:
        """The second phase: index file by index file, and bucket of queues by bucket, which need not wait for each other."""
        plans = {name: plan_indexes(self.dispatched[name], plan.geometry) for name, plan in self._plans()}
        own = {  # the store's own files, which are copied or compared
            name: OwnFiles(
                index_begins(plan.files) if self.only_missing else {},
                [file for file in plan.files if file.kind in ("ext", "queue")],
            )
            for name, plan in self._plans()
        }
        tasks = [*self._index_tasks(plans), *self._queue_tasks(own)]
        made: dict[str, list[Any]] = {}
        for task, outcome in self._outcomes(file_task, tasks, "index files and queues", own):
            if isinstance(task, IndexTask):
                made.setdefault(task.store, []).append(outcome)
                continue
            folder, places, left_out = outcome
            self.left_out[task.store] += (LeftOut(*queue) for queue in left_out)
            for place in places:
                self.parts[task.store][place] = f"{folder}/{place}"
        for name, mine in made.items():
            causes = [cause for _, cause, _ in mine]
            names = name_indexes(self.job.plans[name].files, self.dispatched[name], plans[name], causes)
            settled = settled_names(names, [None if twin is None else Twin(*twin) for _, _, twin in mine])
            for (path, _, _), file in zip(mine, settled, strict=True):
                if file is not None:
                    self.parts[name][f"index/{file}"] = path

    def _index_tasks(self, plans: Mapping[str, list[IndexPlan]]) -> Iterator[IndexTask]:
        for name, indexes in plans.items():
            folders = [Path(log) for log in self.logs[name]]
            geometry, only_missing = self.job.plans[name].geometry, self.only_missing
            for index in indexes:
                keys = tuple(keys_of(index, folders, self.dispatched[name]))
                yield IndexTask(name, index, keys, geometry, only_missing)

    def _queue_tasks(self, own: Mapping[str, OwnFiles]) -> Iterator[QueueTask]:
        for name, files in own.items():
            plan = self.job.plans[name]
            holes = log_holes(plan.logs, self.dispatched[name])
            for bucket in range(plan.buckets):
                ranges = (tuple(part.unit_ranges(bucket)) for part in self.dispatched[name])
                units = tuple((log, held) for log, held in zip(self.logs[name], ranges, strict=True) if held)
                if units or in_bucket(files.queues, bucket, plan.buckets):
                    part = bucket, plan.buckets
                    yield QueueTask(name, part, units, plan.queue_file_size, holes, self.only_missing)
