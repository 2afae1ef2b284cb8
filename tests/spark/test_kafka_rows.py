"""`kafka_rows`: the columns of Spark's Kafka source."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from rocket_spark import DecodeOptions, decode_stores, kafka_rows
from store_bytes import put, record

pytestmark = pytest.mark.spark


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"timestamps": "utc"},
        {"mode": "PERMISSIVE", "timestamps": "utc"},
        {"filters": '[["topic", "in", ["T", "U"]]]'},
    ],
    ids=["plain", "utc", "permissive", "filters"],
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
def test_decoded_tables_as_rows_of_kafka(spark: SparkSession, tmp_path: Path, *, utc: bool) -> None:
    """Also of a topic in the name of a folder, which Spark takes for a number."""
    put(tmp_path / "store", f"commitlog/{0:020}", record(0, topic=b"12", store_timestamp=86_400_000))
    options = DecodeOptions(utc=utc, key_list=True, partition_by=("topic",))
    decode_stores(spark, tmp_path / "store", tmp_path / "out", ["commit_log"], options=options)
    frame = kafka_rows(spark.read.parquet(str(tmp_path / "out" / "commit_log")))
    (row,) = frame.select("topic", "timestamp").toArrow().to_pylist()
    assert row == {"topic": "12", "timestamp": datetime(1970, 1, 2, tzinfo=UTC)}
