"""What goes wrong in mid-job leaves the output as it was: never a silent half. One line names the cause."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from rocket_spark import (
    JobError,
    decode_stores,
    plan_decode,
    plan_rebuilds,
    run_decode,
    run_rebuild,
)
from rocket_spark.decode import PartTask
from rocket_spark.failure_causes import cause_of, reason
from rocket_spark.output import Folder
from rocket_spec.errors import MalformedError

pytestmark = pytest.mark.spark


@pytest.fixture
def store(golden: dict[str, Path], tmp_path: Path) -> Path:
    """A copy of a golden store, to be changed."""
    return Path(shutil.copytree(golden["transactions"], tmp_path / "store"))


def a_full_disk(task: PartTask, folder: Folder, *_rest: Any) -> dict[str, Any]:
    """A file may not grow beyond 512 bytes: the write that passes it fails, as on a disk that is full."""
    import resource
    import signal

    from rocket_spark.decode import run_part

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (512, before[1]))
    try:
        return run_part(task, folder)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def a_worker_process_that_dies(task: PartTask, folder: Folder, *_rest: Any) -> dict[str, Any]:
    """On one machine a task is not run again."""
    import os

    from rocket_spark.decode import run_part

    done = run_part(task, folder)
    if task.number == 1:
        os._exit(3)
    return done


def a_module_that_a_worker_lacks(*_arguments: Any) -> dict[str, Any]:
    from importlib import import_module

    done: dict[str, Any] = import_module("module_that_is_nowhere").done
    return done


def a_worker_that_runs_out_of_memory(*_arguments: Any) -> dict[str, Any]:
    """The numbers are refused by NumPy: more bytes than any machine has."""
    import numpy as np

    return {"too many": np.zeros(1 << 55)}


def a_file_that_grows_while_it_is_read(task: PartTask, folder: Folder, *_rest: Any) -> dict[str, Any]:
    from unittest.mock import patch

    from rocket_spark.decode import part

    decoded = part.batches

    def grow(*arguments: Any) -> Any:
        yield from decoded(*arguments)
        with task.files[-1].path.open("ab") as opened:
            opened.write(bytes(20))

    with patch.object(part, "batches", grow):
        return part.run_part(task, folder)


@pytest.mark.parametrize(
    ("work", "kind", "said"),
    [
        (a_full_disk, OSError, "File too large"),
        (
            a_worker_process_that_dies,
            JobError,
            "^the Spark job failed: a Python worker died, .*memoryOverhead",
        ),
        (
            a_module_that_a_worker_lacks,
            JobError,
            (
                "^the Spark job failed: a worker lacks the Python module module_that_is_nowhere: install it there, or "
                r"ship an environment \(docs/spark-clusters.md\)$"
            ),
        ),
        (
            a_worker_that_runs_out_of_memory,
            JobError,
            r"a Python worker ran out of memory: .*spark\.executor\.pyspark\.memory",
        ),
        (a_file_that_grows_while_it_is_read, MalformedError, "as when the job began"),
    ],
)
def test_a_task_that_fails(
    spark: SparkSession,
    store: Path,
    monkeypatch: pytest.MonkeyPatch,
    work: Callable[..., dict[str, Any]],
    kind: type[Exception],
    said: str,
) -> None:
    """`work` is sent to the workers in place of a decode."""
    work.__module__ = "__main__"  # sent as it is, not by name
    monkeypatch.setattr("rocket_spark.decode.job.run_part", work)
    with pytest.raises(kind, match=said) as caught:
        decode_stores(spark, store, store.parent / "out")
    assert "\n" not in str(caught.value)
    assert not (store.parent / "out").exists()


def test_files_that_change_or_vanish_before_their_task(
    spark: SparkSession, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A log that grows; an index file that is replaced by one of its length; a checkpoint and a log that vanish."""
    out = store.parent / "out"
    monkeypatch.setattr("rocket_spark.decode.part_tasks.TASK_ENTRIES", 50)
    log, index = max((store / "commitlog").iterdir()), min((store / "index").iterdir())
    plans = [plan_decode(store, out, [table]) for table in ("commit_log", "checkpoint")]
    with monkeypatch.context() as patch:
        patch.setattr("rocket_spark.decode.part_tasks.TASK_BYTES", 1)  # each index file is on its own
        plans.append(plan_decode(store, out, ["index_entries"]))
    job = plan_rebuilds(store, out)
    with log.open("ab") as opened:
        opened.write(bytes(100))
    index.write_bytes(bytes(index.stat().st_size))
    for plan in plans[::2]:
        with pytest.raises(MalformedError, match="as when the job began"):
            run_decode(spark, plan)
    (store / "checkpoint").unlink()
    log.unlink()
    for run, gone in (
        (lambda: run_decode(spark, plans[1]), "checkpoint"),
        (lambda: run_rebuild(spark, job), log),
    ):
        with pytest.raises(FileNotFoundError) as caught:
            run()
        assert caught.value.filename == str(store / gone)
    assert not out.exists()


def test_an_attempt_that_outlives_its_job(store: Path) -> None:
    """Its folder is gone, and it does not make it again."""
    from rocket_spark.decode import run_part
    from rocket_spark.output import Output

    plan = plan_decode(store, store.parent / "out")
    with pytest.raises(FileNotFoundError):
        run_part(plan.tasks[0], Output(store.parent / "out").folder)
    assert not (store.parent / "out").exists()


_OLD_PYTHON = """PySparkRuntimeError: [PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.9 than that in \
driver: 3.11, PySpark cannot run with different minor versions."""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "Job aborted.\nCaused by: java.lang.OutOfMemoryError: Java heap space\n\tat x",
            "raise spark.driver.memory",
        ),
        (
            "ExecutorLostFailure (executor 2 exited) Reason: Container from a bad node: c_1. Exit status: 137.",
            "spark.executor.memoryOverhead",
        ),
        (
            "... ExecutorLostFailure (executor 1 exited) Reason: Remote RPC client disassociated.",
            "an executor was lost",
        ),
        (
            'Job aborted ... java.io.IOException: Cannot run program "/opt/py/bin/python3": error=2, No such file',
            "a worker has no Python at /opt/py/bin/python3: set PYSPARK_PYTHON",
        ),
        (
            "Total size of serialized results of 9 tasks is bigger than spark.driver.maxResultSize (1024.0 MiB)",
            "exceed spark.driver.maxResultSize",
        ),
        ("Job 3 cancelled because SparkContext was shut down", "SparkException: Job 3 cancelled"),
    ],
)
def test_the_cause_is_named_in_one_line(text: str, words: str) -> None:
    """Of errors that only a cluster has, in the form that Spark gives them."""
    call = "An error occurred while calling o96.count"
    told = cause_of(f"{call}.\n: org.apache.spark.SparkException: {text}")
    assert words in told
    assert "\n" not in told
    assert call not in told
    assert "set PYSPARK_PYTHON" in cause_of(_OLD_PYTHON)
    assert cause_of(call).startswith("Spark gave no reason")


@pytest.mark.parametrize(
    ("raised", "said"),
    [
        ("rocket_spec.errors.UsageError: option mode: 'X' is none of A", "option mode: 'X' is none of A"),
        ("FileNotFoundError: [Errno 2] No: 'x'", "[Errno 2] No: 'x'"),
        ("UsageError: a\x1b]0;owned\x07 has no such file", r"a\x1b]0;owned\x07 has no such file"),
        (  # PySpark's planner of streams has no reader to stop where the source refuses, and reports that last.
            "UsageError: option path: one store\nUnboundLocalError: cannot access local variable 'reader' where it is",
            "option path: one store",
        ),
    ],
)
def test_the_reason_of_a_source_is_the_last_line_of_python(raised: str, said: str) -> None:
    text = (
        "[PYTHON_DATA_SOURCE_ERROR] Failed to plan: Traceback (most recent call last):\n"
        f'  File "x.py", line 1, in plan\n{raised}\n SQLSTATE: 38000\n\tat org.apache.spark.X.y(X.scala:1)\n'
    )
    assert reason(RuntimeError(text)) == said
    assert reason(ValueError("one line")) == "one line"
