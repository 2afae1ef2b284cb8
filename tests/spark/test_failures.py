"""What goes wrong in mid-job leaves the output whole, or as it was: never a silent half."""

from __future__ import annotations

import errno
import shutil
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest
from rocket_spec.errors import MalformedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession
    from rocket_spark.decode import PartTask

pytestmark = pytest.mark.spark


@pytest.fixture
def store(golden: dict[str, Path], tmp_path: Path) -> Path:
    """A copy of a golden store, to be changed."""
    return Path(shutil.copytree(golden["transactions"], tmp_path / "store"))


def decode_with(
    work: Callable[..., dict[str, Any]],
    spark: SparkSession,
    store: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A decode job whose tasks run `work`, which is sent to the workers."""
    from rocket_spark import decode_stores
    from rocket_spark.decode import job

    monkeypatch.setattr(job, "run_part", work)
    decode_stores(spark, store, store.parent / "out")


def test_a_full_disk(spark: SparkSession, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file may not grow beyond 512 bytes: the write that passes it fails, as on a disk that is full."""
    resource = pytest.importorskip("resource")

    def limited(task: PartTask, directory: str, *_rest: Any) -> dict[str, Any]:
        import signal

        from rocket_spark.decode import run_part

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (512, before[1]))
        try:
            return run_part(task, directory)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)

    with pytest.raises(OSError, match="File too large"):
        decode_with(limited, spark, store, monkeypatch)
    assert not (store.parent / "out").exists()


def test_a_disk_that_is_full_when_a_part_is_made_durable(
    spark: SparkSession, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(task: PartTask, directory: str, *_rest: Any) -> dict[str, Any]:
        import os
        from unittest.mock import patch

        from rocket_spark.decode import run_part

        error = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), directory)
        with patch("rocket_spark.output.local_folder.os.fsync", side_effect=error):
            return run_part(task, directory)

    with pytest.raises(OSError, match="No space left on device") as caught:
        decode_with(full, spark, store, monkeypatch)
    assert caught.value.errno == errno.ENOSPC
    assert not (store.parent / "out").exists()


def test_a_worker_process_that_dies(
    spark: SparkSession, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On one machine a task is not run again."""
    from rocket_spark import JobError

    def dying(task: PartTask, directory: str, *_rest: Any) -> dict[str, Any]:
        import os

        from rocket_spark.decode import run_part

        done = run_part(task, directory)
        if task.number == 1:
            os._exit(3)
        return done

    with pytest.raises(
        JobError, match=r"^the Spark job failed: a Python worker died, .*memoryOverhead"
    ) as caught:
        decode_with(dying, spark, store, monkeypatch)
    assert "\n" not in str(caught.value)
    assert not (store.parent / "out").exists()


def test_a_module_that_a_worker_lacks(
    spark: SparkSession, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rocket_spark import JobError

    def importing(*_arguments: Any) -> dict[str, Any]:
        from importlib import import_module

        done: dict[str, Any] = import_module("module_that_is_nowhere").done
        return done

    with pytest.raises(JobError) as caught:
        decode_with(importing, spark, store, monkeypatch)
    assert str(caught.value) == (
        "the Spark job failed: a worker lacks the Python module module_that_is_nowhere: install it there, or ship an "
        "environment (docs/spark-clusters.md)"
    )


def test_a_worker_that_runs_out_of_memory(
    spark: SparkSession, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The numbers are refused by NumPy: more bytes than any machine has."""
    from rocket_spark import JobError

    def greedy(*_arguments: Any) -> dict[str, Any]:
        import numpy as np

        return {"too many": np.zeros(1 << 55)}

    with pytest.raises(
        JobError, match=r"a Python worker ran out of memory: .*spark\.executor\.pyspark\.memory"
    ) as caught:
        decode_with(greedy, spark, store, monkeypatch)
    assert "\n" not in str(caught.value)


def test_a_file_that_grows(spark: SparkSession, store: Path) -> None:
    from rocket_spark import plan_decode, run_decode

    plan = plan_decode(store, store.parent / "out", ["commit_log"])
    with max((store / "commitlog").iterdir()).open("ab") as log:
        log.write(bytes(100))
    with pytest.raises(MalformedError, match="as when the job began"):
        run_decode(spark, plan)
    assert not (store.parent / "out").exists()


def test_a_file_that_grows_while_it_is_read(
    spark: SparkSession, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def growing(task: PartTask, directory: str, *_rest: Any) -> dict[str, Any]:
        from unittest.mock import patch

        from rocket_spark.decode import part

        def grow(*arguments: Any) -> Any:
            yield from decoded(*arguments)
            with task.files[-1].path.open("ab") as opened:
                opened.write(bytes(20))

        decoded = part.batches
        with patch.object(part, "batches", grow):
            return part.run_part(task, directory)

    with pytest.raises(MalformedError, match="as when the job began"):
        decode_with(growing, spark, store, monkeypatch)
    assert not (store.parent / "out").exists()


def test_a_log_file_that_vanishes_from_a_rebuild(spark: SparkSession, store: Path) -> None:
    from rocket_spark import plan_rebuilds, run_rebuild

    job = plan_rebuilds(store, store.parent / "out")
    gone = max((store / "commitlog").iterdir())
    gone.unlink()
    with pytest.raises(FileNotFoundError) as caught:
        run_rebuild(spark, job)
    assert caught.value.filename == str(gone)
    assert not (store.parent / "out").exists()


def test_an_attempt_that_outlives_its_job(store: Path) -> None:
    """Its folder is gone, and it does not make it again."""
    from rocket_spark.decode import plan_decode, run_part

    plan = plan_decode(store, store.parent / "out")
    with pytest.raises(FileNotFoundError):
        run_part(plan.tasks[0], str(store.parent / "out" / "_temporary" / "attempts"))
    assert not (store.parent / "out").exists()


def test_a_commit_that_fails_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from rocket_spark.output import Output, attempt, local_folder

    out = tmp_path / "out"

    def job(text: str) -> None:
        with Output(out, overwrite=True) as output:
            with attempt(output.folder, "part") as path:
                path.write_text(text)
            output.commit({"table/part": path.name}, {})

    def fail(path: Path) -> None:
        if path == out:
            raise OSError(errno.EIO, "a fault that a test put here")

    job("old")
    monkeypatch.setattr(local_folder, "_sync_directory", fail)
    with pytest.raises(OSError, match="a fault"):
        job("new")
    assert (out / "table" / "part").read_text() == "old"
    assert {path.name for path in out.iterdir()} == {"table", "_manifest.json", "_SUCCESS"}


def test_an_attempt_that_is_gone_fails_the_commit(tmp_path: Path) -> None:
    from rocket_spark import JobError
    from rocket_spark.output import Output

    with (
        pytest.raises(JobError, match="written by a task and missing since"),
        Output(tmp_path / "out") as output,
    ):
        output.commit({"table/part": "part.0"}, {})
    assert not (tmp_path / "out").exists()


def test_what_came_into_the_folder_meanwhile_is_kept(tmp_path: Path) -> None:
    from rocket_spark import JobError
    from rocket_spark.output import Output, attempt

    out = tmp_path / "out"
    with Output(out) as output:
        with attempt(output.folder, "part") as path:
            path.write_text("new")
        (out / "notes.txt").write_text("mine")
        with pytest.raises(JobError, match="appeared while the job ran"):
            output.commit({"table/part": path.name}, {})
    assert {path.name for path in out.iterdir()} == {"notes.txt"}


def test_a_task_that_still_writes_leaves_nothing_in_the_finished_folder(tmp_path: Path) -> None:
    """The slower copy of a speculative task ends while the driver removes what it does not need."""
    from rocket_spark.output import Output, attempt, local_folder

    out = tmp_path / "out"

    def slower_copy(folder: str) -> None:
        with suppress(FileNotFoundError):
            for number in range(3000):
                local_folder.note_locally(folder, f"entry-{number}", "done")

    with Output(out) as output:
        with attempt(output.folder, "part") as path:
            path.write_text("new")
        writer = Thread(target=slower_copy, args=[output.folder])
        writer.start()
        output.commit({"table/part": path.name}, {})
    writer.join()
    assert {path.name for path in out.iterdir()} == {"table", "_manifest.json", "_SUCCESS"}
