"""Runs many tasks on Spark, one Python call each: every job here is made of these.

Spark places, retries and speculates the tasks. The result of a task is returned as a row. So are errors that no retry
can cure: they reach the caller as they were raised, not as a Java stack trace. Nothing here needs a JVM in the driver:
it works over Spark Connect too.
"""

from __future__ import annotations

import os
import pickle
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from rocket_spec.errors import FormatError, UsageError

from rocket_spark.failure_causes import cause_of

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession


Progress = Any
"""`(what, done, total)`: called now and then with the number of finished tasks and of all tasks."""

WAVE_TASKS: Final = 10_000
"""Maximum number of tasks in one Spark job: over Spark Connect each task is sent all of its wave."""

_WAVE_BYTES: Final = 32 << 20
"""Maximum size of the tasks in one Spark job, for the same reason."""

TASK_BYTES: Final = 64 << 20
"""Spark refuses to send a task of more than 128 MiB by itself; one so large goes the way of Spark Connect."""

_GROUP_BYTES: Final = 64 << 20
"""Small neighbours share a Spark task up to this many bytes."""

_TASK_COST: Final = 1 << 20
"""Cost of a task beside its bytes, in bytes."""

_POLL_SECONDS: Final = 0.2

_GROUP: Final = "spark.jobGroup.id"

_shared: dict[str, Any] = {}
"""What the tasks of a worker share, by its id: of one store at a time."""

Failures = dict[str, Exception]
"""The first error of each store that failed, by the store's name."""


class JobError(RuntimeError):
    """A Spark job that failed; the message is one line."""


_last_attempt: ContextVar[bool] = ContextVar("last_attempt", default=True)


def is_last_attempt() -> bool:
    """In a task: whether Spark does not run it again if it fails."""
    return _last_attempt.get()


def silent(_what: str, _done: int, _total: int) -> None:
    """Discards progress updates."""


def run_tasks(
    spark: SparkSession,
    work: Callable[..., Any],
    tasks: Sequence[Any],
    *,
    what: str,
    progress: Progress = silent,
    common: Mapping[str, Any] | None = None,
    failed: Failures | None = None,
) -> list[Any]:
    """The results of `work` for `tasks`, in their order.

    A task may run more than once, and twice at a time: exactly one of its runs is in the result. OSErrors are left to
    Spark to retry, perhaps on another worker, and are returned after the last attempt.

    Args:
        spark: the session, of Spark Connect too.
        work: is sent to the workers; takes a task, and what it shares with others if `common` is given.
        tasks: are sent to the workers; with the attributes `store`, and `weight`, bytes that each reads: small neighbours
            share a Spark task.
        what: a word for the progress.
        progress: see `Progress`.
        common: what the tasks of a store share, by its name; unpickled once in each worker process.
        failed: receives the first error of each store, instead of raising it. The result of a task that failed is None.

    Raises:
        FormatError: or UsageError, OSError, as `work` raised it; of several the first in the order of the tasks.
        JobError: Spark gave up.
    """
    last_attempt = _attempts(spark) - 1
    results: list[Any] = []
    progress(what, 0, len(tasks))
    for wave in _waves(tasks, common or {}):
        share = sum(map(len, wave.groups)) / len(wave.groups)
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


@dataclass(slots=True)
class _Wave:
    """Tasks of one Spark job.

    Attributes:
        groups: pickled tasks, each with the name of what it shares with others, None for nothing; one Spark task each.
        parts: what tasks share, pickled, each with an id of its own; sent once.
    """

    groups: list[list[tuple[bytes, str | None]]] = field(default_factory=list)
    parts: dict[str | None, tuple[str, bytes]] = field(default_factory=dict)


def _waves(tasks: Sequence[Any], common: Mapping[str, Any]) -> Iterator[_Wave]:
    shared: dict[str | None, tuple[str, bytes]] = {
        name: (uuid4().hex, pickle.dumps(part)) for name, part in common.items()
    }
    wave = _Wave()
    size = room = 0
    for task in tasks:
        own, name = pickle.dumps(task), task.store if shared else None
        part = shared[name][1] if shared else b""
        added = len(own) + (0 if name in wave.parts else len(part))
        weight = task.weight + _TASK_COST
        joins = bool(wave.groups) and weight <= room
        if wave.groups and ((len(wave.groups) == WAVE_TASKS and not joins) or size + added > _WAVE_BYTES):
            yield wave
            wave, size, added, joins = _Wave(), 0, len(own) + len(part), False
        if joins:
            wave.groups[-1].append((own, name))
            room -= weight
        else:
            wave.groups.append([(own, name)])
            room = _GROUP_BYTES - weight
        if name is not None:
            wave.parts[name] = shared[name]
        size += added
    if wave.groups:
        yield wave


def _run(
    spark: SparkSession, work: Callable[..., Any], wave: _Wave, last_attempt: int
) -> Iterator[dict[str, Any]]:
    """The outcomes in the order of the tasks.

    Without Spark Connect they are elements of an RDD: a job then costs half of what it does by SQL, and a task is sent
    only its own part.
    """
    from pyspark.sql.utils import is_remote

    by_rows = is_remote() or any(len(own) > TASK_BYTES for group in wave.groups for own, _ in group)
    with one_line_errors():
        found = (_run_rows if by_rows else _run_elements)(spark, work, wave, last_attempt)
    count = sum(map(len, wave.groups))
    if len(found) != count:
        raise JobError(f"Spark returned the outcomes of {len(found):,} tasks, expected {count:,}")
    return map(pickle.loads, found)


def _run_elements(
    spark: SparkSession, work: Callable[..., Any], wave: _Wave, last_attempt: int
) -> list[bytes]:
    parts = wave.parts

    def run(groups: Iterable[list[tuple[bytes, str | None]]]) -> Iterator[bytes]:
        for group in groups:
            yield from [_outcome(work, own, parts.get(name), last_attempt) for own, name in group]

    return spark.sparkContext.parallelize(wave.groups, len(wave.groups)).mapPartitions(run).collect()


def _run_rows(spark: SparkSession, work: Callable[..., Any], wave: _Wave, last_attempt: int) -> list[bytes]:
    groups, parts = wave.groups, wave.parts

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for batch in batches:
            for number in batch.column("id").to_numpy():
                outcomes = [
                    _outcome(work, own, parts.get(name), last_attempt) for own, name in groups[number]
                ]
                yield pa.RecordBatch.from_pydict(
                    {
                        "number": pa.array([int(number)] * len(outcomes), pa.int64()),
                        "place": pa.array(range(len(outcomes)), pa.int64()),
                        "outcome": pa.array(outcomes, pa.binary()),
                    }
                )

    numbers = spark.range(0, len(groups), 1, len(groups))
    rows = numbers.mapInArrow(run, "number bigint, place bigint, outcome binary").collect()
    found = {(row["number"], row["place"]): row["outcome"] for row in rows}
    return [found[place] for place in sorted(found)]


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Turns the errors of Spark into JobError."""
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    try:
        yield
    except (Py4JError, PySparkException) as error:
        raise JobError(f"the Spark job failed: {cause_of(str(error))}") from error


_LOCAL: Final = re.compile(r"local(?:\[(\*|\d+)(?:,\s*(\d+))?\])?")


def _attempts(spark: SparkSession) -> int:
    """Number of times that Spark runs a task before it gives up."""
    local = _LOCAL.fullmatch(spark.conf.get("spark.master", "") or "")
    if local is not None:
        return int(local[2] or 1)
    return int(spark.conf.get("spark.task.maxFailures", "4") or 4)


def threads_each(spark: SparkSession, tasks: int) -> int:
    """Threads for each of some tasks: with a local master its cores are shared out, elsewhere a task has one core."""
    local = _LOCAL.fullmatch(spark.conf.get("spark.master", "") or "")
    cores = "1" if local is None else local[1] or "1"
    return max(1, (os.cpu_count() or 1 if cores == "*" else int(cores)) // max(tasks, 1))


def _unpickled(common: tuple[str, bytes]) -> Any:
    """Data that tasks share, kept in the worker's process for those that follow."""
    name, data = common
    if name not in _shared:
        _shared.clear()
        _shared[name] = pickle.loads(data)  # noqa: S301 - the driver's
    return _shared[name]


def _outcome(
    work: Callable[..., Any], task: bytes, common: tuple[str, bytes] | None, last_attempt: int
) -> bytes:
    """Runs in the worker."""
    from pyspark import TaskContext

    context = TaskContext.get()
    last = context is None or context.attemptNumber() >= last_attempt
    _last_attempt.set(last)
    try:
        arguments = [pickle.loads(task)]  # noqa: S301 - the driver's
        if common is not None:
            arguments.append(_unpickled(common))
        return pickle.dumps({"done": work(*arguments)})
    except (FormatError, UsageError) as error:
        return pickle.dumps({"error": error})
    except OSError as error:
        if not last:
            raise
        name = None if error.filename is None else str(error.filename)
        return pickle.dumps({"error": OSError(error.errno, error.strerror or str(error), name)})


@contextmanager
def _watched(spark: SparkSession, told: Callable[[int], None]) -> Iterator[None]:
    """Calls `told` with the number of finished tasks while the block runs its one Spark job."""
    from pyspark.sql.utils import is_remote

    if is_remote():

        def count(stages: Any, **_rest: Any) -> None:
            told(sum(stage.num_completed_tasks for stage in stages or ()))

        handler: Any = count
        spark.registerProgressHandler(handler)
        try:
            yield
        finally:
            spark.removeProgressHandler(handler)
        return
    context = spark.sparkContext
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
