"""Generated queries over every source give what the same queries give over the engine's Parquet.

Each query runs twice, the second time among others than the first, in one session and over the same loads.
"""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import query_plans_run
from pyspark.sql.datasource import DataSource, DataSourceReader, EqualTo, InputPartition
from query_plans import SETTINGS, SHAPES, ParquetSide, Query, SourceSide, differing, digest
from rocket_columnar.decode import TABLE_KINDS, decode
from rocket_columnar.store import find_files
from rocket_golden import open_store
from rocket_spark.schema import spark_schema
from rocket_spark.sources import SOURCES
from rocket_spec.tables import TABLES
from spark_servers import connect_server

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession
    from pyspark.sql.datasource import Filter
    from pyspark.sql.types import StructType

pytestmark = pytest.mark.spark

STORES = ("ext", "lmq", "small-roll", "transactions")
BY_TABLE = {source.table: source for source in SOURCES}
_FEW: Final = 2
"""Queries of each table: together they have every shape but a stream, whose start Spark gives ten seconds."""

_MANY: Final = 300


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


def compared(spark: SparkSession, folder: Path, table: str, seeds: Sequence[int]) -> list[int]:
    """The seeds of the queries that differ between the source over all stores and the Parquet of all."""
    parquet = ParquetSide(spark, folder / f"{table}.parquet")
    source = SourceSide(spark, BY_TABLE[table].format_name, f"{folder}/stores/*")
    return differing(source, parquet, table, pq.read_table(parquet.path).to_pylist(), seeds)


@pytest.fixture(autouse=True)
def _kept_settings(spark: SparkSession) -> Iterator[None]:
    before = {name: spark.conf.get(name) or "" for name in SETTINGS}
    yield
    for name, value in before.items():
        spark.conf.set(name, value)


@pytest.mark.parametrize(("number", "table"), list(enumerate(TABLES)), ids=list(TABLES))
def test_a_few_queries(spark: SparkSession, tables: Path, number: int, table: str) -> None:
    assert compared(spark, tables, table, range(number * _FEW, (number + 1) * _FEW)) == []


def test_the_few_queries_have_every_shape_but_a_stream() -> None:
    assert SHAPES[: len(TABLES) * _FEW] == SHAPES[:-1]
    assert SHAPES[-1] == "stream"


def run_apart(where: str, tables: Path, seeds: range, names: Sequence[str]) -> list[dict[str, Any]]:
    """What a process of its own reports on each table; `where` is a master or a Connect server."""
    script, first, count = query_plans_run.__file__, str(seeds.start), str(len(seeds))
    done = subprocess.run(
        [sys.executable, script, where, str(tables), first, count, *names],
        stdout=subprocess.PIPE,
        stderr=(tables / "stderr").open("wb"),
        text=True,
        check=False,
    )
    assert done.returncode == 0, (tables / "stderr").read_text("utf-8", "replace")[-4000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.soak
@pytest.mark.parametrize("where", ["local[2]", "Spark Connect"])
def test_many_queries(java: str, tables: Path, tmp_path: Path, where: str) -> None:
    """300 of each table in one session, and every shape over Spark Connect."""
    with ExitStack() as stack:
        url = where if where == "local[2]" else stack.enter_context(connect_server(tmp_path))
        seeds = range(1000, 1000 + (_MANY if url == where else len(SHAPES)))
        entries = run_apart(url, tables, seeds, list(TABLES))
    assert [(entry["table"], entry["differing"]) for entry in entries] == [(table, []) for table in TABLES]


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
    parquet = ParquetSide(spark, tables / "index_headers.parquet")
    spark.dataSource.register(leaky(str(parquet.path)))

    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    side = SourceSide(spark, "leaky", "")
    name = pq.read_table(parquet.path)["file"][0].as_py()
    equal = Query(-1, lambda side, _: side.load().where(f"file = '{name}'"))
    whole = Query(-2, lambda side, _: side.load())
    assert digest(side, equal) == digest(parquet, equal)
    assert digest(side, whole) != digest(parquet, whole)
