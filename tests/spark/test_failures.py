"""What goes wrong in mid-job leaves the output as it was: never a silent half. One line names the cause."""

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark import SparkContext
from pyspark.sql import SparkSession
from refused import refused
from rocket_spark import (
    JobError,
    decode_stores,
    follow_stores,
    plan_decode,
    plan_rebuilds,
    run_decode,
    run_rebuild,
)
from rocket_spark.decode import DecodeOptions, PartDone, PartTask
from rocket_spark.failure_causes import cause_of, reason
from rocket_spark.output import Folder

pytestmark = pytest.mark.spark


@pytest.fixture
def store(golden: dict[str, Path], tmp_path: Path) -> Path:
    """A copy of a golden store, to be changed."""
    return Path(shutil.copytree(golden["transactions"], tmp_path / "store"))


def a_full_disk(task: PartTask, folder: Folder, options: DecodeOptions) -> PartDone:
    """A file may not grow beyond 512 bytes: the write that passes it fails, as on a disk that is full."""
    import resource
    import signal

    from rocket_spark.decode import run_part

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (512, before[1]))
    try:
        return run_part(task, folder, options)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def a_worker_process_that_dies(task: PartTask, folder: Folder, options: DecodeOptions) -> PartDone:
    """On one machine a task is not run again."""
    import os

    from rocket_spark.decode import run_part

    run_part(task, folder, options)
    os._exit(3)


def a_module_that_a_worker_lacks(*_arguments: Any) -> dict[str, Any]:
    from importlib import import_module

    done: dict[str, Any] = import_module("module_that_is_nowhere").done
    return done


def a_worker_that_runs_out_of_memory(*_arguments: Any) -> dict[str, Any]:
    """The numbers are refused by NumPy: more bytes than any machine has."""
    import numpy as np

    return {"too many": np.zeros(1 << 55)}


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
                r"ship an environment \(docs/spark.md\)$"
            ),
        ),
        (
            a_worker_that_runs_out_of_memory,
            JobError,
            r"a Python worker ran out of memory: .*spark\.executor\.pyspark\.memory",
        ),
    ],
)
def test_a_task_that_fails(
    spark: SparkSession,
    store: Path,
    monkeypatch: pytest.MonkeyPatch,
    work: Callable[..., Any],
    kind: type[Exception],
    said: str,
) -> None:
    """`work` is sent to the workers in place of a decode."""
    work.__module__ = "__main__"  # sent as it is, not by name
    monkeypatch.setattr("rocket_spark.decode.run_part", work)
    with pytest.raises(kind, match=said) as caught:
        decode_stores(spark, store, store.parent / "out")
    assert "\n" not in str(caught.value)
    assert not (store.parent / "out").exists()


def test_files_that_change_or_vanish_before_their_task(here: SparkContext, store: Path) -> None:
    """An index file of zeros, a checkpoint and a log that vanish: problems of their store; a rebuild fails."""
    out = store.parent / "out"
    log, index = max((store / "commitlog").iterdir()), min((store / "index").iterdir())
    plan = plan_decode(store, out)
    job = plan_rebuilds(store, store.parent / "rebuilt")
    index.write_bytes(b"short")
    (store / "checkpoint").unlink()
    log.unlink()
    (status,) = run_decode(here, plan).status
    assert status.rows > 0
    for name in (index.name, "checkpoint", log.name):
        assert any(name in problem for problem in status.problems)
    with pytest.raises(FileNotFoundError) as caught:
        run_rebuild(here, job)
    assert caught.value.filename == str(log)
    assert not (store.parent / "rebuilt").exists()


_OLD_PYTHON = """PySparkRuntimeError: [PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.9 than that in \
driver: 3.11, PySpark cannot run with different minor versions."""


@pytest.mark.parametrize(("text", "words"), refused("cluster"))
def test_the_cause_is_named_in_one_line(text: str, words: str) -> None:
    call = "An error occurred while calling o96.count"
    told = cause_of(f"{call}.\n: org.apache.spark.SparkException: {text}".replace("\\n", "\n"))
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


@pytest.mark.soak
def test_a_stream_whose_worker_does_not_start_in_time(
    spark: SparkSession, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark's own limit, which no setting changes (`PythonWorkerFactory.createSimpleWorker`)."""
    slow = tmp_path / "python"
    slow.write_text(f'#!/bin/sh\ncase "$*" in *source_runner*) sleep 11;; esac\nexec {sys.executable} "$@"\n')
    slow.chmod(0o755)
    monkeypatch.setattr(spark.sparkContext, "pythonExec", str(slow))
    with pytest.raises(JobError, match=r"did not start within the 10 seconds .* run it again"):
        follow_stores(spark, [str(store)], str(tmp_path / "out"), str(tmp_path / "checkpoint"))
