"""Rebuilding stores on Spark: log files, then index files together with queues, each in a task of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
from rocket_spec.errors import FormatError, UsageError
from rocket_spec.layout import Geometry

from rocket_spark.files import state_of
from rocket_spark.output import Output, check_out, journalled_in, merge_finished, task_id
from rocket_spark.rebuild_tasks import (
    IndexTask,
    LogTask,
    OwnFiles,
    QueueTask,
    dispatch_task,
    file_task,
)
from rocket_spark.stores import StorePath, name_stores, reasons, store_files, stores_by_name
from rocket_spark.tasks import Failures, JobError, Progress, run_tasks, silent

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class RebuildJob:
    """What a rebuild job will do: the request has been checked, nothing is written.

    Attributes:
        out: the output folder.
        overwrite: whether its content is replaced.
        storage: options of S3 and HDFS.
        stores: path or URI of each store, by name.
        plans: of the stores that can be rebuilt.
        only_missing: whether files that a store has already are skipped.
        unused: by store, index files that cannot be read, and why: the geometry is not taken from these.
        resume: whether finished work is kept when the job fails, and that of an earlier run is used.
    """

    out: str | Path
    overwrite: bool
    storage: dict[str, str]
    stores: dict[str, str]
    plans: dict[str, RebuildPlan]
    only_missing: bool
    unused: dict[str, tuple[str, ...]] = field(default_factory=dict)
    resume: bool = False


def rebuild_stores(
    spark: SparkSession,
    stores: StorePath | Sequence[StorePath],
    out: str | Path,
    *,
    geometry: Geometry | None = None,
    queue_file_size: int | None = None,
    only_missing: bool = False,
    overwrite: bool = False,
    resume: bool = False,
    storage: Mapping[str, str] | None = None,
    failed: Failures | None = None,
    progress: Progress = silent,
) -> dict[str, Rebuilt]:
    """Makes index files and consume queues from the commit logs of stores: the files of `rebuild`, byte for byte.

    A single store's files go to `out/index`, `out/consumequeue` and `out/consumequeue_ext`; with several stores each has a
    folder of its own. `out` contains all of them and `_SUCCESS`, or after an error what it contained before. The index
    that is replaced is not needed: only its geometry is used, as far as it can be read.

    Args:
        spark: the session that runs the tasks; they see `stores` and `out` under the same paths as the driver.
        stores: the directories of one store or several, as paths or URIs of S3 or HDFS.
        out: a directory, missing or empty; a path, or a URI of S3 or HDFS.
        geometry: of the index files; else that of each store's own, else 4.9.3's default.
        queue_file_size: bytes; else that of each store's own queues, else 4.9.3's default.
        only_missing: skips the files that a store already has, byte for byte.
        overwrite: replaces what an earlier job wrote to `out`, once everything is written.
        resume: keeps the work of tasks that finished when the job fails, and uses what a killed or failed run kept.
        storage: options of S3 and HDFS; see `rocket_spark.files.storage_for`.
        failed: receives the error of each store that cannot be rebuilt, instead of raising it; a job with a single store
            raises it in any case.
        progress: see `rocket_spark.tasks.Progress`.

    Returns:
        What was written, by the name of the store; one store has the name "".

    Raises:
        UsageError: `out` cannot be used, a store has no commit log, the geometry cannot be inferred or does not fit.
        OSError: a file cannot be read or written.
        JobError: Spark gave up, or no store can be rebuilt.
    """
    job = plan_rebuilds(
        stores,
        out,
        geometry=geometry,
        queue_file_size=queue_file_size,
        only_missing=only_missing,
        overwrite=overwrite,
        resume=resume,
        storage=storage,
        failed=failed,
    )
    return run_rebuild(spark, job, failed=failed, progress=progress)


def plan_rebuilds(
    stores: StorePath | Sequence[StorePath],
    out: str | Path,
    *,
    geometry: Geometry | None = None,
    queue_file_size: int | None = None,
    only_missing: bool = False,
    overwrite: bool = False,
    resume: bool = False,
    storage: Mapping[str, str] | None = None,
    failed: Failures | None = None,
) -> RebuildJob:
    """The first half of `rebuild_stores`, without Spark; arguments and errors as there."""
    named, given = name_stores(stores), stores_by_name(stores)
    plans: dict[str, RebuildPlan] = {}
    unused: dict[str, tuple[str, ...]] = {}
    for name, path in named.items():
        try:
            skipped: list[tuple[str, str]] = []
            store = given[name]
            options = store.options(storage)
            files = store_files(path, options, lambda *left_out, skipped=skipped: skipped.append(left_out))
            usable, unused[name] = _usable(files)
            shape, size = geometry or store.geometry, queue_file_size or store.queue_file_size
            plans[name] = plan_rebuild(path, shape, size, files=usable, skipped=skipped)
        except (FormatError, UsageError, OSError) as error:
            if failed is None or len(named) == 1:
                raise
            failed[name] = error
    if not plans:
        raise JobError(f"no store can be rebuilt: {reasons(failed or {}, named)}")
    owned = FOLDERS if "" in named else {name.partition("/")[0] for name in named}
    out = check_out(out, named, owned, storage, overwrite=overwrite, resume=resume)
    return RebuildJob(out, overwrite, dict(storage or {}), named, plans, only_missing, unused, resume)


def _usable(files: Sequence[StoreFile]) -> tuple[list[StoreFile], tuple[str, ...]]:
    """The files without index files that cannot be read, and why those cannot: they are about to be replaced."""
    bad: dict[StoreFile, str] = {}
    indexes = [file for file in files if file.kind == "index"]
    with suppress(
        UsageError
    ):  # size and content leave the geometry open: it may be given, or the plan raises this
        resolve_each(indexes, on_error=lambda file, error: bad.update({file: str(error)}))
    return [file for file in files if file not in bad], tuple(bad.values())


def run_rebuild(
    spark: SparkSession, job: RebuildJob, *, failed: Failures | None = None, progress: Progress = silent
) -> dict[str, Rebuilt]:
    """The second half of `rebuild_stores`; arguments and errors as there."""
    with Output(job.out, job.storage, overwrite=job.overwrite, resume=job.resume) as output:
        collected = failed if len(job.stores) > 1 else None
        running = _Running(spark, job, output, collected, progress)
        running.dispatch()
        running.make_files()
        good = [name for name in job.plans if name not in running.bad]
        if not good:
            raise JobError(f"no store can be rebuilt: {reasons(running.bad, job.stores)}")
        wrong = {name: str(error) for name, error in running.bad.items()}
        parts = {place: made for name in good for place, made in running.parts[name].items()}
        output.commit(parts, {"job": "rebuild", "stores": job.stores, "failed": wrong})
    return {
        name: rebuilt(
            job.plans[name],
            running.dispatched[name],
            _files(running.parts[name], name),
            running.left_out[name],
        )
        for name in good
    }


class _Running:
    """A job between its phases: what the tasks of each store wrote, and which stores failed."""

    def __init__(
        self,
        spark: SparkSession,
        job: RebuildJob,
        output: Output,
        failed: Failures | None,
        progress: Progress,
    ) -> None:
        self.spark = spark
        self.job = job
        self.output = output
        self.finished = output.finished()
        self.failed = failed
        self.progress = progress
        self.logs: dict[str, list[str]] = {name: [] for name in job.plans}
        self.dispatched: dict[str, list[Dispatched]] = {name: [] for name in job.plans}
        self.left_out: dict[str, list[LeftOut]] = {name: [] for name in job.plans}
        self.parts: dict[str, dict[str, str]] = {name: {} for name in job.plans}

    @property
    def bad(self) -> Failures:
        """The errors of stores that failed."""
        return self.failed or {}

    def _plans(self) -> Iterator[tuple[str, RebuildPlan]]:
        return ((name, plan) for name, plan in self.job.plans.items() if name not in self.bad)

    def _outcomes(
        self,
        work: Callable[..., Any],
        tasks: Sequence[Any],
        what: str,
        common: Mapping[str, Any] | None = None,
    ) -> Iterator[tuple[Any, Any]]:
        """Tasks with what they returned, in this run or in one that was killed; those of stores that failed skipped."""
        attempts = self.output.folder

        def in_task(task: Any, *shared: Any) -> Any:
            return work(task, attempts, *shared)

        run = journalled_in(attempts, in_task) if self.job.resume else in_task
        outcomes = merge_finished(
            tasks,
            self.finished,
            lambda rest: run_tasks(
                self.spark,
                run,
                rest,
                what=what,
                progress=self.progress,
                common=common,
                failed=self.failed,
                weights=[task.weight for task in rest],
            ),
            holds=self._holds,
        )
        pairs = zip(tasks, outcomes, strict=True)
        return (pair for pair in pairs if pair[0].store not in self.bad)

    def _holds(self, outcome: Any) -> bool:
        """Whether all that a task wrote is still there: a commit that was killed has moved some of it."""
        made, rest = outcome[:2]
        names = [f"{made}/{place}" for place in rest] if isinstance(rest, list) else [made]
        return all(map(self.output.holds, names))

    def _digest(self, files: Iterable[StoreFile]) -> str:
        """A digest of files that tasks read beside the log, for a job that can be resumed."""
        return task_id([(file, state_of(file)) for file in files]) if self.job.resume else ""

    def dispatch(self) -> None:
        """The first phase, log file by log file."""
        tasks = [
            LogTask(
                name, file, state_of(file), file is plan.logs[-1], plan.buckets, plan.rules, self.job.resume
            )
            for name, plan in self._plans()
            for file in plan.logs
        ]
        for task, (folder, done) in self._outcomes(dispatch_task, tasks, "commit logs"):
            self.logs[task.store].append(folder)
            self.dispatched[task.store].append(Dispatched.from_plain(done))

    def make_files(self) -> None:
        """The second phase: index file by index file, and bucket of queues by bucket, which need not wait for each other."""
        plans = {name: plan_indexes(self.dispatched[name], plan.geometry) for name, plan in self._plans()}
        own = {name: self._own(self.job.plans[name]) for name in plans}
        tasks = [*self._index_tasks(plans, own), *self._queue_tasks(own)]
        made: dict[str, list[Any]] = {}
        for task, outcome in self._outcomes(file_task, tasks, "index files and queues", own):
            if isinstance(task, IndexTask):
                made.setdefault(task.store, []).append(outcome)
                continue
            folder, places, left_out = outcome
            self.left_out[task.store] += (LeftOut(*queue) for queue in left_out)
            for place in places:
                self.parts[task.store][_place(task.store, place)] = f"{folder}/{place}"
        for name, mine in made.items():
            causes = [cause for _, cause, _ in mine]
            names = name_indexes(self.job.plans[name].files, self.dispatched[name], plans[name], causes)
            settled = settled_names(names, [None if twin is None else Twin(*twin) for _, _, twin in mine])
            for (path, _, _), file in zip(mine, settled, strict=True):
                if file is not None:
                    self.parts[name][_place(name, f"index/{file}")] = path

    def _own(self, plan: RebuildPlan) -> OwnFiles:
        """The store's own files that the tasks of the second phase copy or compare."""
        begins = index_begins(plan.files) if self.job.only_missing else {}
        return OwnFiles(begins, [file for file in plan.files if file.kind in ("ext", "queue")])

    def _index_tasks(
        self, plans: Mapping[str, list[IndexPlan]], own: Mapping[str, OwnFiles]
    ) -> Iterator[IndexTask]:
        for name, indexes in plans.items():
            folders = [Path(log) for log in self.logs[name]]
            digest = self._digest(own[name].begins.values())
            geometry, only_missing = self.job.plans[name].geometry, self.job.only_missing
            for index in indexes:
                keys = tuple(keys_of(index, folders, self.dispatched[name]))
                yield IndexTask(name, index, keys, geometry, only_missing, digest)

    def _queue_tasks(self, own: Mapping[str, OwnFiles]) -> Iterator[QueueTask]:
        for name, files in own.items():
            plan = self.job.plans[name]
            digest = self._digest(files.queues)
            holes = log_holes(plan.logs, (hole for part in self.dispatched[name] for hole in part.holes))
            for bucket in range(plan.buckets):
                ranges = (tuple(part.unit_ranges(bucket)) for part in self.dispatched[name])
                units = tuple((log, held) for log, held in zip(self.logs[name], ranges, strict=True) if held)
                if units or in_bucket(files.queues, bucket, plan.buckets):
                    part = bucket, plan.buckets
                    yield QueueTask(
                        name, part, units, plan.queue_file_size, holes, self.job.only_missing, digest
                    )


def _place(store: str, place: str) -> str:
    return f"{store}/{place}" if store else place


def _files(parts: Mapping[str, str], store: str) -> list[str]:
    """The files of one store, relative to its folder."""
    root = _place(store, "")
    return sorted(place.removeprefix(root) for place in parts if place.startswith(root))
