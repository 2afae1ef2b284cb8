"""Many tasks on Spark, one Python call each: what every job here is made of.

Each task is a Spark partition of its own, so Spark places, retries and speculates it. What a task gives comes back
as a row, and errors that no retry can cure come back in the same way, whole, instead of as a Java stack trace.
Nothing here needs the JVM in the driver: it works over Spark Connect too.
"""

from __future__ import annotations

import gc
import pickle
import re
import sys
import threading
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from rocket_spec.errors import FormatError, InvalidError, MalformedError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import pyarrow as pa
    from pyspark.sql import SparkSession

__all__ = ["JobError", "Progress", "cores", "one_line_errors", "run_tasks", "silent"]

Progress = Any
"""`(what, done, total)`: called now and then with the number of finished tasks and of all tasks."""

_WAVE_TASKS: Final = 10_000
_WAVE_BYTES: Final = 32 << 20
"""Tasks of one Spark job, and bytes of them, at most: over Spark Connect each task is sent all of its wave."""

_TASK_BYTES: Final = 64 << 20
"""Spark refuses to send a task of more than 128 MiB by itself; one so large goes the way of Spark Connect."""

_POLL_SECONDS: Final = 0.2

_GROUP: Final = "spark.jobGroup.id"

_FORMAT_ERRORS: Final = {error.__name__: error for error in (FormatError, InvalidError, MalformedError)}

_LAST_WORDS: Final = re.compile(r"^\s*(?:[\w.]+\.)?(\w*(?:Error|Exception|Interrupt)): (.+)$", re.MULTILINE)


_settled = 0
"""Modules of a worker when it was last settled."""


class JobError(RuntimeError):
    """A Spark job that did not come to its end; the message is one line."""


def silent(_what: str, _done: int, _total: int) -> None:
    """Tells nobody."""


def cores(spark: SparkSession) -> int | None:
    """How many tasks run at a time; None over Spark Connect, which does not say."""
    from pyspark.sql.utils import is_remote

    return None if is_remote() else int(spark.sparkContext.defaultParallelism)


def run_tasks(
    spark: SparkSession,
    work: Callable[..., Any],
    tasks: Sequence[Any],
    *,
    what: str,
    progress: Progress = silent,
    common: Mapping[str, Any] | None = None,
) -> list[Any]:
    """What `work` gives for each of `tasks`, in their order; each runs in a Spark task of its own.

    A task may run more than once, and twice at a time: exactly one of its runs is in the answer. OSErrors are left to
    Spark to retry, elsewhere perhaps, and come back after the last attempt.

    Args:
        spark: the session, of Spark Connect too.
        work: is sent to the workers; takes a task, and what it has in common with others where that is given.
        tasks: are sent to the workers.
        what: a word for the progress.
        progress: see `Progress`.
        common: what tasks have in common, by their attribute `store`.

    Raises:
        FormatError: or UsageError, OSError, as `work` raised it; of several the first in the order of the tasks.
        JobError: Spark gave up.
    """
    last_attempt = _attempts(spark) - 1
    results: list[Any] = []
    progress(what, 0, len(tasks))
    for wave in _waves(tasks, common or {}):
        watch = _watched(spark, lambda done: progress(what, len(results) + done, len(tasks)))
        with nullcontext() if progress is silent else watch:
            outcomes = _run(spark, work, wave, last_attempt)
        for outcome in outcomes:
            _raise_error(outcome)
            results.append(outcome["done"])
    progress(what, len(tasks), len(tasks))
    return results


@dataclass(slots=True)
class _Wave:
    """Pickled tasks, each with the name of its pickled common part, None for none; these parts are sent once."""

    tasks: list[tuple[bytes, str | None]] = field(default_factory=list)
    parts: dict[str | None, bytes] = field(default_factory=dict)


def _waves(tasks: Sequence[Any], common: Mapping[str, Any]) -> Iterator[_Wave]:
    shared: dict[str | None, bytes] = {name: pickle.dumps(part) for name, part in common.items()}
    wave = _Wave()
    size = 0
    for task in tasks:
        own, name = pickle.dumps(task), task.store if shared else None
        part = shared.get(name, b"")
        added = len(own) + (0 if name in wave.parts else len(part))
        if wave.tasks and (len(wave.tasks) == _WAVE_TASKS or size + added > _WAVE_BYTES):
            yield wave
            wave, size, added = _Wave(), 0, len(own) + len(part)
        wave.tasks.append((own, name))
        if name is not None:
            wave.parts[name] = part
        size += added
    if wave.tasks:
        yield wave


def _run(
    spark: SparkSession, work: Callable[..., Any], wave: _Wave, last_attempt: int
) -> Iterator[dict[str, Any]]:
    """The outcomes in the order of the tasks.

    Without Spark Connect they are elements of an RDD: a job costs half of what it does by SQL, and a task is sent only
    its own part.
    """
    from pyspark.sql.utils import is_remote

    by_rows = is_remote() or any(len(own) > _TASK_BYTES for own, _ in wave.tasks)
    with one_line_errors():
        found = (_run_rows if by_rows else _run_elements)(spark, work, wave, last_attempt)
    if len(found) != len(wave.tasks):
        raise JobError(
            f"Spark gave the outcomes of {len(found):,} tasks, not of the {len(wave.tasks):,} that ran"
        )
    return map(pickle.loads, found)


def _run_elements(
    spark: SparkSession, work: Callable[..., Any], wave: _Wave, last_attempt: int
) -> list[bytes]:
    parts = wave.parts

    def run(tasks: Iterable[tuple[bytes, str | None]]) -> Iterator[bytes]:
        for own, name in tasks:
            outcome = _outcome(work, own, parts.get(name), last_attempt)
            _settle()
            yield outcome

    return spark.sparkContext.parallelize(wave.tasks, len(wave.tasks)).mapPartitions(run).collect()


def _run_rows(spark: SparkSession, work: Callable[..., Any], wave: _Wave, last_attempt: int) -> list[bytes]:
    tasks, parts = wave.tasks, wave.parts

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for batch in batches:
            numbers = [int(number) for number in batch.column("id").to_numpy()]
            mine = [tasks[number] for number in numbers]
            outcomes = [_outcome(work, own, parts.get(name), last_attempt) for own, name in mine]
            _settle()
            yield pa.RecordBatch.from_pydict(
                {"task": pa.array(numbers, pa.int64()), "outcome": pa.array(outcomes, pa.binary())}
            )

    numbers = spark.range(0, len(tasks), 1, len(tasks))
    found = {
        row["task"]: row["outcome"]
        for row in numbers.mapInArrow(run, "task bigint, outcome binary").collect()
    }
    return [found[number] for number in sorted(found)]


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Turns the errors of Spark into JobError."""
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    try:
        yield
    except (Py4JError, PySparkException) as error:
        said = _LAST_WORDS.findall(str(error).partition("Driver stacktrace")[0])
        first = str(error).strip().partition("\n")[0]
        told = f"{first} ({': '.join(said[-1])})" if said and said[-1][1] not in first else first
        raise JobError(f"the Spark job failed: {told}") from error


def _attempts(spark: SparkSession) -> int:
    """How often Spark runs a task before it gives up."""
    master = spark.conf.get("spark.master", "") or ""
    local = re.fullmatch(r"local(?:\[[^,\]]*(?:,\s*(\d+))?\])?", master)
    if local is not None:
        return int(local[1] or 1)
    return int(spark.conf.get("spark.task.maxFailures", "4") or 4)


def _outcome(work: Callable[..., Any], task: bytes, common: bytes | None, last_attempt: int) -> bytes:
    """Runs in the worker."""
    from pyspark import TaskContext

    try:
        arguments = [pickle.loads(part) for part in (task, common) if part is not None]  # noqa: S301 - the driver's
        return pickle.dumps({"done": work(*arguments)})
    except FormatError as error:
        fields: dict[str, Any] = {
            "found": str(error.found),
            "expected": str(error.expected),
            "file": error.file,
            "offset": error.offset,
            "clause": error.clause,
        }
        return pickle.dumps({"error": type(error).__name__, "fields": fields})
    except UsageError as error:
        return pickle.dumps({"error": "UsageError", "fields": {"message": str(error)}})
    except OSError as error:
        context = TaskContext.get()
        if context is not None and context.attemptNumber() < last_attempt:
            raise
        fields = {
            "errno": error.errno,
            "strerror": error.strerror or str(error),
            "filename": _text(error.filename),
        }
        return pickle.dumps({"error": "OSError", "fields": fields})


def _settle() -> None:
    """Takes what a worker has imported out of what is searched for garbage, which PySpark does after each task.

    Compiled code and all it imports are a hundred thousand objects and more, which stay; a search of them is longer
    than many a task.
    """
    global _settled  # noqa: PLW0603 - of the worker's process
    if _settled != len(sys.modules):
        gc.collect()
        gc.freeze()
        _settled = len(sys.modules)


def _text(name: object) -> str | None:
    return None if name is None else str(name)


def _raise_error(outcome: dict[str, Any]) -> None:
    """Raises again, in the driver, the error that an outcome carries, if it does."""
    name = outcome.get("error")
    if name is None:
        return
    fields = outcome["fields"]
    if name in _FORMAT_ERRORS:
        raise _FORMAT_ERRORS[name](**fields)
    if name == "OSError":
        raise OSError(fields["errno"], fields["strerror"], fields["filename"])
    raise UsageError(fields["message"])


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
