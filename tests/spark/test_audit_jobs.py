"""`audit_stores`: the findings of the single-machine audit, on golden stores and on those with planted defects."""

import json
import shutil
from itertools import chain
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import SparkSession
from rocket_columnar.audit import audit
from rocket_golden import damaged, open_damaged, open_store
from rocket_spark import Store, audit_stores, decode_stores, rebuild_stores
from rocket_spark.audit import ranges_by_task
from rocket_spark.stores import name_stores
from verb_run import Run

pytestmark = pytest.mark.spark

FEW = ("mixed", "ext", "lmq", "killed-restarted", "dledger", "dledger-group-rejoined")


def test_planted_defects_are_found(spark: SparkSession, golden: dict[str, Path], tmp_path: Path) -> None:
    """The findings on all stores in one job are the engine's, and those of the planted defects are among them."""
    of_mixed = {variant.damage: variant for variant in damaged() if variant.store == "mixed"}
    planted = {variant.name: variant for variant in of_mixed.values()}
    assert len(planted) > 20
    stores = {name: open_damaged(name, tmp_path / name) for name in planted}
    stores |= {name: golden[name] for name in FEW}
    paths = list(stores.values())
    findings = list(audit_stores(spark, paths, "deep"))
    keys = {store.path: key for key, store in name_stores(paths).items()}
    for name, store in stores.items():
        mine = [finding for at, finding in findings if at == keys[str(store)]]
        assert mine == list(audit(store, "deep")), name
        if name in planted:
            variant = planted[name]
            places = {(finding.code, finding.file, finding.offset) for finding in mine}
            assert (variant.damage, variant.file, variant.offset) in places


@pytest.mark.parametrize(
    ("cores", "stores", "shares"),
    [
        (2, [1], [[1]]),
        (2, [6, 14], [[2, 2, 2], [2] * 7]),
        (2, [51], [[4] * 12 + [3]]),
        (1000, [3], [[1, 1, 1]]),
        (None, [9], [[4, 4, 1]]),
    ],
)
def test_every_core_has_several_tasks_of_an_audit(
    cores: int | None, stores: list[int], shares: list[list[int]]
) -> None:
    plans: Any = {str(name): SimpleNamespace(ranges=tuple(range(many))) for name, many in enumerate(stores)}
    cut: dict[str, list[tuple[Any, ...]]] = ranges_by_task(plans, cores)
    assert [[len(ranges) for ranges in every] for every in cut.values()] == shares
    assert [tuple(chain(*every)) for every in cut.values()] == [plan.ranges for plan in plans.values()]


def test_the_verb_audits_stores(verb: Run, golden: dict[str, Path], tmp_path: Path) -> None:
    wrong = open_damaged("mixed-queue-order", tmp_path)
    done = verb("audit", golden["mixed"], wrong, "--json")
    lines: list[dict[str, Any]] = [json.loads(line) for line in done.out.splitlines()]
    assert [(line["store"], line["code"]) for line in lines] == [
        (str(wrong.relative_to(golden["mixed"].parents[1])), finding.code) for finding in audit(wrong)
    ]
    assert (done.code, done.err) == (1, "")


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
    assert "cure" not in done.out


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
    stores: list[Store | Path] = [Store(store, folders), golden["lmq"]]
    assert list(audit_stores(spark, stores)) == []
    status = decode_stores(spark, stores, tmp_path / "out", ["commit_log"]).status
    assert [found.rows for found in status if found.path == str(store)] == [120]
    done = rebuild_stores(spark, stores, tmp_path / "rebuilt")
    assert {found.store: done[found.store].records for found in status} == {
        found.store: found.rows for found in status
    }
