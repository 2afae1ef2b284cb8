"""Decode with `append` and `resume`: nothing twice, nothing lost, and finished work is not done again."""

import json
import random
import shutil
from pathlib import Path
from typing import Any

import pytest
from live_writer import LiveWriter, steps
from pyspark.sql import SparkSession
from rocket_spark import DecodeOptions, DecodeSummary, decode_stores, plan_decode
from rocket_spark.decode import part_tasks
from rocket_spec.errors import MalformedError, UsageError
from store_bytes import put, record, unit
from table_rows import engine_rows, part_rows

pytestmark = pytest.mark.spark

Rows = dict[str, list[Any]]
APPEND = DecodeOptions(append=True)
TABLES = ("index_headers", "index_entries", "consume_queue", "commit_log")


def expected(store: Path) -> Rows:
    rows = engine_rows(store)
    return {table: sorted(map(str, rows[table])) for table in TABLES if table in rows}


def written(out: Path) -> Rows:
    assert (out / "_SUCCESS").exists()
    listed = {file["path"] for file in json.loads((out / "_manifest.json").read_bytes())["files"]}
    parts = list(out.glob("*/part-*"))
    assert {part.relative_to(out).as_posix() for part in parts} <= listed
    return {folder.name: sorted(map(str, part_rows(folder))) for folder in {part.parent for part in parts}}


def append(spark: SparkSession, store: Path, out: Path, options: DecodeOptions = APPEND) -> DecodeSummary:
    return decode_stores(spark, store, out, TABLES, options=options)


def added(summary: DecodeSummary) -> dict[str, int]:
    return {table.table: table.rows for table in summary.tables if table.table != "index_headers"}


def test_a_store_that_grows_between_runs(
    spark: SparkSession, golden: dict[str, Path], tmp_path: Path
) -> None:
    """The writes of a broker are cut at eight places: within records, before their units, within entries."""
    store, out = tmp_path / "store", tmp_path / "out"
    todo = steps(golden["small-roll"], "small-roll")
    places = sorted(random.Random(19).sample(range(len(todo) // 8, len(todo)), 7))  # noqa: S311
    for place in [*places, len(todo)]:
        writer = LiveWriter(golden["small-roll"], store, todo, place)
        summary = append(spark, store, out)
        writer.close()
        assert not summary.gaps
    assert written(out) == expected(store)
    assert added(append(spark, store, out)) == {}
    assert written(out) == expected(store)


def test_only_what_is_new_is_decoded(spark: SparkSession, tmp_path: Path) -> None:
    store, out = tmp_path / "store", tmp_path / "out"
    first = record(0)
    second = record(len(first), queue_offset=1)
    put(store, f"commitlog/{0:020}", first.ljust(1000, b"\0"))
    put(store, f"consumequeue/T/0/{0:020}", unit(0, len(first)).ljust(200, b"\0"))
    tables = ("consume_queue", "commit_log")
    assert added(decode_stores(spark, store, out, tables, options=APPEND)) == {
        "consume_queue": 1,
        "commit_log": 1,
    }
    before = {path: path.stat().st_mtime_ns for path in out.glob("*/part-*")}
    put(store, f"commitlog/{0:020}", (first + second).ljust(1000, b"\0"))
    units = unit(0, len(first)) + unit(len(first), len(second))
    put(store, f"consumequeue/T/0/{0:020}", units.ljust(200, b"\0"))
    assert added(decode_stores(spark, store, out, tables, options=APPEND)) == {
        "consume_queue": 1,
        "commit_log": 1,
    }
    names = {path.name for path in out.glob("commit_log/part-*")}
    assert {name.rpartition("-")[2] for name in names} == {"0.parquet", f"{len(first)}.parquet"}
    assert before.items() <= {path: path.stat().st_mtime_ns for path in out.glob("*/part-*")}.items()


def logs(store: Path, kept: range) -> None:
    """Log files of 200 bytes, a record and a blank each; those that are not `kept` are deleted."""
    for number in range(4):
        path = store / "commitlog" / f"{number * 200:020}"
        if number in kept:
            data = record(number * 200, queue_offset=number)
            blank = (200 - len(data)).to_bytes(4) + 0xCBD43194.to_bytes(4)
            put(store, f"commitlog/{path.name}", (data + blank).ljust(200, b"\0"))
        else:
            path.unlink(missing_ok=True)


@pytest.mark.parametrize(("drop", "left"), [(False, [0, 1, 2, 3]), (True, [2, 3])])
def test_files_that_the_broker_deleted(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, left: list[int], *, drop: bool
) -> None:
    monkeypatch.setattr(part_tasks, "TASK_BYTES", 200)  # each file is on its own
    store, out = tmp_path / "store", tmp_path / "out"
    logs(store, range(3))
    decode_stores(spark, store, out, options=APPEND)
    logs(store, range(2, 4))
    decode_stores(spark, store, out, options=DecodeOptions(append=True, drop_expired=drop))
    assert sorted(row["queue_offset"] for row in part_rows(out / "commit_log")) == left


def test_what_was_deleted_before_it_was_decoded_is_reported(spark: SparkSession, tmp_path: Path) -> None:
    store, out = tmp_path / "store", tmp_path / "out"
    logs(store, range(1))
    decode_stores(spark, store, out, options=APPEND)
    logs(store, range(2, 4))
    (gap,) = decode_stores(spark, store, out, options=APPEND).gaps
    assert (
        gap == f"commit log: physical offsets {len(record(0))} to 400 were deleted before they were decoded"
    )


def test_a_log_that_was_cut_back_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    store, out = tmp_path / "store", tmp_path / "out"
    put(store, f"commitlog/{0:020}", (record(0) + record(len(record(0)))).ljust(1000, b"\0"))
    decode_stores(spark, store, out, options=APPEND)
    before = written(out)
    put(store, f"commitlog/{0:020}", record(0).ljust(1000, b"\0"))
    with pytest.raises(MalformedError, match="what an earlier run decoded"):
        decode_stores(spark, store, out, options=APPEND)
    assert written(out) == before


def test_other_output_is_not_appended_to(spark: SparkSession, tmp_path: Path, hand_made: Path) -> None:
    decode_stores(spark, hand_made, tmp_path / "plain", ["checkpoint"])
    with pytest.raises(UsageError, match="was not written with --append"):
        decode_stores(spark, hand_made, tmp_path / "plain", ["checkpoint"], options=APPEND)
    decode_stores(spark, hand_made, tmp_path / "out", ["checkpoint"], options=APPEND)
    with pytest.raises(UsageError, match="other tables or options"):
        decode_stores(spark, hand_made, tmp_path / "out", options=APPEND)


@pytest.mark.parametrize(
    ("manifest", "found"),
    [
        (b'{"rocketspec_manifest": 2, "job": "decode", "coverage": {}}', "version 2"),
        (b'{"rocketspec_manifest": 1, "jo', "no manifest"),
        (b"[]", "no manifest"),
    ],
)
def test_a_manifest_of_a_newer_version_or_cut_off_is_not_appended_to(
    golden: dict[str, Path], tmp_path: Path, manifest: bytes, found: str
) -> None:
    put(tmp_path, "out/_manifest.json", manifest)
    with pytest.raises(
        UsageError, match=f"_manifest.json: found {found}, expected version 1; choose a new directory"
    ):
        plan_decode(golden["mixed"], tmp_path / "out", options=APPEND)
    assert (tmp_path / "out" / "_manifest.json").read_bytes() == manifest


def test_files_of_an_append_that_was_killed_are_removed(
    spark: SparkSession, tmp_path: Path, golden: dict[str, Path]
) -> None:
    """A kill within the commit leaves files that the manifest does not list, and no `_SUCCESS`."""
    store, out = golden["small-roll"], tmp_path / "out"
    append(spark, store, out)
    stray = out / "commit_log" / "part-99999-0.parquet"
    stray.write_bytes(next(out.glob("commit_log/part-*")).read_bytes())
    (out / "_SUCCESS").unlink()
    append(spark, store, out)
    assert not stray.exists()
    assert written(out) == expected(store)


def test_work_of_other_options_of_a_changed_file_and_of_another_job_is_not_resumed(
    spark: SparkSession, golden: dict[str, Path], tmp_path: Path
) -> None:
    """Times become UTC, an index file is replaced by one of its length, and a rebuild's work is in the folder too."""
    store, out = tmp_path / "store", tmp_path / "out"
    shutil.copytree(golden["transactions"], store)
    whole = (store / "checkpoint").read_bytes()
    (store / "checkpoint").write_bytes(b"short")
    with pytest.raises(MalformedError):
        decode_stores(spark, store, tmp_path / "killed", options=DecodeOptions(resume=True))
    (tmp_path / "killed").rename(out)
    (out / "_temporary/attempts" / f"done-{'0' * 32}").write_text('{"outcome": ["log.1", {}]}')
    (store / "checkpoint").write_bytes(whole)
    index = min((store / "index").iterdir())
    changed = bytearray(index.read_bytes())
    changed[0:8] = (12345).to_bytes(8)  # beginTimestamp
    index.write_bytes(bytes(changed))
    options = DecodeOptions(resume=True, utc=True)
    decode_stores(spark, store, out, options=options)
    decode_stores(spark, store, tmp_path / "undisturbed", options=DecodeOptions(utc=True))
    assert written(out) == written(tmp_path / "undisturbed")
