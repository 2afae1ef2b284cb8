"""`rebuild_stores` against the single-machine rebuild, byte for byte."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from rocket_columnar.log import RULES_4_9_3
from rocket_columnar.rebuild import BrokerRules, Dispatched, dispatch_log, rebuild
from rocket_columnar.store import find_files
from rocket_spark import plan_rebuilds, rebuild_stores
from rocket_spark.files import LocalStorage, state_of
from rocket_spark.output import Folder, Output
from rocket_spark.rebuild_tasks import LogTask, dispatch_task
from rocket_spec.errors import UsageError
from rocket_spec.layout import Geometry
from table_rows import contents, same

pytestmark = pytest.mark.spark

RULES = BrokerRules(light=True, keys=RULES_4_9_3)


def test_every_golden_store_in_one_job(spark: SparkSession, golden: dict[str, Path], tmp_path: Path) -> None:
    done = rebuild_stores(spark, list(golden.values()), tmp_path / "out")
    assert done.keys() == golden.keys()
    for name, store in golden.items():
        assert done[name] == rebuild(store, tmp_path / "whole" / name)
        same(tmp_path / "out" / name, tmp_path / "whole" / name)


def test_one_store_of_another_geometry(spark: SparkSession, golden: dict[str, Path], tmp_path: Path) -> None:
    options: Any = {"geometry": Geometry(11, 40), "queue_file_size": 100}
    seen: list[tuple[str, int, int]] = []
    done = rebuild_stores(
        spark, golden["mixed"], tmp_path / "out", progress=lambda *told: seen.append(told), **options
    )
    assert done == {"": rebuild(golden["mixed"], tmp_path / "whole", **options)}
    same(tmp_path / "out", tmp_path / "whole")
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "index", "consumequeue", "_manifest.json", "_SUCCESS"
    }  # fmt: skip
    manifest = json.loads((tmp_path / "out" / "_manifest.json").read_bytes())
    assert [file["path"] for file in manifest["files"]] == contents(tmp_path / "out")
    assert {what for what, _, _ in seen} == {"commit logs", "index files and queues"}


def test_a_log_file_that_is_missing_is_told(
    spark: SparkSession, golden: dict[str, Path], tmp_path: Path
) -> None:
    store = Path(shutil.copytree(golden["small-roll"], tmp_path / "store"))
    missing = sorted((store / "commitlog").iterdir())[1]
    missing.unlink()
    done = rebuild_stores(spark, store, tmp_path / "out")[""]
    assert [(finding.code, finding.file) for finding in done.findings] == [
        ("log.gap", f"commitlog/{missing.name}")
    ]
    assert done.files == rebuild(store, tmp_path / "whole").files


def test_what_is_wrong_is_said_before_spark_starts(golden: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="contains no commit log"):
        plan_rebuilds(golden["mixed"] / "index", tmp_path / "out")
    with pytest.raises(UsageError, match="is inside a store that is read"):
        plan_rebuilds(golden["mixed"], golden["mixed"] / "new")
    with pytest.raises(UsageError, match="overlaps"):
        plan_rebuilds([golden["mixed"], golden["mixed"] / "commitlog"], tmp_path / "out")
    with pytest.raises(UsageError, match="named twice"):
        plan_rebuilds([golden["mixed"], golden["mixed"]], tmp_path / "out")


@pytest.mark.parametrize("kept", [False, True], ids=["read by this job only", "kept for a later run"])
def test_dispatched_columns_are_synced_if_a_later_run_may_read_them(
    golden: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, kept: bool
) -> None:
    synced: list[str] = []
    monkeypatch.setattr(
        os, "fsync", lambda number: synced.append(str(Path(f"/proc/self/fd/{number}").readlink()))
    )
    log = next(file for file in find_files(golden["mixed"]) if file.kind == "log")
    task = LogTask("", log, state_of(log), last=True, buckets=1, rules=RULES, kept=kept)
    folder, _ = dispatch_task(task, Folder(LocalStorage(), str(tmp_path)))
    written = {str(path) for path in (tmp_path / folder).iterdir()}
    assert {"units", "topics.json", "key_hash"} <= {Path(path).name for path in written}
    assert set(synced) == ({*written, str(tmp_path / folder)} if kept else set())


def test_own_files_that_changed_are_compared_anew(
    spark: SparkSession, golden: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commit fails; then one byte of a queue file and of an index file is damaged. Only these two are written."""
    store, out = Path(shutil.copytree(golden["mixed"], tmp_path / "store")), tmp_path / "out"

    def broken(*_arguments: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Output, "commit", broken)
        with pytest.raises(OSError, match="No space left"):
            rebuild_stores(spark, store, out, only_missing=True, resume=True)
    first = next(
        path for path in sorted(store.glob("consumequeue/*/*/*")) if path.read_bytes()[:20].strip(b"\0")
    )
    damaged = [first, min((store / "index").iterdir())]
    for path in damaged:
        data = bytearray(path.read_bytes())
        data[16] ^= 1
        path.write_bytes(bytes(data))
    rebuild_stores(spark, store, out, only_missing=True, resume=True)
    queue = first.relative_to(store).as_posix()
    assert [name for name in contents(out) if not name.startswith("index/")] == [queue]
    assert len(contents(out)) == 2
    assert (out / queue).read_bytes() == (golden["mixed"] / queue).read_bytes()


def test_what_a_log_gave_survives_json(golden: dict[str, Path], tmp_path: Path) -> None:
    """Of golden logs, and of one with a gap."""
    store = Path(shutil.copytree(golden["mixed"], tmp_path / "store"))
    first = min((store / "commitlog").iterdir())
    data = first.read_bytes()
    first.write_bytes(data[:4] + bytes(4) + data[8:])
    for path in (store, golden["lmq"]):
        for file in find_files(path, "log"):
            done = dispatch_log(
                file, tmp_path / f"{path.name}-{file.path.name}", last=False, buckets=2, rules=RULES
            )
            assert Dispatched.from_plain(json.loads(json.dumps(done.as_plain()))) == done
            assert bool(done.gaps) == (file.path == first)
