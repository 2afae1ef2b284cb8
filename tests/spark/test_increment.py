"""`spark decode --increment`: what stores have gained, each row once, whatever was killed, and stores that come later."""

import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from rocket_spark import DecodeOptions, Increment, JobError, follow_stores
from rocket_spark.sources import FOLLOWED
from rocket_spec.errors import UsageError
from store_bytes import put
from streams import appended, expected, killed_increment
from table_rows import table_rows
from verb_run import Run

pytestmark = pytest.mark.spark


def test_a_run_that_is_killed_and_stores_that_come_later(
    spark: SparkSession, verb: Run, golden: dict[str, Path], tmp_path: Path
) -> None:
    fleet, out, checkpoint = tmp_path / "fleet", tmp_path / "out", tmp_path / "checkpoint"
    stores = [Path(shutil.copytree(golden[name], fleet / name)) for name in ("mixed", "small-roll")]
    words = ("decode", f"{fleet}/*", "-o", out, "--increment", checkpoint)
    killed_increment(f"{fleet}/*", out, checkpoint)
    assert not list(checkpoint.glob("commit_log/commits/[0-9]*"))
    assert verb(*words).code == 0
    for table in FOLLOWED:
        assert appended(spark, out, table) == expected(stores, table)
    assert (
        verb(*words).out
        == f"commit_log: 0 rows appended to {out}/commit_log\nconsume_queue: 0 rows appended to {out}/consume_queue\n"
    )
    stores.append(Path(shutil.copytree(golden["lmq"], fleet / "lmq")))
    (fleet / "bad").mkdir()
    done = verb(*words)
    assert (done.code, done.err) == (
        1,
        f"rocketspec: {fleet}/bad: failed: {fleet}/bad: contains no consume-queue file\n",
    )
    for table in FOLLOWED:
        assert appended(spark, out, table) == expected(stores, table)


def test_the_layout_of_increments(spark: SparkSession, golden: dict[str, Path], tmp_path: Path) -> None:
    options = DecodeOptions(utc=True, key_list=True, partition_by=("store", "date"))
    out = tmp_path / "out"
    done = follow_stores(
        spark,
        [f"m={golden['mixed']}"],
        str(out),
        str(tmp_path / "checkpoint"),
        ["commit_log"],
        options=options,
    )
    rows = table_rows(golden["mixed"], "commit_log")
    assert done == Increment({"commit_log": len(rows)}, {})
    assert [path.name for path in out.glob("commit_log/store=*")] == ["store=m"]
    assert list(out.glob("commit_log/store=m/date=20*/part-*"))
    found = {row["phy_offset"]: row["key_list"] for row in spark.read.parquet(f"{out}/commit_log").collect()}
    assert found == {
        row["phy_offset"]: [key for key in row["keys"].split(" ") if key] if row["keys"] else None
        for row in rows
    }


def test_folders_that_do_not_belong_together(
    spark: SparkSession, golden: dict[str, Path], tmp_path: Path
) -> None:
    """Spark's own sink drops batches whose numbers it has already written, and readers ignore files that it did not write."""
    store = Path(shutil.copytree(golden["mixed"], tmp_path / "store"))
    put(tmp_path, "begun/commit_log/_spark_metadata/0", b"")
    put(tmp_path, "decoded/commit_log/part-00000.parquet", b"")
    for name in ("offsets", "commits"):
        put(tmp_path, f"used/commit_log/{name}/3", b"")
    for out, checkpoint, said in (
        ("begun", "new", "was not written with the checkpoint"),
        ("decoded", "new", "was not written with the checkpoint"),
        ("new", "used", "was not written with the checkpoint"),
        ("begun", "used", "was not written with the checkpoint"),
        ("store/out", "new", "is inside a store that is read"),
        ("new", "store/checkpoint", "is inside a store that is read"),
        ("new", "new", "are different directories"),
    ):
        with pytest.raises(UsageError, match=said):
            follow_stores(
                spark, [str(store)], str(tmp_path / out), str(tmp_path / checkpoint), ["commit_log"]
            )
    put(tmp_path, "file", b"")
    (tmp_path / "late/commit_log/_spark_metadata").mkdir(parents=True)  # a run whose worker did not start
    with pytest.raises(JobError, match=r"^\S+Exception: "):
        follow_stores(spark, [str(store)], str(tmp_path / "late"), str(tmp_path / "file"), ["commit_log"])
