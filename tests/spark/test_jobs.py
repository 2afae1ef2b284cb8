"""Jobs over every golden store at once, and the output folder: whole, or what it was before."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pyarrow.parquet as pq
import pytest
from far_storage import Far, s3  # noqa: F401 - a fixture
from rocket_columnar.audit import audit
from rocket_columnar.decode import decode as engine
from rocket_columnar.store import find_files
from rocket_spec.errors import MalformedError, UsageError
from rocket_spec.layout import Geometry
from store_bytes import Entry, index_file, put, record

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def rows(store: Path) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for table, batch in engine(find_files(store), on_gap=lambda _: None):
        found.setdefault(table, []).extend(batch.to_pylist())
    return found


def written(out: Path, store: str) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for folder in sorted(out.glob(f"*/store={store}")):
        for part in sorted(folder.iterdir()):
            found.setdefault(folder.parent.name, []).extend(pq.ParquetFile(part).read().to_pylist())
    return found


def test_every_golden_store_row_for_row(spark: SparkSession, golden: dict[str, Path], tmp_path: Path) -> None:
    from rocket_spark import decode_stores

    summary = decode_stores(spark, list(golden.values()), tmp_path / "out")
    assert summary.stores == len(golden)
    for name, store in golden.items():
        assert written(tmp_path / "out", name) == rows(store), name
    read = spark.read.parquet(str(tmp_path / "out" / "commit_log"))
    counted = {row["store"]: row["count"] for row in read.groupBy("store").count().collect()}
    assert counted == {name: len(rows(store)["commit_log"]) for name, store in golden.items()}


def test_a_large_index_file_is_divided(
    spark: SparkSession, golden: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rocket_spark import decode_stores
    from rocket_spark.decode import part_tasks

    monkeypatch.setattr(part_tasks, "TASK_BYTES", 1)
    monkeypatch.setattr(part_tasks, "TASK_ENTRIES", 50)
    tables = ["index_headers", "index_entries"]
    summary = decode_stores(spark, golden["transactions"], tmp_path / "out", tables)
    headers, entries = summary.tables
    assert headers.parts < entries.parts
    for table, expected in rows(golden["transactions"]).items():
        parts = sorted((tmp_path / "out" / table).glob("part-*")) if table in tables else []
        found = [row for part in parts for row in pq.ParquetFile(part).read().to_pylist()]
        assert table not in tables or found == expected


def test_an_index_file_that_was_replaced_meanwhile_fails_the_job(
    spark: SparkSession, golden: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rocket_spark import plan_decode, run_decode
    from rocket_spark.decode import part_tasks

    index = min((golden["transactions"] / "index").iterdir())
    copy = tmp_path / "store" / "index" / index.name
    copy.parent.mkdir(parents=True)
    copy.write_bytes(index.read_bytes())
    monkeypatch.setattr(part_tasks, "TASK_ENTRIES", 50)
    plan = plan_decode(tmp_path / "store", tmp_path / "out", ["index_entries"])
    copy.write_bytes(bytes(len(index.read_bytes())))
    with pytest.raises(MalformedError, match="as when the job began"):
        run_decode(spark, plan)
    assert not (tmp_path / "out").exists()


def test_overwrite_replaces_when_all_is_written(spark: SparkSession, hand_made: Path, tmp_path: Path) -> None:
    from rocket_spark import decode_stores, plan_decode, run_decode

    store, out = tmp_path / "store", tmp_path / "out"
    store.mkdir()
    (store / "checkpoint").write_bytes((hand_made / "checkpoint").read_bytes())
    decode_stores(spark, hand_made, out, ["index_headers"])
    plan = plan_decode(store, out, overwrite=True)
    (store / "checkpoint").unlink()
    with pytest.raises(FileNotFoundError):
        run_decode(spark, plan)
    assert {path.name for path in out.iterdir()} == {"index_headers", "_manifest.json", "_SUCCESS"}
    (store / "checkpoint").write_bytes((hand_made / "checkpoint").read_bytes())
    run_decode(spark, plan)
    assert {path.name for path in out.iterdir()} == {"checkpoint", "_manifest.json", "_SUCCESS"}


def test_overwrite_refuses_what_no_job_wrote(hand_made: Path, tmp_path: Path) -> None:
    from rocket_spark import plan_decode

    (tmp_path / "notes.txt").touch()
    with pytest.raises(UsageError, match=r"contains 'notes\.txt', which was not written by rocketspec"):
        plan_decode(hand_made, tmp_path, overwrite=True)


def test_what_a_killed_job_left_is_named(hand_made: Path, tmp_path: Path) -> None:
    from rocket_spark import plan_decode

    (tmp_path / "out" / "_temporary").mkdir(parents=True)
    with pytest.raises(UsageError, match="a job is writing there, or was killed"):
        plan_decode(hand_made, tmp_path / "out")
    assert plan_decode(hand_made, tmp_path / "out", overwrite=True).files > 0


def test_names_of_stores() -> None:
    from rocket_spark.stores import name_stores

    assert list(name_stores(["/data/a/store", "/data/b/store"])) == ["a/store", "b/store"]
    assert list(name_stores("/data/a/store")) == [""]
    with pytest.raises(UsageError, match="no store to read"):
        name_stores([])
    with pytest.raises(UsageError, match="/a/b/c: overlaps /a/b"):
        name_stores(["/a/b/c", "/a/b-c", "/a/b"])


def test_stores_on_s3(
    spark: SparkSession,
    hand_made: Path,
    s3: Far,  # noqa: F811
    tmp_path: Path,
) -> None:
    from rocket_spark import audit_stores, decode_stores

    stores = {"a/store": hand_made, "b/store": hand_made}
    uris = [s3.upload(store, f"jobs/{name}") for name, store in stores.items()]
    decode_stores(spark, uris, tmp_path / "out", storage=s3.options)
    for name, store in stores.items():
        assert written(tmp_path / "out", quote(name, safe="")) == rows(store)
    found = list(audit_stores(spark, uris, storage=s3.options))
    assert found == [(name, finding) for name, store in stores.items() for finding in audit(store)]


def test_every_key_is_looked_up_on_s3(spark: SparkSession, s3: Far, tmp_path: Path) -> None:  # noqa: F811
    """4.9.3 stops at an entry with a negative time diff (IDX-SEL-5): the older one in its chain is not found."""
    from rocket_spark import audit_stores

    store = tmp_path / "store"
    first = record(
        0, properties=b"KEYS\1a\2"
    )  # "T#a" hashes to 84 * 31^2 + 35 * 31 + 97 = 81,906, "T#h" to 7 more
    put(store, f"commitlog/{0:020}", first + record(len(first), queue_offset=1, properties=b"KEYS\1h\2"))
    shape = Geometry(7, 12)
    puts = [Entry(81_906, 0, 0), Entry(81_913, len(first), -1)]
    put(store, "index/20260101000000000", index_file(*shape, puts))
    deep, usual = (list(audit(store, level, geometry=shape)) for level in ("deep", "default"))
    more = [finding for finding in deep if finding not in usual]
    assert {finding.code for finding in more} == {"index.missing_key"}
    uri = s3.upload(store, "jobs/looked-up")
    assert list(audit_stores(spark, uri, "deep", geometry=shape, storage=s3.options)) == [
        ("", finding) for finding in deep
    ]


def test_a_job_of_many_waves_and_of_large_tasks(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    from rocket_spark import tasks as runner

    tasks = [SimpleNamespace(store="ab"[number % 2], number=number) for number in range(5)]
    common = {"a": 10, "b": 20}

    def work(task: Any, common: int) -> int:
        return int(task.number) + common

    monkeypatch.setattr(runner, "WAVE_TASKS", 2)
    for room in (64 << 20, 0):
        monkeypatch.setattr(runner, "TASK_BYTES", room)
        assert runner.run_tasks(spark, work, tasks, what="sums", common=common) == [10, 21, 12, 23, 14]
