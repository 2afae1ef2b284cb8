"""Seeded queries over a table, to be run over a data source and over the engine's Parquet of the same stores.

A query is a function of a `Side`, which gives the table as a frame. Frames of one side with the same options come
from one `load()`: what one query leaves behind in it, the next one meets.
"""

from __future__ import annotations

import json
from contextlib import ExitStack
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any, Final, Protocol
from uuid import uuid4

from rocket_spec.tables import TABLES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

__all__ = ["SETTINGS", "ParquetSide", "Query", "Side", "SourceSide", "differing", "digest"]

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
        """The table: some columns of it, the rows that pass, in partitions of about so many rows."""
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
        options: dict[str, Any] = {}
        if columns is not None:
            options["columns"] = ",".join(columns)
        if filters:
            options["filters"] = json.dumps(filters)
        if rows is not None:
            options["maxPartitionRows"] = rows
        key = json.dumps(options)
        if key not in self.loads:
            reader = self.spark.read.format(self.format_name).options(**options)
            self.loads[key] = reader.load(self.path)
        return self.loads[key]


@dataclass
class ParquetSide:
    """The table as the engine's Parquet holds it."""

    spark: SparkSession
    path: Path

    def load(
        self,
        *,
        columns: Sequence[str] | None = None,
        filters: Sequence[Condition] = (),
        rows: int | None = None,
    ) -> DataFrame:
        """As of `Side`, in Spark SQL."""
        del rows
        frame = self.spark.read.parquet(str(self.path))
        for column, sign, value in filters:
            frame = frame.where(
                f"{column} IN ({', '.join(map(_literal, value))})"
                if sign == "in"
                else f"{column} {sign} {_literal(value)}"
            )
        return frame if columns is None else frame.select(*columns)


@dataclass(frozen=True)
class Query:
    """One query: `run` makes its frame on a side; what the frame has cached ends with the stack."""

    seed: int
    run: Callable[[Side, ExitStack], DataFrame]


def _literal(value: Any) -> str:
    if isinstance(value, str):
        quoted = value.replace("\\", "\\\\").replace("'", "\\'")
        return f"'{quoted}'"
    return str(value).lower() if isinstance(value, bool) else str(value)


class _Maker:
    """Makes one query of a seed. `rows` are some of the table, whose values the comparisons use."""

    def __init__(self, table: str, rows: Sequence[dict[str, Any]], seed: int) -> None:
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

    def leaf(self) -> Callable[[Side], DataFrame]:
        """The table with options, most often none, and perhaps a condition; it has the key's columns."""
        options: dict[str, Any] = {}
        if self.random.random() < 0.3:
            options["filters"] = [self.compared() for _ in range(self.random.randint(1, 2))]
        if self.random.random() < 0.15:
            others = [name for name in self.types if name not in self.key]
            options["columns"] = [*self.key, *self.random.sample(others, min(3, len(others)))]
        if self.random.random() < 0.15:
            options["rows"] = 100
        condition = self.predicate() if self.random.random() < 0.6 and "columns" not in options else None

        def loaded(side: Side) -> DataFrame:
            frame = side.load(**options)
            return frame if condition is None else frame.where(condition)

        return loaded

    def tree(self) -> Callable[[Side, ExitStack], DataFrame]:
        """One to three leaves, joined, united or counted."""
        shape = self.random.choice(
            ("leaf", "leaf", "join", "semi", "union", "group", "cached", "view", "distinct", "top", "window")
        )
        one, other = self.leaf(), self.leaf()
        if shape == "join":
            how = self.random.choice(("inner", "left", "full"))
            return lambda side, _: one(side).select(self.key).join(other(side), self.key, how)
        if shape == "semi":
            how = self.random.choice(("left_semi", "left_anti"))
            return lambda side, _: one(side).join(other(side).select(self.key), self.key, how)
        if shape == "union":
            return lambda side, _: one(side).unionByName(other(side), allowMissingColumns=True)
        if shape == "group":
            by = self.random.choice(self.key)
            last = self.key[-1]
            return lambda side, _: (
                one(side)
                .groupBy(by)
                .agg({"*": "count", last: "max"})
                .join(other(side).select(self.key), by, "full")
            )
        if shape == "cached":
            return lambda side, stack: self._cached(one(side), other(side), stack)
        if shape == "view":
            return lambda side, stack: self._viewed(side, one(side), stack)
        if shape == "distinct":
            return lambda side, _: one(side).select(self.key[0]).distinct()
        if shape == "top":
            most = self.random.randint(1, 50)
            return lambda side, _: one(side).orderBy(self.key).limit(most)
        if shape == "window":
            by, order = self.key[0], ", ".join(self.key)
            row = f"row_number() OVER (PARTITION BY {by} ORDER BY {order} DESC) AS place"
            return lambda side, _: one(side).selectExpr("*", row).where("place <= 3")
        return lambda side, _: one(side)

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
