"""How decoded Parquet is laid out: row groups, indexes, partition folders, times, keys."""

import math
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark import SparkContext
from pyspark.sql import SparkSession
from rocket_columnar.decode import ParquetFile
from rocket_spark import DecodeOptions, decode_stores, parquet
from store_bytes import put, record
from table_rows import part_rows, table_rows

pytestmark = pytest.mark.spark


def test_row_groups_are_large_and_indexed(here: SparkContext, tmp_path: Path) -> None:
    """9,000 records, which the engine gives in batches of fewer, make one row group."""
    length = len(record(0))
    log = b"".join(record(number * length, queue_offset=number) for number in range(9000))
    put(tmp_path / "store", f"commitlog/{0:020}", log)
    decode_stores(here, tmp_path / "store", tmp_path / "out")
    (part,) = (tmp_path / "out" / "commit_log").iterdir()
    read = pq.ParquetFile(part).metadata
    assert [read.row_group(number).num_rows for number in range(read.num_row_groups)] == [9000]
    group = read.row_group(0)
    assert [order.column_index for order in group.sorting_columns] == [1]
    assert group.column(1).path_in_schema == "phy_offset"
    assert group.column(1).has_offset_index
    assert group.column(1).has_column_index
    columns: list[Any] = [group.column(number) for number in range(group.num_columns)]
    filtered = {column.path_in_schema for column in columns if column.bloom_filter_length}
    assert filtered == {"uniq_key", "keys"}


def test_rows_of_several_stores_have_no_order(spark: SparkSession, tmp_path: Path) -> None:
    for name in "ab":
        put(tmp_path / name, f"commitlog/{0:020}", record(0) + record(len(record(0)), queue_offset=1))
    decode_stores(spark, [tmp_path / "a", tmp_path / "b"], tmp_path / "out", ["commit_log"])
    (part,) = (tmp_path / "out" / "commit_log").iterdir()
    assert not pq.ParquetFile(part).metadata.row_group(0).sorting_columns


def test_the_bloom_filter_of_a_full_row_group_has_one_mebibyte(tmp_path: Path) -> None:
    """The bits by Parquet's formula, -8 n / ln(1 - p ** (1 / 8)), rounded up to a power of two; 16 bytes are its header."""
    bits = -8 * parquet.GROUP_ROWS / math.log(1 - 0.01 ** (1 / 8))
    assert 1 << 22 < bits <= 1 << 23
    schema = pa.schema([("key_hash", pa.int32())])
    with (tmp_path / "part").open("wb") as sink:
        file = ParquetFile(sink, schema, group_rows=parquet.GROUP_ROWS, bloom=["key_hash"])
        file.write(pa.RecordBatch.from_pydict({"key_hash": [*range(parquet.GROUP_ROWS)]}, schema))
        file.close()
    column: Any = pq.ParquetFile(tmp_path / "part").metadata.row_group(0).column(0)
    assert 1 << 20 < column.bloom_filter_length < (1 << 20) + 32


def test_folders_of_topic_and_date(spark: SparkSession, golden: dict[str, Path], tmp_path: Path) -> None:
    options = DecodeOptions(partition_by=("topic", "date"))
    decode_stores(spark, golden["mixed"], tmp_path / "out", ["commit_log", "consume_queue"], options=options)
    whole = table_rows(golden["mixed"], "commit_log")
    wanted = sorted(
        (row["topic"], datetime.fromtimestamp(row["store_timestamp"] / 1000, UTC).date(), row["phy_offset"])
        for row in whole
    )
    read = spark.read.parquet(str(tmp_path / "out" / "commit_log"))
    assert sorted((row["topic"], row["date"], row["phy_offset"]) for row in read.collect()) == wanted
    folders = {path.parent.name for path in (tmp_path / "out" / "consume_queue").rglob("part-*")}
    assert folders == {f"topic={quote(row['topic'], safe='')}" for row in whole}


def test_times_in_utc(here: SparkContext, tmp_path: Path) -> None:
    """Times beyond the years 1 to 9999 become null and are counted."""
    times = [1_700_000_000_000, -(1 << 63), (1 << 63) - 1, 253_402_300_799_999, 253_402_300_800_000, 0]
    log = b""
    for time in times:
        log += record(len(log), store_timestamp=time)
    put(tmp_path / "store", f"commitlog/{0:020}", log)
    summary = decode_stores(here, tmp_path / "store", tmp_path / "out", options=DecodeOptions(utc=True))
    assert summary.nulled == 3
    found = [row["store_timestamp"] for row in part_rows(tmp_path / "out" / "commit_log")]
    assert found == [
        datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC),
        None,
        None,
        datetime(9999, 12, 31, 23, 59, 59, 999_000, UTC),
        None,
        datetime(1970, 1, 1, tzinfo=UTC),
    ]


def test_keys_as_a_list(here: SparkContext, tmp_path: Path) -> None:
    log = b""
    for properties in (b"KEYS\1a  b c\2", b"", b"KEYS\1 \2"):
        log += record(len(log), properties=properties)
    put(tmp_path / "store", f"commitlog/{0:020}", log)
    decode_stores(here, tmp_path / "store", tmp_path / "out", options=DecodeOptions(key_list=True))
    found = [(row["keys"], row["key_list"]) for row in part_rows(tmp_path / "out" / "commit_log")]
    assert found[:2] == [("a  b c", ["a", "b", "c"]), (None, None)]
    assert found[2][1] == []


def test_folders_of_topics_that_are_empty_or_have_quotes_percent_signs_and_umlauts(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Spark cannot read a table with a folder `topic=`: an empty topic is null, as Hive writes it."""
    topics = ["", "a'b\"%41/ü=", "..", "T"]
    log = b""
    for topic in topics:
        log += record(len(log), topic=topic.encode())
    put(tmp_path / "store", f"commitlog/{0:020}", log)
    options = DecodeOptions(partition_by=("topic",))
    decode_stores(spark, tmp_path / "store", tmp_path / "out", ["commit_log"], options=options)
    table = spark.read.parquet(str(tmp_path / "out" / "commit_log"))
    assert [row["topic"] for row in table.orderBy("phy_offset").collect()] == [None, *topics[1:]]
