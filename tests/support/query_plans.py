"""Seeded queries over a table, to be run over a data source and over the engine's Parquet of the same stores.

A query is a function of a `Side`, which gives the table as a frame. Frames of one side with the same options come
from one `load()`: what one query leaves behind in it, the next one meets.
"""

from __future__ import annotations

import json
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property
from random import Random
from typing import TYPE_CHECKING, Any, Final, Protocol
from uuid import uuid4

from rocket_spec.tables import TABLES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

__all__ = ["SETTINGS", "SHAPES", "ParquetSide", "Query", "Side", "SourceSide", "differing", "digest"]

SHAPES: Final = (
    "leaf", "join", "semi", "union", "group", "cached", "actions", "self", "view", "distinct", "top", "window", "stream",
)  # fmt: skip
"""What a query does with its frames: the query of seed N has shape N modulo their number."""

_FOLLOWED: Final = ("consume_queue", "commit_log")
"""The tables that a stream can follow; for the others a stream is read as a leaf."""

_POOL: Final = 8
"""How many sets of options the queries over a table choose from."""

_KEYS: Final = {
    "index_headers": ["file"],
    "index_entries": ["file", "entry"],
    "consume_queue": ["file", "logical_offset"],
    "commit_log": ["file", "phy_offset"],
    "checkpoint": ["file"],
    "consume_queue_ext": ["file", "address"],
}
"""The columns that name a row of a table."""

SETTINGS: Final = "spark.sql.adaptive.enabled", "spark.sql.python.filterPushdown.enabled"
"""Of Spark, on or off by chance for each query."""

_INTS: Final = ("int16", "int32", "int64")

Condition = tuple[str, str, Any]


class Side(Protocol):
    """A table on one side of the comparison."""

    spark: SparkSession

    def load(
        self,
        *,
        columns: Sequence[str] | None = None,
        filters: Sequence[Condition] = (),
        rows: int | None = None,
    ) -> DataFrame:
        """The table: some columns of it, the rows that pass, in partitions of about `rows` rows."""
        ...

    def stream(self, condition: str, most: int | None, stack: ExitStack, **options: Any) -> DataFrame:
        """What a stream of the table with a condition wrote, until it had read everything, `most` rows at a time."""
        ...


@dataclass
class SourceSide:
    """The table as the data source `format_name` gives it."""

    spark: SparkSession
    format_name: str
    path: str
    loads: dict[str, DataFrame] = field(default_factory=dict)

    def load(
        self,
        *,
        columns: Sequence[str] | None = None,
        filters: Sequence[Condition] = (),
        rows: int | None = None,
    ) -> DataFrame:
        """As of `Side`, by options of the source; one load for the same options."""
        options = _options(columns, filters, rows)
        key = json.dumps(options)
        if key not in self.loads:
            reader = self.spark.read.format(self.format_name).options(**options)
            self.loads[key] = reader.load(self.path)
        return self.loads[key]

    def stream(self, condition: str, most: int | None, stack: ExitStack, **options: Any) -> DataFrame:
        """As of `Side`, by a query that ends when it has read everything."""
        chosen = {"columns": None, "filters": (), "rows": None} | options
        reader = self.spark.readStream.format(self.format_name).options(**_options(**chosen))
        if most is not None:
            reader = reader.option("maxRowsPerTrigger", most)
        name = f"followed_{uuid4().hex}"
        writer = reader.load(self.path).where(condition).writeStream.format("memory").queryName(name)
        writer.trigger(availableNow=True).start().awaitTermination()
        stack.callback(self.spark.catalog.dropTempView, name)
        return self.spark.table(name)


@dataclass
class ParquetSide:
    """The table as the engine's Parquet holds it."""

    spark: SparkSession
    path: Path

    @cached_property
    def _whole(self) -> DataFrame:
        return self.spark.read.parquet(str(self.path))

    def load(
        self,
        *,
        columns: Sequence[str] | None = None,
        filters: Sequence[Condition] = (),
        rows: int | None = None,
    ) -> DataFrame:
        """As of `Side`, in Spark SQL."""
        del rows
        frame = self._whole
        for column, sign, value in filters:
            frame = frame.where(
                f"{column} IN ({', '.join(map(_literal, value))})"
                if sign == "in"
                else f"{column} {sign} {_literal(value)}"
            )
        return frame if columns is None else frame.select(*columns)

    def stream(self, condition: str, most: int | None, stack: ExitStack, **options: Any) -> DataFrame:
        """As of `Side`, without a stream."""
        del most, stack
        return self.load(**options).where(condition)


@dataclass(frozen=True)
class Query:
    """One query: `run` makes its frame on a side; what the frame has cached ends with the stack."""

    seed: int
    run: Callable[[Side, ExitStack], DataFrame]


def _options(columns: Sequence[str] | None, filters: Sequence[Condition], rows: int | None) -> dict[str, Any]:
    """The options of a source for `Side.load`."""
    given = {
        "columns": ",".join(columns or ()),
        "filters": json.dumps(filters) if filters else "",
        "maxPartitionRows": rows,
    }
    return {name: value for name, value in given.items() if value}


def _literal(value: Any) -> str:
    if isinstance(value, str):
        quoted = value.replace("\\", "\\\\").replace("'", "\\'")
        return f"'{quoted}'"
    return str(value).lower() if isinstance(value, bool) else str(value)


class _Maker:
    """Makes one query of a seed. `rows` are some of the table, whose values the comparisons use."""

    def __init__(self, table: str, rows: Sequence[dict[str, Any]], seed: int) -> None:
        self.table = table
        self.seed = seed
        self.random = Random(f"{table} {seed}")  # noqa: S311 - a test's seeds
        self.key = _KEYS[table]
        self.types = {column.name: column.type for column in TABLES[table]}
        self.rows = rows

    def value(self, column: str) -> Any:
        """A value of the column, or one beside it."""
        value = self.random.choice(self.rows)[column]
        if self.types[column] in _INTS and self.random.random() < 0.3:
            return min(max(value + self.random.choice((-1, 1)), -(1 << 15)), (1 << 15) - 1)
        return value

    def compared(self) -> Condition:
        """A comparison that the option `filters` can hold."""
        plain = [name for name, kind in self.types.items() if kind in (*_INTS, "string")]
        while True:
            column = self.random.choice(plain)
            values = [self.value(column) for _ in range(self.random.randint(1, 3))]
            if None in values:
                continue
            sign = self.random.choice(("=", "<", "<=", ">", ">=", "in"))
            return column, sign, values if sign == "in" else values[0]

    def predicate(self, depth: int = 2) -> str:
        """A condition in SQL."""
        chance = self.random.random()
        if depth and chance < 0.35:
            parts = (self.predicate(depth - 1), self.predicate(depth - 1))
            return f"({self.random.choice((' AND ', ' OR ')).join(parts)})"
        if depth and chance < 0.45:
            return f"NOT ({self.predicate(depth - 1)})"
        column, sign, value = self.compared()
        if chance < 0.55:
            return f"{column} IS {self.random.choice(('', 'NOT '))}NULL"
        if chance < 0.65 and self.types[column] == "string":
            text = value if sign != "in" else value[0]
            return f"startswith({column}, {_literal(text[: self.random.randint(0, len(text))])})"
        if chance < 0.75 and self.types[column] in _INTS:
            return f"{column} % {self.random.randint(2, 5)} = {self.random.randint(0, 1)}"
        if sign == "in":
            return f"{column} IN ({', '.join(map(_literal, value))})"
        return f"{column} {sign} {_literal(value)}"

    def options(self) -> dict[str, Any]:
        """Options of a load, most often none."""
        options: dict[str, Any] = {}
        if self.random.random() < 0.3:
            options["filters"] = [self.compared() for _ in range(self.random.randint(1, 2))]
        if self.random.random() < 0.15:
            others = [name for name in self.types if name not in self.key]
            options["columns"] = [*self.key, *self.random.sample(others, min(3, len(others)))]
        if self.random.random() < 0.15:
            options["rows"] = 100
        return options

    def pooled(self) -> dict[str, Any]:
        """One of the few sets of options that the queries over the table share."""
        return _Maker(self.table, self.rows, -1 - self.random.randrange(_POOL)).options()

    def leaf(self) -> Callable[[Side], DataFrame]:
        """The table with options and perhaps a condition; it has the key's columns."""
        options = self.pooled()
        condition = self.predicate() if self.random.random() < 0.6 and "columns" not in options else None

        def loaded(side: Side) -> DataFrame:
            frame = side.load(**options)
            return frame if condition is None else frame.where(condition)

        return loaded

    def tree(self) -> Callable[[Side, ExitStack], DataFrame]:
        """One or two leaves and what the shape of the seed does with them."""
        shape = SHAPES[self.seed % len(SHAPES)]
        if shape in ("actions", "self"):
            return self._again(shape)
        if shape == "stream" and self.table in _FOLLOWED:
            return self._followed()
        one, other = self.leaf(), self.leaf()
        if shape == "cached":
            return lambda side, stack: self._cached(one(side), other(side), stack)
        if shape == "view":
            return lambda side, stack: self._viewed(side, one(side), stack)
        combine = self._combination(shape)
        return lambda side, _: combine(one(side), other(side))

    def _combination(self, shape: str) -> Callable[[DataFrame, DataFrame], DataFrame]:
        """What a shape makes of two frames; some only use the first one."""
        by, last, order = self.random.choice(self.key), self.key[-1], ", ".join(self.key)
        joins = ("left_semi", "left_anti") if shape == "semi" else ("inner", "left", "full")
        how, most = self.random.choice(joins), self.random.randint(1, 50)
        row = f"row_number() OVER (PARTITION BY {self.key[0]} ORDER BY {order} DESC) AS place"
        made: dict[str, Callable[[DataFrame, DataFrame], DataFrame]] = {
            "join": lambda one, other: one.select(self.key).join(other, self.key, how),
            "semi": lambda one, other: one.join(other.select(self.key), self.key, how),
            "union": lambda one, other: one.unionByName(other, allowMissingColumns=True),
            "group": lambda one, other: (
                one.groupBy(by).agg({"*": "count", last: "max"}).join(other.select(self.key), by, "full")
            ),
            "distinct": lambda one, _: one.select(self.key[0]).distinct(),
            "top": lambda one, _: one.orderBy(self.key).limit(most),
            "window": lambda one, _: one.selectExpr("*", row).where("place <= 3"),
        }
        return made.get(shape, lambda one, _: one)

    def _again(self, shape: str) -> Callable[[Side, ExitStack], DataFrame]:
        """One frame used several times, with and without a condition: by actions, or by both sides of a join."""
        options = {name: value for name, value in self.pooled().items() if name != "columns"}
        condition = self.predicate()

        def acted(side: Side, _: ExitStack) -> DataFrame:
            frame = side.load(**options)
            counts = [frame.where(condition).count(), frame.count(), frame.where(condition).count()]
            return frame.selectExpr("*", *(f"{count} AS count_{at}" for at, count in enumerate(counts)))

        def joined(side: Side, _: ExitStack) -> DataFrame:
            frame = side.load(**options)
            passed = frame.where(condition).selectExpr(*self.key, "true AS passed")
            return frame.join(passed, self.key, "left")

        return acted if shape == "actions" else joined

    def _followed(self) -> Callable[[Side, ExitStack], DataFrame]:
        options = {name: value for name, value in self.pooled().items() if name != "columns"}
        condition, most = self.predicate(), self.random.choice((None, 500))
        return lambda side, stack: side.stream(condition, most, stack, **options)

    def _cached(self, one: DataFrame, other: DataFrame, stack: ExitStack) -> DataFrame:
        kept = one.persist()
        stack.callback(kept.unpersist)
        return kept.select(self.key).union(kept.select(self.key)).union(other.select(self.key))

    def _viewed(self, side: Side, frame: DataFrame, stack: ExitStack) -> DataFrame:
        name = f"seen_{uuid4().hex}"
        frame.createOrReplaceTempView(name)
        stack.callback(side.spark.catalog.dropTempView, name)
        keys = ", ".join(self.key)
        same = " AND ".join(f"a.{key} = b.{key}" for key in self.key)
        return side.spark.sql(
            f"SELECT a.*, (SELECT count(*) FROM {name}) AS all_rows FROM {name} a "  # noqa: S608 - our own names
            f"WHERE EXISTS (SELECT {keys} FROM {name} b WHERE {same})"
        )


def queries(table: str, rows: Sequence[dict[str, Any]], seeds: Sequence[int]) -> list[Query]:
    """The queries of these seeds over `table`."""
    return [Query(seed, _Maker(table, rows, seed).tree()) for seed in seeds]


def digest(side: Side, query: Query) -> tuple[int, Any]:
    """The count of a query's rows, and a sum of their hashes, whatever their order."""
    from pyspark.sql import functions as sql
    from pyspark.sql.types import MapType

    with ExitStack() as stack:
        frame = query.run(side, stack)
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


def differing(
    source: Side, parquet: ParquetSide, table: str, rows: Sequence[dict[str, Any]], seeds: Sequence[int]
) -> list[int]:
    """The seeds of the queries that give something else over the source, on any of two runs in different orders."""
    made = queries(table, rows, seeds)
    expected = {query.seed: digest(parquet, query) for query in made}
    wrong: set[int] = set()
    order = Random(table)  # noqa: S311 - a test's seeds
    for _ in range(2):
        order.shuffle(made)
        for query in made:
            for name in SETTINGS:
                source.spark.conf.set(name, order.choice(("true", "false")))
            if digest(source, query) != expected[query.seed]:
                wrong.add(query.seed)
    return sorted(wrong)
