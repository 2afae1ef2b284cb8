"""Jobs whose driver and workers are killed are resumed: the output is that of an undisturbed run, and less is done."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import pytest
from killed_jobs import kill_job
from pyspark.sql import SparkSession
from rocket_spark import DecodeOptions, decode_stores
from table_rows import same

pytestmark = pytest.mark.spark

_DECODE: Final = """
from rocket_spark import DecodeOptions, decode_stores
from rocket_spark.decode import part_tasks

part_tasks.TASK_BYTES = 4096
part_tasks.TASK_ENTRIES = 20
decode_stores(spark, {store!r}, {out!r}, options=DecodeOptions(resume=True))
"""


class _Count:
    """The number of tasks that a job has to run, by its progress."""

    def __init__(self) -> None:
        self._of_phase: dict[str, int] = {}

    def __call__(self, what: str, _done: int, total: int) -> None:
        self._of_phase.setdefault(what, total)

    @property
    def tasks(self) -> int:
        return sum(self._of_phase.values())


def kills(folder: Path, job: str, store: Path, run: Callable[..., Any], numbers: Sequence[int]) -> None:
    """A job killed after each number of tasks, and resumed: less is done, and the output is that of an undisturbed run."""
    every = _Count()
    done = run(folder / "undisturbed", progress=every)
    for number in numbers:
        out = folder / str(number)
        kill_job(job.format(store=str(store), out=str(out)), out, number)
        assert not (out / "_SUCCESS").exists()
        rest = _Count()
        assert run(out, resume=True, progress=rest) == done
        same(out, folder / "undisturbed")
        own = {path.name for path in out.iterdir() if path.name.startswith("_")}
        assert own == {"_SUCCESS", "_manifest.json"}
        assert rest.tasks <= every.tasks - number


@pytest.mark.parametrize("numbers", [(5,), pytest.param((1, 2, 9, 13), marks=pytest.mark.soak)])
def test_decodes_killed_between_tasks(
    spark: SparkSession,
    golden: dict[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    numbers: tuple[int, ...],
) -> None:
    monkeypatch.setattr("rocket_spark.decode.part_tasks.TASK_BYTES", 4096)
    monkeypatch.setattr("rocket_spark.decode.part_tasks.TASK_ENTRIES", 20)

    def run(out: Path, *, resume: bool = False, progress: _Count) -> None:
        decode_stores(spark, golden["mixed"], out, options=DecodeOptions(resume=resume), progress=progress)

    kills(tmp_path, _DECODE, golden["mixed"], run, numbers)
