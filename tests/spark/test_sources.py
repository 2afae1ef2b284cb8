"""`spark.read.format(...)`: every table's rows are those of the engine's decode, in the same order."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import pytest
from rocket_spark import count_times_out_of_range
from rocket_spec.tables import TABLES

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

FORMATS = {
    "index_entries": "rocketmq-index",
    "index_headers": "rocketmq-index-headers",
    "consume_queue": "rocketmq-consumequeue",
    "consume_queue_ext": "rocketmq-consumequeue-ext",
    "commit_log": "rocketmq-commitlog",
    "checkpoint": "rocketmq-checkpoint",
}

BEGIN = 1_700_000_000_000


def engine_rows(store: Path, table: str) -> list[dict[str, Any]]:
    from rocket_columnar.decode import decode
    from rocket_columnar.store import find_files

    return [row for _, batch in decode(find_files(store), tables=[table]) for row in batch.to_pylist()]


def spark_rows(frame: DataFrame) -> list[dict[str, Any]]:
    table: pa.Table = frame.toArrow()
    return list(table.to_pylist())


@pytest.mark.parametrize("table", list(TABLES))
def test_rows_of_every_golden_store_equal_the_engines(
    spark: SparkSession, golden: dict[str, Path], table: str
) -> None:
    """In one query, over a glob: each file's name begins with its store's."""
    from rocket_columnar.decode import TABLE_KINDS
    from rocket_columnar.store import find_files

    stores = {
        name: store
        for name, store in sorted(golden.items())
        if any(file.kind == TABLE_KINDS[table] for file in find_files(store))
    }
    (folder,) = {store.parent for store in golden.values()}
    rows = spark_rows(spark.read.format(FORMATS[table]).load(f"{folder}/*"))
    assert rows == [
        row | {"file": f"{name}/{row['file']}"}
        for name, store in stores.items()
        for row in engine_rows(store, table)
    ]
    assert len({row["file"].partition("/")[0] for row in rows}) >= (1 if table == "consume_queue_ext" else 8)


@pytest.mark.parametrize("table", list(TABLES))
def test_columns_are_those_of_the_spec(spark: SparkSession, hand_made: Path, table: str) -> None:
    names = {
        "boolean": "bool",
        "int": "int32",
        "bigint": "int64",
        "smallint": "int16",
        "map<string,string>": "map",
    }
    frame = spark.read.format(FORMATS[table]).load(str(hand_made))
    assert [(name, names.get(kind, kind)) for name, kind in frame.dtypes] == list(TABLES[table])


def test_index_entries_by_hand(spark: SparkSession, hand_made: Path) -> None:
    frame = spark.read.format("rocketmq-index").load(str(hand_made / "index"))
    names = ["index/20260101000000000", "index/20260101000001000"]
    assert [tuple(row) for row in frame.collect()] == [
        (name, *row)
        for name in names
        for row in [
            (1, 1, 8, 0, 0, 0, BEGIN),
            (2, 2, 9, 200, 5, 0, BEGIN + 5_000),
            (3, 1, 15, 300, 9, 1, BEGIN + 9_000),
        ]
    ]


@pytest.mark.parametrize(("rows", "partitions"), [(None, 1), (6, 1), (5, 2), (2, 4), (1, 6)])
def test_partitions_divide_files(
    spark: SparkSession, hand_made: Path, rows: int | None, partitions: int
) -> None:
    reader = spark.read.format("rocketmq-index")
    if rows is not None:
        reader = reader.option("maxPartitionRows", rows)
    frame = reader.load(str(hand_made))
    assert frame.rdd.getNumPartitions() == partitions
    assert frame.count() == 6


def test_several_paths(spark: SparkSession, hand_made: Path) -> None:
    paths = [str(hand_made / "consumequeue" / "T" / queue) for queue in ("0", "1")]
    assert spark.read.format("rocketmq-consumequeue").load(paths).count() == 4


def test_sql_filters_and_aggregates(spark: SparkSession, hand_made: Path) -> None:
    frame = spark.read.format("rocketmq-index").load(str(hand_made))
    rows = frame.where("slot = 1").groupBy("key_hash").count().orderBy("key_hash").collect()
    assert [tuple(row) for row in rows] == [(8, 2), (15, 2)]


def test_geometry_option_wins(spark: SparkSession, hand_made: Path) -> None:
    reader = spark.read.format("rocketmq-index-headers").option("hashSlotNum", 7).option("indexNum", 12)
    rows = reader.load(str(hand_made)).select("hash_slot_num", "index_num").distinct().collect()
    assert [tuple(row) for row in rows] == [(7, 12)]


def test_schema_picks_columns(spark: SparkSession, hand_made: Path) -> None:
    reader = spark.read.format("rocketmq-commitlog").schema("tags string, phy_offset bigint")
    rows = reader.load(str(hand_made)).collect()
    assert [row["tags"] for row in rows] == ["A", None]
    assert rows[0]["phy_offset"] == 0


def message(spark: SparkSession, source: str, path: str, **options: str) -> str:
    from pyspark.errors import PySparkException

    with pytest.raises(PySparkException) as caught:
        spark.read.format(source).options(**options).load(path).collect()
    return str(caught.value)


@pytest.mark.parametrize("value", ["", "0", "-7", "seven", "2147483648"])
def test_a_bad_option_is_named(spark: SparkSession, hand_made: Path, value: str) -> None:
    text = message(spark, "rocketmq-index", str(hand_made), hashSlotNum=value, indexNum="12")
    assert f"option hashSlotNum: {value!r} is not a whole number from 1 to 2,147,483,647" in text


def test_half_a_geometry_names_the_missing_option(spark: SparkSession, hand_made: Path) -> None:
    assert "option indexNum: missing" in message(spark, "rocketmq-index", str(hand_made), hashSlotNum="7")


def test_a_missing_path_is_named(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "nowhere")
    assert f"No such file or directory: '{path}'" in message(spark, "rocketmq-index", path)


def test_a_wrong_geometry_names_the_file(spark: SparkSession, hand_made: Path) -> None:
    text = message(spark, "rocketmq-index", str(hand_made), hashSlotNum="70", indexNum="120")
    assert "20260101000000000" in text


def test_a_store_without_such_files_is_named(spark: SparkSession, hand_made: Path, tmp_path: Path) -> None:
    (tmp_path / "checkpoint").write_bytes((hand_made / "checkpoint").read_bytes())
    assert str(tmp_path) in message(spark, "rocketmq-index", str(tmp_path))


def test_a_missing_path_option_is_said(spark: SparkSession) -> None:
    from pyspark.errors import PySparkException

    with pytest.raises(PySparkException, match="option path: missing"):
        spark.read.format("rocketmq-index").load()


def test_a_schema_with_an_unknown_column_names_it(spark: SparkSession, hand_made: Path) -> None:
    from pyspark.errors import PySparkException

    with pytest.raises(PySparkException, match="rocketmq-index has no column 'hash' of type int"):
        spark.read.format("rocketmq-index").schema("hash int").load(str(hand_made)).collect()


def with_damaged_log(hand_made: Path, directory: Path) -> Path:
    """The log twice, and in a third file again, the second with its first record's magic gone."""
    log = (hand_made / "commitlog" / "00000000000000000000").read_bytes()
    (directory / "commitlog").mkdir(parents=True)
    for number, content in enumerate([log, log[:4] + bytes(4) + log[8:], bytes(len(log)), log]):
        (directory / "commitlog" / f"{number * len(log):020}").write_bytes(content)
    return directory


def test_a_gap_in_the_log_is_an_error(spark: SparkSession, hand_made: Path, tmp_path: Path) -> None:
    store = with_damaged_log(hand_made, tmp_path)
    text = message(spark, "rocketmq-commitlog", str(store))
    assert "a gap in the log from 1,024 to " in text
    assert str(store / "commitlog" / "00000000000000001024") in text


def test_timestamps_and_how_many_are_out_of_range(spark: SparkSession, tmp_path: Path) -> None:
    times = (1_700_000_000_123, 1 << 62, 0)
    (tmp_path / "checkpoint").write_bytes(struct.pack(">3q", *times).ljust(4096, b"\0"))
    frame = spark.read.format("rocketmq-checkpoint").option("timestamps", "utc").load(str(tmp_path))
    assert count_times_out_of_range(frame) == {
        "physic_msg_timestamp": 0,
        "logics_msg_timestamp": 1,
        "index_msg_timestamp": 0,
    }
    (row,) = frame.selectExpr("unix_millis(physic_msg_timestamp)").collect()
    assert row[0] == times[0]


@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_a_write_says_what_to_use_instead(
    spark: SparkSession, hand_made: Path, tmp_path: Path, mode: str
) -> None:
    from rocket_spark.sources import reason

    frame = spark.read.format("rocketmq-commitlog").load(str(hand_made))
    with pytest.raises(Exception, match="stores are never written to") as caught:
        frame.write.format("rocketmq-commitlog").mode(mode).save(str(tmp_path / "out"))
    assert reason(caught.value) == (
        "rocketmq-commitlog: stores are never written to; use df.write.parquet(...) for tables, "
        "and `rocketspec rebuild` or rebuild_stores for index files and queues"
    )
    assert not (tmp_path / "out").exists()
