"""A thousand stores in one job, a few bad ones of every kind among them."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from rocket_columnar.audit import audit
from rocket_columnar.rebuild import rebuild
from rocket_golden import open_store
from rocket_spark import audit_stores, decode_stores, rebuild_stores

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.soak]

COUNT = 1000
GOOD = "transactions"
BAD = ("damaged", "empty", "loop", "missing")


@pytest.fixture(scope="module")
def fleet(golden: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Good stores by hard links; others between them: damaged, unreadable, empty, missing, live, of DLedger mode."""
    root = tmp_path_factory.mktemp("fleet")
    for number in range(COUNT):
        shutil.copytree(
            golden[GOOD],
            root / f"{number:04}",
            copy_function=lambda one, other: Path(other).hardlink_to(one),
        )
    shutil.copytree(golden[GOOD], root / "0500-live")
    (root / "0500-live" / "abort").touch()
    open_store("dledger", root.parent).rename(root / "0500-dledger")
    shutil.copytree(golden[GOOD], root / "0500-damaged")
    (root / "0500-damaged" / "checkpoint").write_bytes(b"short")
    (root / "0500-empty").mkdir()
    (root / "0500-loop").symlink_to(root / "0500-loop")
    return sorted([*root.iterdir(), root / "0500-missing"])


def good_of(fleet: list[Path]) -> list[str]:
    names = [store.name for store in fleet]
    return [name for name in names if name.rpartition("-")[2] not in BAD]


def test_they_are_decoded(spark: SparkSession, fleet: list[Path], tmp_path: Path) -> None:
    summary = decode_stores(spark, fleet, tmp_path / "out")
    status = {found.store: found for found in summary.status}
    assert [name for name, found in status.items() if found.status == "decoded"] == good_of(fleet)
    failed = {name: found.reason for name, found in status.items() if found.status == "failed"}
    assert failed.keys() == {f"0500-{name}" for name in BAD}
    assert "checkpoint" in failed["0500-damaged"]
    assert "Too many levels of symbolic links" in failed["0500-loop"]
    assert "No such file or directory" in failed["0500-missing"]
    rows = {found.rows for name, found in status.items() if "-" not in name}
    assert rows == {status["0500-live"].rows}
    assert status["0500-dledger"].rows > 0
    assert len(list((tmp_path / "out" / "commit_log").iterdir())) == COUNT + 2


def test_they_are_audited(spark: SparkSession, fleet: list[Path]) -> None:
    failed: dict[str, Exception] = {}
    found = list(audit_stores(spark, fleet, failed=failed))
    assert {"0500-loop", "0500-missing"} <= failed.keys() <= {f"0500-{name}" for name in BAD}
    assert {name for name, finding in found if finding.code.startswith("checkpoint.")} >= {"0500-damaged"}
    expected = list(audit(fleet[0]))
    for store in fleet:
        if "-" not in store.name:
            assert [finding for name, finding in found if name == store.name] == expected


def test_they_are_rebuilt(spark: SparkSession, fleet: list[Path], tmp_path: Path) -> None:
    failed: dict[str, Exception] = {}
    done = rebuild_stores(spark, fleet, tmp_path / "out", failed=failed)
    assert failed.keys() == {"0500-empty", "0500-loop", "0500-missing"}
    assert done.keys() == {*good_of(fleet), "0500-damaged"}
    whole = rebuild(fleet[0], tmp_path / "whole")
    for name, rebuilt in done.items():
        if name == "0500-dledger":
            continue
        assert rebuilt.files == whole.files
        for file in whole.files:
            assert (tmp_path / "out" / name / file).read_bytes() == (tmp_path / "whole" / file).read_bytes()
