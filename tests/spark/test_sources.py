"""`spark.read.format(...)`: every table's rows are those of the engine's decode, in the same order; and `kafka_rows`."""

import struct
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from rocket_spark import DecodeOptions, count_times_out_of_range, decode_stores, kafka_rows
from rocket_spark.sources import reason
from store_bytes import put, record
from table_rows import table_rows

pytestmark = pytest.mark.spark


def test_timestamps_and_how_many_are_out_of_range(spark: SparkSession, tmp_path: Path) -> None:
    times = (1_700_000_000_123, 1 << 62, 0)
    (tmp_path / "checkpoint").write_bytes(struct.pack(">3q", *times).ljust(4096, b"\0"))
    reader = spark.read.format("rocketmq-checkpoint").option("timestamps", "utc")
    frame = reader.load(str(tmp_path))
    counts = count_times_out_of_range(frame)
    assert [counts[f"{name}_msg_timestamp"] for name in ("physic", "logics", "index")] == [0, 1, 0]
    own = reader.schema("physic_msg_timestamp timestamp").load(str(tmp_path))
    (row,) = own.selectExpr("unix_millis(*)").collect()
    assert row[0] == times[0]


def test_a_filtered_query_leaves_later_ones_alone(spark: SparkSession, golden: dict[str, Path]) -> None:
    """Spark keeps one plan of a source for all queries over one load, with its own push-down of filters too."""
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    try:
        frame = spark.read.format("rocketmq-commitlog").load(str(golden["mixed"]))
        rows = table_rows(golden["mixed"], "commit_log")
        half = sorted(row["phy_offset"] for row in rows)[len(rows) // 2]
        low = frame.where(f"phy_offset < {half}")
        high = frame.where(f"phy_offset >= {half}")
        lower = sum(row["phy_offset"] < half for row in rows)
        assert [each.count() for each in (frame, low, high)] == [len(rows), lower, len(rows) - lower]
        assert low.union(high).count() == frame.count()
    finally:
        spark.conf.unset("spark.sql.python.filterPushdown.enabled")


def said(work: Callable[[], object]) -> str:
    """The sources' message for an error that Spark raises."""
    with pytest.raises(PySparkException) as caught:
        work()
    return reason(caught.value)


def test_errors_through_spark(spark: SparkSession, tmp_path: Path) -> None:
    put(tmp_path, "checkpoint", b"short")
    reader = spark.read.format("rocketmq-checkpoint")
    assert said(lambda: reader.option("mode", "LENIENT").load(str(tmp_path))) == (
        "option mode: 'LENIENT' is none of FAILFAST, PERMISSIVE, DROPMALFORMED"
    )
    assert "found 5 bytes" in said(lambda: reader.option("mode", "FAILFAST").load(str(tmp_path)).collect())


@pytest.mark.parametrize("source", ["rocketmq-commitlog", "rocketmq-stores"])
def test_a_table_of_the_catalog(spark: SparkSession, golden: dict[str, Path], source: str) -> None:
    """The catalog adds properties of its own, which are ignored; `LOCATION` is in the page of the sources."""
    spark.sql(f"CREATE TABLE shelf USING `{source}` OPTIONS (path '{golden['mixed']}')")
    try:
        rows = spark.sql("SELECT * FROM shelf").collect()
        assert rows == spark.read.format(source).load(str(golden["mixed"])).collect() != []
    finally:
        spark.sql("DROP TABLE shelf")


def test_a_write_says_what_to_use_instead(spark: SparkSession, hand_made: Path, tmp_path: Path) -> None:
    writer = spark.read.format("rocketmq-commitlog").load(str(hand_made)).write.format("rocketmq-commitlog")
    for mode in ("append", "overwrite"):
        assert said(lambda mode=mode: writer.mode(mode).save(str(tmp_path / "out"))) == (  # type: ignore[misc]
            "rocketmq-commitlog: stores are never written to; use df.write.parquet(...) for tables, "
            "and `rocketspec rebuild` or rebuild_stores for index files and queues"
        )
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "options",
    [{}, {"mode": "PERMISSIVE", "timestamps": "utc", "filters": '[["topic", "in", ["T", "U"]]]'}],
    ids=["plain", "others"],
)
def test_records_as_rows_of_kafka(spark: SparkSession, tmp_path: Path, options: dict[str, str]) -> None:
    log = record(
        0,
        body=b"one",
        queue_id=3,
        queue_offset=7,
        properties=b"KEYS\1k1 k2\2TAGS\1A\2",
        store_timestamp=86_400_000,
    )
    log += record(len(log), topic=b"U", body=b"", store_timestamp=(1 << 63) - 1)
    put(tmp_path, f"commitlog/{0:020}", log)
    frame = kafka_rows(spark.read.format("rocketmq-commitlog").options(**options).load(str(tmp_path)))
    assert frame.dtypes == [
        ("key", "binary"),
        ("value", "binary"),
        ("topic", "string"),
        ("partition", "int"),
        ("offset", "bigint"),
        ("timestamp", "timestamp"),
        ("timestampType", "int"),
        ("headers", "array<struct<key:string,value:binary>>"),
    ]
    first, second = frame.toArrow().to_pylist()
    assert first == {
        "key": b"k1 k2",
        "value": b"one",
        "topic": "T",
        "partition": 3,
        "offset": 7,
        "timestamp": datetime(1970, 1, 2, tzinfo=UTC),
        "timestampType": 1,
        "headers": [{"key": "KEYS", "value": b"k1 k2"}, {"key": "TAGS", "value": b"A"}],
    }
    assert (second["key"], second["value"], second["topic"], second["timestamp"]) == (None, b"", "U", None)


@pytest.mark.parametrize("utc", [False, True], ids=["millis", "utc"])
def test_decoded_tables_as_rows_of_kafka(
    spark: SparkSession, here: SparkContext, tmp_path: Path, *, utc: bool
) -> None:
    """Also of a topic in the name of a folder, which Spark takes for a number."""
    put(tmp_path / "store", f"commitlog/{0:020}", record(0, topic=b"12", store_timestamp=86_400_000))
    options = DecodeOptions(utc=utc, key_list=True, partition_by=("topic",))
    decode_stores(here, tmp_path / "store", tmp_path / "out", ["commit_log"], options=options)
    frame = kafka_rows(spark.read.parquet(str(tmp_path / "out" / "commit_log")))
    (row,) = frame.select("topic", "timestamp").toArrow().to_pylist()
    assert row == {"topic": "12", "timestamp": datetime(1970, 1, 2, tzinfo=UTC)}
