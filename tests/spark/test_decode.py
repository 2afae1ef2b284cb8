"""`decode_stores` and `rocketspec spark decode`: Parquet written inside the tasks, whole or not at all."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest
from rocket_spec.errors import FormatError, UsageError
from store_bytes import blank, record

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def parquet_rows(folder: Path) -> list[dict[str, Any]]:
    parts = sorted(folder.iterdir())
    assert all(part.name.startswith("part-") for part in parts)
    return [row for part in parts for row in pq.ParquetFile(part).read().to_pylist()]


def written(out: Path) -> list[Path]:
    assert (out / "_SUCCESS").exists()
    return sorted(path for path in out.iterdir() if not path.name.startswith("_"))


def decoded_rows(store: Path, tables: list[str] | None = None) -> dict[str, list[dict[str, Any]]]:
    from rocket_columnar.decode import decode
    from rocket_columnar.store import find_files

    rows: dict[str, list[dict[str, Any]]] = {}
    for table, batch in decode(find_files(store), tables=tables):
        rows.setdefault(table, []).extend(batch.to_pylist())
    return rows


def command(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "rocketspec", "spark", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**os.environ, **environment},
    )


@pytest.mark.parametrize("number", [0, 1, 2])
def test_rows_equal_decode(spark: SparkSession, stores: list[Path], number: int, tmp_path: Path) -> None:
    from rocket_spark import decode_stores

    store = stores[number]
    summary = decode_stores(spark, store, tmp_path / "out")
    rows = {path.name: parquet_rows(path) for path in written(tmp_path / "out")}
    assert rows == decoded_rows(store)
    assert {table.table: table.rows for table in summary.tables} == {
        table: len(each) for table, each in rows.items()
    }


def test_spark_reads_what_was_written(spark: SparkSession, hand_made: Path, tmp_path: Path) -> None:
    from rocket_spark import decode_stores
    from rocket_spark.schema import spark_schema

    decode_stores(spark, hand_made, tmp_path / "out")
    for folder in written(tmp_path / "out"):
        assert spark.read.parquet(str(folder)).schema == spark_schema(folder.name)


def test_only_the_tables_asked_for(spark: SparkSession, hand_made: Path, tmp_path: Path) -> None:
    from rocket_spark import decode_stores

    tables = ["index_headers", "checkpoint"]
    summary = decode_stores(spark, hand_made, tmp_path / "out", tables)
    assert [path.name for path in written(tmp_path / "out")] == sorted(tables)
    assert summary.files == 3


def test_small_files_share_a_part(spark: SparkSession, hand_made: Path, tmp_path: Path) -> None:
    from rocket_spark import decode_stores

    summary = decode_stores(spark, hand_made, tmp_path / "out", ["index_entries"])
    assert [(table.rows, table.parts) for table in summary.tables] == [(6, 1)]


def test_large_files_have_parts_of_their_own(
    spark: SparkSession, hand_made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rocket_spark import decode_stores
    from rocket_spark.decode import part_tasks

    monkeypatch.setattr(part_tasks, "TASK_BYTES", 300)
    summary = decode_stores(spark, hand_made, tmp_path / "out", ["index_entries"])
    assert [(table.rows, table.parts) for table in summary.tables] == [(6, 2)]
    assert parquet_rows(tmp_path / "out" / "index_entries") == decoded_rows(hand_made)["index_entries"]


def test_out_that_is_not_empty_is_refused(spark: SparkSession, hand_made: Path, tmp_path: Path) -> None:
    from rocket_spark import decode_stores

    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="not an empty directory"):
        decode_stores(spark, hand_made, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_an_unknown_table_is_refused(spark: SparkSession, hand_made: Path, tmp_path: Path) -> None:
    from rocket_spark import decode_stores

    with pytest.raises(UsageError, match=r"table entries: unknown; choose from index_headers, .*"):
        decode_stores(spark, hand_made, tmp_path / "out", ["entries"])
    assert not (tmp_path / "out").exists()


def test_a_table_without_files_is_refused(spark: SparkSession, hand_made: Path, tmp_path: Path) -> None:
    from rocket_spark import decode_stores

    with pytest.raises(UsageError, match="no file that table commit_log is decoded from"):
        decode_stores(spark, hand_made / "index", tmp_path / "out", ["commit_log"])


def test_a_file_that_cannot_be_decoded_leaves_nothing(spark: SparkSession, tmp_path: Path) -> None:
    from rocket_spark import decode_stores

    store = tmp_path / "store"
    store.mkdir()
    (store / "checkpoint").write_bytes(b"short")
    with pytest.raises(FormatError) as caught:
        decode_stores(spark, store, tmp_path / "out")
    assert "checkpoint" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_a_file_that_vanishes_fails_the_job(spark: SparkSession, hand_made: Path, tmp_path: Path) -> None:
    from rocket_spark import plan_decode, run_decode

    store = tmp_path / "store"
    store.mkdir()
    (store / "checkpoint").write_bytes((hand_made / "checkpoint").read_bytes())
    plan = plan_decode(store, tmp_path / "out")
    (store / "checkpoint").unlink()
    with pytest.raises(FileNotFoundError) as caught:
        run_decode(spark, plan)
    assert caught.value.filename == str(store / "checkpoint")
    assert not (tmp_path / "out").exists()


def test_progress_counts_tasks(spark: SparkSession, hand_made: Path, tmp_path: Path) -> None:
    from rocket_spark import decode_stores

    seen: list[tuple[str, int, int]] = []
    decode_stores(spark, hand_made, tmp_path / "out", progress=lambda *told: seen.append(told))
    assert seen[-1] == ("decode", 5, 5)


def test_command_writes_the_rows_of_decode(java: str, hand_made: Path, tmp_path: Path) -> None:
    plain, out = tmp_path / "plain", tmp_path / "out"
    subprocess.run(
        [sys.executable, "-m", "rocketspec", "decode", str(hand_made), "-o", str(plain)], check=True
    )
    done = command("decode", str(hand_made), "-o", str(out), "--master", "local[1]", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    expected = {path.stem: pq.read_table(path).to_pylist() for path in plain.iterdir()}
    assert {folder.name: parquet_rows(folder) for folder in written(out)} == expected
    summary = json.loads(done.stdout)
    assert {table["table"]: table["rows"] for table in summary["tables"]} == {
        table: len(rows) for table, rows in expected.items()
    }


def test_out_in_the_store_is_refused(hand_made: Path) -> None:
    from rocket_spark import plan_decode

    with pytest.raises(UsageError, match="is inside a store that is read"):
        plan_decode(hand_made / "index", hand_made / "tables")


@pytest.mark.parametrize("geometry", ["7", "7,x", "0,12", "1,2,3"])
def test_command_names_a_bad_geometry(hand_made: Path, tmp_path: Path, geometry: str) -> None:
    done = command("decode", str(hand_made), "-o", str(tmp_path / "out"), "--geometry", geometry)
    assert done.returncode == 2
    assert done.stderr.startswith(f"rocketspec: geometry {geometry!r}: ")
    assert done.stderr.count("\n") == 1


def test_command_names_a_missing_store_before_spark_starts(tmp_path: Path) -> None:
    done = command("decode", str(tmp_path / "nowhere"), "-o", str(tmp_path / "out"), PATH="", JAVA_HOME="")
    assert (done.returncode, done.stderr) == (
        3,
        f"rocketspec: {tmp_path / 'nowhere'}: no such file or directory\n",
    )


def test_command_without_java_says_so(hand_made: Path, tmp_path: Path) -> None:
    done = command("decode", str(hand_made), "-o", str(tmp_path / "out"), PATH="", JAVA_HOME="")
    assert done.returncode == 3
    assert done.stderr.count("\n") == 1
    assert "pip install rocketspec[spark]" in done.stderr
    assert not (tmp_path / "out").exists()


def test_command_without_pyspark_names_the_extra(hand_made: Path, tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "pyspark.py").write_text("raise ModuleNotFoundError('No module', name='pyspark')\n")
    done = command("decode", str(hand_made), "-o", str(tmp_path / "out"), PYTHONPATH=str(tmp_path / "site"))
    assert (done.returncode, done.stderr) == (
        2,
        "rocketspec: spark needs pyspark, which is not installed: pip install 'rocketspec[spark]'\n",
    )


def test_gaps_between_tasks_are_those_of_decode(
    spark: SparkSession, hand_made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rocket_columnar.decode import decode as engine
    from rocket_columnar.store import find_files
    from rocket_spark import decode_stores
    from rocket_spark.decode import part_tasks

    log = (hand_made / "commitlog" / "00000000000000000000").read_bytes()
    folder = tmp_path / "store" / "commitlog"
    folder.mkdir(parents=True)
    size = len(log)
    contents = {
        0: log,
        1: log[:4] + bytes(4) + log[8:],
        2: log[:600] + bytes(size - 600),
        3: bytes(size),
        5: bytes(size),
    }
    for number, content in contents.items():
        (folder / f"{number * size:020}").write_bytes(content)
    whole: list[str] = []
    for _ in engine(find_files(tmp_path / "store"), on_gap=lambda gap: whole.append(str(gap))):
        pass
    assert len(whole) > 1

    monkeypatch.setattr(part_tasks, "TASK_BYTES", size)
    summary = decode_stores(spark, tmp_path / "store", tmp_path / "out")
    assert [table.parts for table in summary.tables] == [5]
    assert list(summary.gaps) == whole


def ranged(
    spark: SparkSession, files: dict[int, bytes], step: int, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[list[dict[str, Any]], list[str], int]:
    """Rows, gaps and parts of log files, by their base offsets, of which a task takes `step` bytes."""
    from rocket_spark import decode_stores
    from rocket_spark.decode import part_tasks

    log = folder / "store" / "commitlog"
    log.mkdir(parents=True)
    for offset, content in files.items():
        (log / f"{offset:020}").write_bytes(content)
    monkeypatch.setattr(part_tasks, "TASK_BYTES", step)
    summary = decode_stores(spark, folder / "store", folder / "out")
    (table,) = summary.tables
    return parquet_rows(folder / "out" / "commit_log"), list(summary.gaps), table.parts


def test_ranges_of_a_log_file_give_its_rows_and_gaps_once(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
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
    rows, gaps, parts = ranged(spark, files, 250, tmp_path, monkeypatch)
    assert [row["phy_offset"] for row in rows] == offsets
    third, fourth = (offsets[2::4], offsets[3::4])
    size = len(record(0, body=b""))
    lost = [(begin + size, end) for begin, end in zip(third, fourth, strict=True)]
    holes = [(1400, 2000), (3400, 4000)]
    found = [re.search(r"([\d,]+) to ([\d,]+)", gap) for gap in gaps]
    assert [
        tuple(int(number.replace(",", "")) for number in match.groups())
        for match in found
        if match is not None
    ] == [lost[0], holes[0], lost[1], holes[1], lost[2]]
    assert parts == 6 + 6 + -(-(fourth[2] + size - 4000) // 250)


def test_a_frame_in_a_body_is_no_record_where_a_range_begins(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = [record(offset, body=b"", queue_offset=7) for offset in (300, 600)]
    body = bytes(300 - 88) + inner[0].ljust(300, b"\0") + inner[1]
    log = record(0, body=body)
    log += record(len(log), queue_offset=1)
    assert log[300:].startswith(inner[0])
    assert log[600:].startswith(inner[1])
    rows, gaps, parts = ranged(spark, {0: log}, 150, tmp_path, monkeypatch)
    assert [row["queue_offset"] for row in rows] == [0, 1]
    assert (gaps, parts) == ([], -(-len(log) // 150))
