"""Spark reads stores on S3 and HDFS, with and without filters: rows and plans of real queries."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from rocket_columnar.decode import TABLE_KINDS, decode
from rocket_columnar.store import find_files
from rocket_golden import open_store
from rocket_spark.sources import SOURCES, reason

if TYPE_CHECKING:
    from pathlib import Path

    from far_storage import Far
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

FORMATS = {source.table: source.format_name for source in SOURCES}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return open_store("mixed", tmp_path_factory.mktemp("mixed"))


def engine_rows(store: Path, table: str) -> list[dict[str, Any]]:
    files = find_files(store, TABLE_KINDS[table])
    return [row for _, batch in decode(files, tables=[table]) for row in batch.to_pylist()]


@pytest.mark.parametrize("where", ["s3", "hdfs"])
def test_tables_of_a_store_far_away(
    spark: SparkSession, store: Path, request: pytest.FixtureRequest, where: str
) -> None:
    far: Far = request.getfixturevalue(where)
    uri = far.upload(store, "rack-1/broker-a")
    for table in ("commit_log", "index_entries", "consume_queue", "checkpoint"):
        reader = spark.read.format(FORMATS[table]).options(**far.options).option("maxPartitionRows", 200)
        frame = reader.load(uri)
        assert frame.toArrow().to_pylist() == engine_rows(store, table)
    frame = (
        spark.read.format("rocketmq-index-headers").options(**far.options).load(f"{far.root}/rack-*/broker-?")
    )
    headers = engine_rows(store, "index_headers")
    assert [row["file"] for row in frame.collect()] == [f"rack-1/broker-a/{row['file']}" for row in headers]


@pytest.mark.parametrize("where", ["s3", "hdfs"])
def test_what_is_missing_far_away_is_named(
    spark: SparkSession, request: pytest.FixtureRequest, where: str
) -> None:
    from pyspark.errors import PySparkException

    far: Far = request.getfixturevalue(where)
    with pytest.raises(PySparkException) as caught:
        spark.read.format("rocketmq-checkpoint").options(**far.options).load(f"{far.root}/nowhere").collect()
    assert reason(caught.value) == f"[Errno 2] No such file or directory: '{far.root}/nowhere'"


def scanned(frame: DataFrame) -> tuple[list[dict[str, Any]], int]:
    """The rows, and how many the source handed over for them."""
    rows = frame.collect()
    java: Any = frame._jdf
    plan = java.queryExecution().executedPlan()
    (scan,) = [leaf for leaf in seq(plan.collectLeaves()) if "Scan" in leaf.nodeName()]
    return [row.asDict() for row in rows], scan.metrics().apply("numOutputRows").value()


def seq(scala: Any) -> list[Any]:
    return [scala.apply(number) for number in range(scala.size())]


@pytest.mark.parametrize(
    ("table", "columns"),
    [
        ("commit_log", {"phy_offset": "="}),
        ("commit_log", {"topic": "=", "store_timestamp": "<="}),
        ("index_entries", {"key_hash": "in", "store_timestamp": ">="}),
        ("consume_queue", {"topic": "=", "queue_id": "="}),
    ],
)
def test_the_option_filters_leaves_rows_out_before_they_cross(
    spark: SparkSession, store: Path, table: str, columns: dict[str, str]
) -> None:
    expected = engine_rows(store, table)
    row = expected[len(expected) // 2]
    filters = [(name, sign, [row[name], 1] if sign == "in" else row[name]) for name, sign in columns.items()]
    tests = [
        f"{name} in ({row[name]}, 1)" if sign == "in" else f"{name} {sign} '{row[name]}'"
        for name, sign in columns.items()
    ]
    reader = spark.read.format(FORMATS[table])
    by_spark, every = scanned(reader.load(str(store)).where(" and ".join(tests)))
    rows, handed = scanned(reader.option("filters", json.dumps(filters)).load(str(store)))
    assert rows == by_spark
    assert 0 < len(rows) == handed < every == len(expected)


@pytest.mark.parametrize("pushdown", ["true", "false"])
@pytest.mark.parametrize("table", ["commit_log", "consume_queue", "index_entries"])
def test_a_filtered_query_leaves_later_ones_alone(
    spark: SparkSession, store: Path, table: str, pushdown: str
) -> None:
    spark.conf.set("spark.sql.python.filterPushdown.enabled", pushdown)
    try:
        frame = spark.read.format(FORMATS[table]).load(str(store))
        rows = engine_rows(store, table)
        half = sorted(row["phy_offset"] for row in rows)[len(rows) // 2]
        low = frame.where(f"phy_offset < {half}")
        high = frame.where(f"phy_offset >= {half}")
        lower = sum(row["phy_offset"] < half for row in rows)
        assert frame.count() == len(rows)
        assert low.count() == lower
        assert frame.count() == len(rows)
        assert high.count() == len(rows) - lower
        assert low.union(high).count() == len(rows)
        assert low.join(high, "phy_offset", "left_anti").count() == lower
        assert frame.count() == len(rows)
    finally:
        spark.conf.unset("spark.sql.python.filterPushdown.enabled")


def test_errors_are_one_line(spark: SparkSession, store: Path) -> None:
    from pyspark.errors import PySparkException

    with pytest.raises(PySparkException) as caught:
        spark.read.format("rocketmq-index").option("mode", "LENIENT").load(str(store)).collect()
    assert reason(caught.value) == "option mode: 'LENIENT' is none of FAILFAST, PERMISSIVE, DROPMALFORMED"


def test_modes_through_spark(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "checkpoint").write_bytes(b"short")
    reader = spark.read.format("rocketmq-checkpoint")
    (row,) = reader.option("mode", "PERMISSIVE").load(str(tmp_path)).collect()
    assert "found 5 bytes" in row["_corrupt_record"]
    assert reader.option("mode", "DROPMALFORMED").load(str(tmp_path)).count() == 0
