"""`audit_stores`: the findings of the single-machine audit, on golden stores and on those with planted defects."""

import json
import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from rocket_golden import open_store
from rocket_spark import JobStore, audit_stores, decode_stores, rebuild_stores
from verb_run import Run

pytestmark = pytest.mark.spark

FEW = ("mixed", "ext", "lmq", "killed-restarted", "dledger", "dledger-group-rejoined")


def test_the_verb_states_the_signs_of_a_later_release(
    verb: Run, golden: dict[str, Path], tmp_path: Path
) -> None:
    """A long that is not zero at byte 40 of the checkpoint, as 5.5.0 writes it; 4.9.3 writes zeros there."""
    later = shutil.copytree(golden["mixed"], tmp_path / "later")
    data = bytearray((later / "checkpoint").read_bytes())
    data[40:48] = (4711).to_bytes(8)
    (later / "checkpoint").write_bytes(data)
    shutil.rmtree(later / "index")
    done = verb("audit", later)
    assert "written by 5.x: 4,711 in the checkpoint at byte 40" in done.err.replace("\n", " ")
    assert "index.missing_key" in done.out
    assert "--rocketmq-profile RELEASE --apply" in " ".join(done.out.split())


def test_the_verb_names_a_missing_store_before_spark_starts(verb: Run, tmp_path: Path) -> None:
    done = verb("audit", tmp_path / "nowhere")
    assert done == (3, "", f"rocketspec: {tmp_path / 'nowhere'}: no such file or directory\n")


def test_the_verb_rebuilds(verb: Run, golden: dict[str, Path], tmp_path: Path) -> None:
    done = verb("rebuild", golden["mixed"], "-o", tmp_path / "out", "--json")
    facts = json.loads(done.out)
    assert (done.code, done.err) == (0, "")
    assert facts["store"] == str(golden["mixed"])
    assert all((tmp_path / "out" / file).is_file() for file in facts["files"])
    assert verb("rebuild", golden["mixed"], "-o", tmp_path / "out").code == 2
    assert verb("rebuild", golden["mixed"], "-o", tmp_path / "out", "--overwrite").code == 0


def test_stores_with_commit_logs_of_their_own(
    spark: SparkSession, golden: dict[str, Path], tmp_path: Path
) -> None:
    store = open_store("many-paths", tmp_path)
    folders = tuple(str(store / f"commitlog-{letter}") for letter in "abc")
    stores: list[JobStore | Path] = [JobStore(store, folders), golden["lmq"]]
    assert {name: list(report) for name, report in audit_stores(spark, stores).items()} == {
        str(store): [],
        str(golden["lmq"]): [],
    }
    status = decode_stores(spark, stores, tmp_path / "out", ["commit_log"]).status
    assert [found.rows for found in status if found.path == str(store)] == [120]
    done = rebuild_stores(spark, stores, tmp_path / "rebuilt")
    assert {found.store: done[found.store].records for found in status} == {
        found.store: found.rows for found in status
    }
