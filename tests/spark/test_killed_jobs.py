"""Jobs whose driver and workers are killed are resumed: the output is that of an undisturbed run, and less is done."""

from pathlib import Path
from typing import Final

import pytest
from killed_jobs import kill_job
from pyspark.sql import SparkSession
from rocket_spark import DecodeOptions, DecodeSummary, decode_stores
from table_rows import same

pytestmark = pytest.mark.spark

_DECODE: Final = """
from rocket_spark import DecodeOptions, decode_stores
from rocket_spark.decode import part_tasks

part_tasks.TASK_BYTES = 4096
part_tasks.TASK_ENTRIES = 20
decode_stores(spark, {store!r}, {out!r}, options=DecodeOptions(resume=True))
"""


@pytest.mark.parametrize("numbers", [(5,), pytest.param((1, 2, 9, 13), marks=pytest.mark.soak)])
def test_decodes_killed_between_tasks(
    spark: SparkSession,
    golden: dict[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    numbers: tuple[int, ...],
) -> None:
    """Killed after each number of tasks, and resumed: less is done, and the output is that of an undisturbed run."""
    monkeypatch.setattr("rocket_spark.decode.part_tasks.TASK_BYTES", 4096)
    monkeypatch.setattr("rocket_spark.decode.part_tasks.TASK_ENTRIES", 20)
    store = golden["mixed"]

    def run(out: Path, *, resume: bool = False) -> tuple[DecodeSummary, int]:
        """What the job did, and how many tasks it had to run."""
        totals: list[int] = []
        done = decode_stores(
            spark,
            store,
            out,
            options=DecodeOptions(resume=resume),
            progress=lambda _what, _done, total: totals.append(total),
        )
        return done, totals[0]

    whole, tasks = run(tmp_path / "undisturbed")
    for number in numbers:
        out = tmp_path / str(number)
        kill_job(_DECODE.format(store=str(store), out=str(out)), out, number)
        assert not (out / "_SUCCESS").exists()
        done, rest = run(out, resume=True)
        assert done == whole
        same(out, tmp_path / "undisturbed")
        own = {path.name for path in out.iterdir() if path.name.startswith("_")}
        assert own == {"_SUCCESS", "_manifest.json"}
        assert rest <= tasks - number
