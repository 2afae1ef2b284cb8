"""Queries over every source give what they give over the engine's Parquet, each asked twice over the same load.

What one query leaves in a load, such as filters that Spark passed to the source, the next one meets.
"""

from __future__ import annotations

import json
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as sql
from pyspark.sql.datasource import DataSource, DataSourceReader, EqualTo, InputPartition
from pyspark.sql.types import MapType
from rocket_columnar.decode import TABLE_KINDS, decode
from rocket_columnar.store import find_files
from rocket_golden import open_store
from rocket_spark.schema import spark_schema
from rocket_spark.sources import SOURCES
from rocket_spec.tables import TABLES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.datasource import Filter
    from pyspark.sql.types import StructType

    Query = Callable[[DataFrame, list[str], str], DataFrame]

pytestmark = pytest.mark.spark

STORES: Final = ("ext", "lmq", "small-roll", "transactions")
BY_TABLE: Final = {source.table: source for source in SOURCES}
KEYS: Final = {
    "index_headers": ["file"],
    "index_entries": ["file", "entry"],
    "consume_queue": ["file", "logical_offset"],
    "commit_log": ["file", "phy_offset"],
    "checkpoint": ["file"],
    "consume_queue_ext": ["file", "address"],
}
"""The columns that name a row of a table."""

LAST: Final = "row_number() OVER (PARTITION BY {0} ORDER BY {1} DESC) AS place"
QUERIES: Final[dict[str, Query]] = {
    "where": lambda table, _, some: table.where(some),
    "not where": lambda table, _, some: table.where(f"NOT ({some})"),
    "join": lambda table, keys, some: table.select(keys).join(table.where(some), keys, "left"),
    "full join": lambda table, keys, some: table.where(some).join(table.select(keys), keys, "full"),
    "anti join": lambda table, keys, some: table.join(table.where(some).select(keys), keys, "left_anti"),
    "union": lambda table, keys, some: table.where(some).unionByName(table.select(keys), allowMissingColumns=True),
    "group": lambda table, keys, some: table.where(some).groupBy(keys[0]).agg({"*": "count", keys[-1]: "max"}),
    "distinct": lambda table, keys, _: table.select(keys[0]).distinct(),
    "top": lambda table, keys, some: table.where(some).orderBy(keys).limit(7),
    "window": lambda table, keys, _: table.selectExpr("*", LAST.format(keys[0], ", ".join(keys))).where("place <= 3"),
    "counts": lambda table, _, some: table.selectExpr("*", f"{table.where(some).count()} AS passed", f"{table.count()} AS rows"),
    "whole": lambda table, _, __: table,
}  # fmt: skip
"""By name: what a query makes of a table, the columns of its key, and a condition that some rows meet."""


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`stores/NAME` of some golden stores, and `TABLE.parquet` as the engine decodes all of them."""
    folder = tmp_path_factory.mktemp("plans")
    batches: dict[str, list[dict[str, Any]]] = {}
    schemas: dict[str, pa.Schema] = {}
    for name in STORES:
        store = open_store(name, folder / "stores")
        for table in TABLES:
            files = [file for file in find_files(store) if file.kind == TABLE_KINDS[table]]
            for _, batch in decode(files, tables=[table]) if files else ():
                schemas[table] = batch.schema
                rows = batch.to_pylist()
                batches.setdefault(table, []).extend(row | {"file": f"{name}/{row['file']}"} for row in rows)
    for table, rows in batches.items():
        pq.write_table(
            pa.Table.from_pylist(rows, schemas[table]), folder / f"{table}.parquet", store_schema=False
        )
    return folder


def digest(frame: DataFrame) -> tuple[int, Any]:
    """The count of the rows, and a sum of their hashes, whatever their order."""
    parts = []
    for place, column in enumerate(frame.schema):
        value: Any = sql.col(f"`{column.name}`")
        if isinstance(column.dataType, MapType):  # which cannot be hashed
            value = sql.array_sort(sql.map_entries(value))
        # A null leaves a hash as it is: with its place beside it, it does not.
        parts.append(sql.struct(sql.lit(place), value, value.isNull()))
    hashed = sql.sum(sql.xxhash64(*parts).cast("decimal(38,0)"))
    ((rows, hashes),) = frame.agg(sql.count(sql.lit(1)), hashed).collect()
    return rows, hashes


def differing(source: DataFrame, parquet: DataFrame, keys: list[str], names: Iterable[str]) -> list[str]:
    """The queries that give something else over the source, at first or when they are asked again."""
    rows = parquet.select(keys).orderBy(keys).collect()
    middle = rows[len(rows) // 2]
    some = f"{keys[0]} <= '{middle[0]}' AND {keys[-1]} <= " + (
        f"'{middle[-1]}'" if len(keys) == 1 else f"{middle[-1]}"
    )
    expected = {name: digest(QUERIES[name](parquet, keys, some)) for name in names}
    return [
        name
        for name in (*expected, *reversed(expected))
        if digest(QUERIES[name](source, keys, some)) != expected[name]
    ]


@pytest.mark.parametrize(("number", "table"), list(enumerate(TABLES)), ids=list(TABLES))
def test_some_queries(spark: SparkSession, tables: Path, number: int, table: str) -> None:
    """Two of each table, all of them together; the second one over the load of the first."""
    assert len(QUERIES) == 2 * len(TABLES)
    names = list(QUERIES)[number :: len(TABLES)]
    source = spark.read.format(BY_TABLE[table].format_name).load(f"{tables}/stores/*")
    assert differing(source, spark.read.parquet(f"{tables}/{table}.parquet"), KEYS[table], names) == []


@pytest.mark.soak
@pytest.mark.parametrize("pushed", ["true", "false"])
@pytest.mark.parametrize("table", TABLES)
def test_every_query(spark: SparkSession, tables: Path, table: str, pushed: str) -> None:
    """Over a part of the columns and of the rows, which options choose."""
    rows = pq.read_table(tables / f"{table}.parquet")["file"].to_pylist()
    first = sorted(map(str, rows))[len(rows) // 3]
    reader = spark.read.format(BY_TABLE[table].format_name).option("columns", ",".join(KEYS[table]))
    source = reader.option("filters", json.dumps([["file", ">=", first]])).load(f"{tables}/stores/*")
    parquet = spark.read.parquet(f"{tables}/{table}.parquet").select(KEYS[table]).where(f"file >= '{first}'")
    with set_to(spark, pushed):
        assert differing(source, parquet, KEYS[table], QUERIES) == []


def set_to(spark: SparkSession, pushed: str) -> ExitStack:
    """Whether Spark passes filters to sources, until the end of a block."""
    name = "spark.sql.python.filterPushdown.enabled"
    stack = ExitStack()
    stack.callback(spark.conf.set, name, spark.conf.get(name) or "")
    spark.conf.set(name, pushed)
    return stack


def leaky(path: str) -> type[DataSource]:
    """A source over the Parquet file at `path` that takes equalities from Spark, correctly by Spark's own rules."""

    class Reader(DataSourceReader):
        def __init__(self) -> None:
            self.equal: dict[str, Any] = {}

        def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802 - Spark's name
            for condition in filters:
                if isinstance(condition, EqualTo):
                    self.equal[condition.attribute[0]] = condition.value
                else:
                    yield condition

        def partitions(self) -> list[InputPartition]:
            return [InputPartition(tuple(self.equal.items()))]

        def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
            import pyarrow.parquet as pq

            rows = pq.read_table(path)
            kept = [
                row for row in rows.to_pylist() if all(row[name] == value for name, value in partition.value)
            ]
            yield from pa.Table.from_pylist(kept, rows.schema).to_batches()

    class Leaky(DataSource):
        @classmethod
        def name(cls) -> str:
            return "leaky"

        def schema(self) -> StructType:
            return spark_schema("index_headers")

        def reader(self, schema: StructType) -> Reader:
            del schema
            return Reader()

    return Leaky


def test_a_source_that_takes_filters_from_spark_is_found(spark: SparkSession, tables: Path) -> None:
    path = str(tables / "index_headers.parquet")
    spark.dataSource.register(leaky(path))
    with set_to(spark, "true"):
        side, parquet = spark.read.format("leaky").load(), spark.read.parquet(path)
        name = pq.read_table(path)["file"][0].as_py()
        assert digest(side.where(f"file = '{name}'")) == digest(parquet.where(f"file = '{name}'"))
        assert digest(side) != digest(parquet)
