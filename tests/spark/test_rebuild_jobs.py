"""`rebuild_stores` against the single-machine rebuild, byte for byte."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from rocket_columnar.rebuild import rebuild
from rocket_spark import plan_rebuilds, rebuild_stores
from rocket_spec.errors import UsageError
from rocket_spec.layout import Geometry
from table_rows import same

pytestmark = pytest.mark.spark


def test_one_store_of_another_geometry(spark: SparkSession, golden: dict[str, Path], tmp_path: Path) -> None:
    options: Any = {"geometry": Geometry(11, 40), "queue_file_size": 100}
    seen: list[tuple[str, int, int]] = []
    done = rebuild_stores(
        spark, golden["mixed"], tmp_path / "out", progress=lambda *told: seen.append(told), **options
    )
    assert done == {str(golden["mixed"]): rebuild(golden["mixed"], tmp_path / "whole", **options)}
    same(tmp_path / "out", tmp_path / "whole")
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"index", "consumequeue", "_SUCCESS"}
    assert {what for what, _, _ in seen} == {"commit logs", "index files and queues"}


def test_a_log_file_that_is_missing_is_told(
    spark: SparkSession, golden: dict[str, Path], tmp_path: Path
) -> None:
    store = Path(shutil.copytree(golden["small-roll"], tmp_path / "store"))
    missing = sorted((store / "commitlog").iterdir())[1]
    missing.unlink()
    done = rebuild_stores(spark, store, tmp_path / "out")[str(store)]
    assert [(finding.code, finding.file) for finding in done.findings] == [
        ("log.gap", f"commitlog/{missing.name}")
    ]
    assert done.files == rebuild(store, tmp_path / "whole").files


def test_what_is_wrong_is_said_before_spark_starts(golden: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="the index folder of a store; expected the store"):
        plan_rebuilds(golden["mixed"] / "index", tmp_path / "out")
    with pytest.raises(UsageError, match="is inside a store that is read"):
        plan_rebuilds(golden["mixed"], golden["mixed"] / "new")
    with pytest.raises(UsageError, match="overlaps"):
        plan_rebuilds([golden["mixed"], golden["mixed"] / "commitlog"], tmp_path / "out")
    with pytest.raises(UsageError, match="named twice"):
        plan_rebuilds([golden["mixed"], golden["mixed"]], tmp_path / "out")
