"""Runs many tasks on Spark, one Python call each: every job here is made of these.

Spark places, retries and speculates the tasks. The result of a task is returned as a row. So are errors that no retry
can cure: they reach the caller as they were raised, not as a Java stack trace. Nothing here needs a JVM in the driver:
it works over Spark Connect too. With a JVM it needs no more than a SparkContext: the SQL side of a session, which these
jobs do not use, costs as much to start as the rest of the driver.
"""

from __future__ import annotations

import os
import pickle
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from rocket_spec.errors import FormatError, UsageError

from rocket_spark.failure_causes import cause_of

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

Spark = Any  # a SparkSession, of Spark Connect too, or a SparkContext

Progress = Any
"""`(what, done, total)`: called now and then with the number of finished tasks and of all tasks."""

WAVE_TASKS: Final = 10_000
"""Maximum number of tasks in one Spark job: over Spark Connect each task is sent all of its wave."""

_WAVE_BYTES: Final = 32 << 20  # maximum size of the tasks in one Spark job, for the same reason

GROUP_BYTES: Final = 64 << 20  # small neighbours share a Spark task up to this many bytes

_TASK_COST: Final = 1 << 20  # cost of a task beside its bytes, in bytes

_POLL_SECONDS: Final = 0.2

_GROUP: Final = "spark.jobGroup.id"

Failures = dict[str, Exception]  # the first error of each store that failed, by the store's name


class JobError(RuntimeError):
    """A Spark job that failed; the message is one line."""


_last_attempt: ContextVar[bool] = ContextVar("last_attempt", default=True)


def is_last_attempt() -> bool:
    """In a task: whether Spark does not run it again if it fails."""
    return _last_attempt.get()


def silent(_what: str, _done: int, _total: int) -> None:
    """Discards progress updates."""


def run_tasks(
    spark: Spark,
    work: Callable[[Any], Any],
    tasks: Sequence[Any],
    *,
    what: str,
    progress: Progress = silent,
    failed: Failures | None = None,
) -> list[Any]:
    """The results of `work` for `tasks`, in their order; both are sent to the workers.

    A task may run more than once, and twice at a time: exactly one of its runs is in the result. OSErrors are left to
    Spark to retry, perhaps on another worker, and are returned after the last attempt.

    Tasks have the attributes `store`, and `weight`, bytes that each reads: small neighbours share a Spark task. `what` is a word for the
    progress. `failed` receives the first error of each store, and the result of a task that failed is None; without it the first error in the
    order of the tasks is raised. JobError if Spark gave up.
    """
    last_attempt = _attempts(spark) - 1
    results: list[Any] = []
    progress(what, 0, len(tasks))
    for wave in _waves(tasks):
        share = sum(map(len, wave)) / len(wave)
        watch = _watched(spark, lambda done: progress(what, len(results) + int(done * share), len(tasks)))  # noqa: B023
        with nullcontext() if progress is silent else watch:
            outcomes = _run(spark, work, wave, last_attempt)
        for outcome in outcomes:
            error = outcome.get("error")
            if error is not None:
                if failed is None:
                    raise error
                failed.setdefault(tasks[len(results)].store, error)
            results.append(outcome.get("done"))
    progress(what, len(tasks), len(tasks))
    return results


def _waves(tasks: Iterable[Any]) -> Iterator[list[list[bytes]]]:
    """Pickled tasks, grouped by Spark tasks, these by Spark jobs."""
    wave: list[list[bytes]] = []
    size = room = 0
    for task in tasks:
        own, weight = pickle.dumps(task), task.weight + _TASK_COST
        if wave and size + len(own) > _WAVE_BYTES:
            yield wave
            wave, size, room = [], 0, 0
        if weight > room:
            if len(wave) == WAVE_TASKS:
                yield wave
                wave, size = [], 0
            wave.append([])
            room = GROUP_BYTES
        wave[-1].append(own)
        room -= weight
        size += len(own)
    if wave:
        yield wave


def _run(
    spark: Spark, work: Callable[[Any], Any], groups: list[list[bytes]], last_attempt: int
) -> Iterator[dict[str, Any]]:
    """The outcomes in the order of the tasks.

    Without Spark Connect they are elements of an RDD: a job then costs half of what it does by SQL, and a task is sent
    only its own part.
    """

    def run(found: Iterable[list[bytes]]) -> Iterator[bytes]:
        for group in found:
            yield from [_outcome(work, own, last_attempt) for own in group]

    with one_line_errors():
        context = _context(spark)
        if context is not None:
            found = context.parallelize(groups, len(groups)).mapPartitions(run).collect()
        else:
            found = _by_rows(spark, run, groups)
    count = sum(map(len, groups))
    if len(found) != count:
        raise JobError(f"Spark returned the outcomes of {len(found):,} tasks, expected {count:,}")
    return map(pickle.loads, found)


def _by_rows(
    spark: SparkSession, run: Callable[[Iterable[list[bytes]]], Iterator[bytes]], groups: list[list[bytes]]
) -> list[bytes]:
    def rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for batch in batches:
            for number in map(int, batch.column("id").to_numpy()):
                outcomes = list(run([groups[number]]))
                numbers = [pa.array([number] * len(outcomes), pa.int64()), pa.array(range(len(outcomes)))]
                yield pa.RecordBatch.from_arrays(
                    [*numbers, pa.array(outcomes, pa.binary())], ["number", "place", "outcome"]
                )

    numbers = spark.range(0, len(groups), 1, len(groups))
    found = numbers.mapInArrow(rows, "number bigint, place bigint, outcome binary").collect()
    return [row["outcome"] for row in sorted(found, key=lambda row: (row["number"], row["place"]))]


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Turns the errors of Spark into JobError."""
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    try:
        yield
    except (Py4JError, PySparkException) as error:
        raise JobError(f"the Spark job failed: {cause_of(str(error))}") from error


def _context(spark: Spark) -> SparkContext | None:
    """The context of a session; None of one of Spark Connect."""
    from pyspark import SparkContext
    from pyspark.sql.utils import is_remote

    if isinstance(spark, SparkContext):
        return spark
    return None if is_remote() else spark.sparkContext


def _setting(spark: Spark, name: str) -> str:
    """A property of the cluster; empty if it has no value."""
    context = _context(spark)
    return (spark.conf.get(name, "") if context is None else context.getConf().get(name, "")) or ""


_LOCAL: Final = re.compile(r"local(?:\[(\*|\d+)(?:,\s*(\d+))?\])?")


def _attempts(spark: Spark) -> int:
    """Number of times that Spark runs a task before it gives up."""
    local = _LOCAL.fullmatch(_setting(spark, "spark.master"))
    if local is not None:
        return int(local[2] or 1)
    return int(_setting(spark, "spark.task.maxFailures") or 4)


def threads_each(spark: Spark, tasks: int) -> int:
    """Threads for each of some tasks: with a local master its cores are shared out, elsewhere a task has one core."""
    local = _LOCAL.fullmatch(_setting(spark, "spark.master"))
    cores = "1" if local is None else local[1] or "1"
    return max(1, (os.cpu_count() or 1 if cores == "*" else int(cores)) // max(tasks, 1))


def _outcome(work: Callable[[Any], Any], task: bytes, last_attempt: int) -> bytes:
    """Runs in the worker."""
    from pyspark import TaskContext

    context = TaskContext.get()
    last = context is None or context.attemptNumber() >= last_attempt
    _last_attempt.set(last)
    try:
        return pickle.dumps({"done": work(pickle.loads(task))})  # noqa: S301 - the driver's
    except (FormatError, UsageError) as error:
        return pickle.dumps({"error": error})
    except OSError as error:
        if not last:
            raise
        name = None if error.filename is None else str(error.filename)
        return pickle.dumps({"error": OSError(error.errno, error.strerror or str(error), name)})


@contextmanager
def _watched(spark: Spark, told: Callable[[int], None]) -> Iterator[None]:
    """Calls `told` with the number of finished tasks while the block runs its one Spark job."""
    context = _context(spark)
    if context is None:

        def count(stages: Any, **_rest: Any) -> None:
            told(sum(stage.num_completed_tasks for stage in stages or ()))

        spark.registerProgressHandler(count)
        try:
            yield
        finally:
            spark.removeProgressHandler(count)
        return
    group = f"rocketspec-{uuid4().hex}"
    before = context.getLocalProperty(_GROUP)
    context.setLocalProperty(_GROUP, group)
    stop = threading.Event()

    def watch() -> None:
        tracker = context.statusTracker()
        while not stop.wait(_POLL_SECONDS):
            jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
            stages = [
                tracker.getStageInfo(stage) for job in jobs if job is not None for stage in job.stageIds
            ]
            told(sum(stage.numCompletedTasks for stage in stages if stage is not None))

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        context.setLocalProperty(_GROUP, before)  # type: ignore[arg-type]  # None takes it away
        stop.set()
        watcher.join()
