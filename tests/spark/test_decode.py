"""`decode_stores` and `rocketspec spark decode`: Parquet written inside the tasks, the rows and gaps of `decode`."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark import SparkContext
from rocket_spark import DecodeOptions, decode_stores, plan_decode, run_decode
from rocket_spark.stores import store_tasks
from rocket_spec.errors import MalformedError, UsageError
from store_bytes import blank, put, record
from table_rows import Row, engine_rows, part_rows

pytestmark = pytest.mark.spark


def written(out: Path, store: object = None) -> dict[str, list[Row]]:
    """The rows by table, of one store of several if it is named."""
    assert (out / "_SUCCESS").exists()
    found = {
        folder.name: part_rows(folder) for folder in sorted(out.iterdir()) if not folder.name.startswith("_")
    }
    rows = {table: [row for row in rows if store in (None, row["store"])] for table, rows in found.items()}
    return {
        table: [{name: value for name, value in row.items() if name != "store"} for row in mine]
        for table, mine in rows.items()
        if mine or store is None
    }


def test_overwrite_replaces_when_all_is_written(here: SparkContext, hand_made: Path, tmp_path: Path) -> None:
    store, out = tmp_path / "store", tmp_path / "out"
    tables = ["checkpoint", "index_headers"]
    assert decode_stores(here, hand_made, out, tables).files == 3
    assert sorted(written(out)) == tables
    put(store, "checkpoint", b"short")
    with pytest.raises(MalformedError, match="checkpoint"):
        decode_stores(here, store, out, overwrite=True, options=DecodeOptions(fail_fast=True))
    assert sorted(written(out)) == tables
    shutil.copy(hand_made / "checkpoint", store)
    plan = plan_decode(store, out, overwrite=True)
    run_decode(here, plan)
    assert {path.name for path in out.iterdir()} == {"checkpoint", "_SUCCESS"}


def test_tasks_are_cut_by_bytes_on_disk_and_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """150 queue files of 6,000,000 bytes each that have one unit: 900 MB by their lengths, 600 kB on disk. A task has 51."""
    monkeypatch.setattr("rocket_spark.reading.parts.PART_BYTES", 13 << 20)
    for number in range(150):
        path = tmp_path / "store" / "consumequeue" / "T" / str(number) / f"{0:020}"
        path.parent.mkdir(parents=True)
        with path.open("wb") as file:
            file.write(bytes(8) + (100).to_bytes(4) + bytes(8))
            file.truncate(6_000_000)
    plan = plan_decode(tmp_path / "store", tmp_path / "out")
    assert len(plan.tasks) == 3


def test_names_of_stores() -> None:
    """The same whatever else is read: its path, or the name that it is given."""

    def names(*stores: str) -> list[str]:
        return [task.store for task in store_tasks(stores)]

    assert names("/data/a/store", "b=/data/b/store") == ["/data/a/store", "b"]
    assert names("/data/./a/store/") == ["/data/a/store"]
    assert names("s3a://bucket/a/", "/data/x=y") == ["s3://bucket/a", "/data/x=y"]
    for stores, said in (
        (["a=/data/a", "a=/data/b"], "a: names two stores, /data/a and /data/b"),
        ([], "no store to read"),
        (["/a/b/c", "/a/b-c", "/a/b"], "/a/b/c: overlaps /a/b"),
        (["/a", "/a/"], "/a: named twice"),
    ):
        with pytest.raises(UsageError, match=said):
            names(*stores)


def ranged(
    here: SparkContext, files: dict[int, bytes], step: int, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[list[dict[str, Any]], list[str], int]:
    """Rows, gaps and parts of log files, by their base offsets, of which a task takes `step` bytes."""
    for offset, content in files.items():
        put(folder / "store", f"commitlog/{offset:020}", content)
    monkeypatch.setattr("rocket_spark.reading.parts.PART_BYTES", step)
    summary = decode_stores(here, folder / "store", folder / "out")
    (table,) = summary.tables
    return written(folder / "out")["commit_log"], list(summary.gaps), table.parts


def test_gaps_between_tasks_are_those_of_decode(
    here: SparkContext, hand_made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = (hand_made / "commitlog" / "00000000000000000000").read_bytes()
    size = len(log)
    files = {
        0: log,
        1: log[:4] + bytes(4) + log[8:],
        2: log[:600] + bytes(size - 600),
        3: bytes(size),
        5: bytes(size),
    }
    rows, gaps, parts = ranged(
        here, {number * size: data for number, data in files.items()}, size, tmp_path, monkeypatch
    )
    whole: list[str] = []
    assert rows == engine_rows(tmp_path / "store", whole)["commit_log"]
    assert len(gaps) > 1
    assert (gaps, parts) == (whole, 5)


def test_ranges_of_a_log_file_give_its_rows_and_gaps_once(
    here: SparkContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A record over two boundaries, a gap over one, the blank, a hole between files, room that is not written."""
    files: dict[int, bytes] = {}
    offsets = []
    for base in (0, 2000, 4000):
        log = b""
        for body, behind in ((b"", b""), (bytes(500), b""), (b"", b"x" * 300), (b"", b"")):
            offsets.append(base + len(log))
            log += record(base + len(log), body=body) + behind
        files[base] = log + (blank(1400 - len(log)) if base < 4000 else bytes(1400 - len(log)))
    rows, gaps, parts = ranged(here, files, 250, tmp_path, monkeypatch)
    assert [row["phy_offset"] for row in rows] == offsets
    third, fourth = (offsets[2::4], offsets[3::4])
    size = len(record(0, body=b""))
    lost = [(begin + size, end) for begin, end in zip(third, fourth, strict=True)]
    found = [re.findall(r"([\d,]+) to ([\d,]+)", gap.replace(",", ""))[0] for gap in gaps]
    assert [(int(begin), int(end)) for begin, end in found] == [
        lost[0], (1400, 2000), lost[1], (3400, 4000), lost[2]
    ]  # fmt: skip
    assert parts == 6 + 6 + -(-(fourth[2] + size - 4000) // 250)


def test_the_command_in_a_store_that_brings_modules_and_a_spark_of_its_own(
    java: str, hand_made: Path, tmp_path: Path
) -> None:
    """The rows of `decode`, and nothing of the working directory runs: in the driver, in workers, or above it."""
    pwned = tmp_path / "PWNED"
    store, out = tmp_path / "above/store", tmp_path / "out"
    shutil.copytree(hand_made, store)
    for name in ("numpy", "pyarrow", "pandas", "rocket_columnar", "rocket_spark", "rocketspec"):
        put(store, f"{name}.py", f"open({str(pwned)!r}, 'a').write({name!r})\n".encode())
    put(store.parent, "jars/any.jar", b"")
    put(store.parent, "bin/spark-submit", f"#!/bin/sh\necho spark > {pwned}\n".encode())
    (store.parent / "bin" / "spark-submit").chmod(0o755)
    environment = {
        name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "SPARK_HOME")
    }
    beside = Path(sys.executable).with_name("rocketspec")
    words: list[str | Path] = [beside, "spark", "decode", ".", "-o", out, "--master", "local[1]", "--json"]
    done = subprocess.run(
        words, cwd=store, env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert not pwned.exists()
    expected = engine_rows(hand_made)
    assert written(out) == expected
    summary = {table["table"]: table["rows"] for table in json.loads(done.stdout)["tables"]}
    assert summary == {table: len(rows) for table, rows in expected.items()}
