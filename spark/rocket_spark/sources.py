"""Python data sources, one for each table: `spark.read.format("rocketmq-index").load(path)`. The planning process lists and divides, the tasks decode.

`docs/spark-sources.md` lists the options.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, NoReturn

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StringType, StructField, StructType
from rocket_columnar.decode import TABLE_KINDS
from rocket_spec.errors import UsageError

from rocket_spark import reading
from rocket_spark.failure_causes import reason
from rocket_spark.fleet import FLEET_SOURCES
from rocket_spark.schema import spark_schema

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession
    from pyspark.sql.datasource import DataSourceStreamReader

__all__ = ["SOURCES", "reason", "register"]


@dataclass
class _Reader(DataSourceReader):
    """Plans on the driver, decodes in the tasks. It takes no filters from Spark: see `rocket_spark.reading.options`."""

    table: str
    asked: reading.Request
    columns: list[str]
    between: tuple[str | reading.Offsets, str | reading.Offsets] | None
    fail_on_loss: bool

    def partitions(self) -> list[reading.RowsPartition]:  # Spark insists on a list
        if self.between is None:
            return [reading.RowsPartition(parts) for parts in reading.plan_parts(self.asked, self.table)]
        tails = reading.StoreTails(self.asked, self.table, fail_on_loss=self.fail_on_loss)
        start, end = self.between
        begin = tails.checked(tails.named(start, "startingOffsets", others="earliest"))
        stop = tails.named(end, "endingOffsets", others="latest")
        tails.check_order(begin, stop)
        return [reading.RowsPartition(parts) for parts in reading.grouped(tails.parts(begin, stop))]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if isinstance(
            partition, reading.RowsPartition
        ):  # without partitions Spark plans one that holds nothing
            yield from reading.part_rows(partition.parts, self.table, self.columns, self.asked)


class _StoreSource(DataSource):
    """The common part of the sources; each has its format and its table."""

    format_name: ClassVar[str]
    table: ClassVar[str]

    @classmethod
    def name(cls) -> str:
        return cls.format_name

    def _asked(self, schema: StructType | None = None) -> reading.Request:
        return reading.request(reading.given_options(self.options, schema), self.table, self.format_name)

    def schema(self) -> StructType:
        asked = self._asked()
        whole = spark_schema(self.table, utc=asked.utc)
        fields = [whole[name] for name in asked.columns] if asked.columns is not None else list(whole)
        if asked.corrupt is not None:
            fields.append(StructField(asked.corrupt, StringType()))
        if reading.is_catalogs(self.options):
            kept = {reading.KEPT: json.dumps(dict(self.options))}
            fields[0] = StructField(fields[0].name, fields[0].dataType, metadata=kept)
        return StructType(fields)

    def _columns(self, schema: StructType, asked: reading.Request) -> list[str]:
        """The columns of the user's schema, if there is one; UsageError if the table lacks one."""
        own = {field.name: field.dataType for field in spark_schema(self.table, utc=asked.utc)}
        if asked.corrupt is not None:
            own[asked.corrupt] = StringType()
            if asked.corrupt not in schema.fieldNames():
                raise UsageError(
                    f"schema: mode PERMISSIVE reports gaps in column {asked.corrupt!r}; add it to the schema"
                )
        if not len(schema):
            raise UsageError("schema: expected at least one column")
        for field in schema:
            if own.get(field.name) != field.dataType:
                raise UsageError(
                    f"schema: {self.format_name} has no column {field.name!r} of type {field.dataType.simpleString()}"
                )
        return schema.fieldNames()

    def reader(self, schema: StructType) -> _Reader:
        asked, options = self._asked(schema), reading.given_options(self.options, schema)
        between = None
        given = [name for name in reading.OFFSET_OPTIONS if name in options]
        if given:
            self._require_followed(f"option {given[0]}: ")
            between = (
                reading.offsets_option(options, "startingOffsets", "earliest"),
                reading.offsets_option(options, "endingOffsets", "latest"),
            )
        loss = reading.flag(options, "failOnDataLoss", default=True)
        return _Reader(self.table, asked, self._columns(schema, asked), between, loss)

    def _require_followed(self, option: str = "") -> None:
        if self.table not in FOLLOWED:
            formats = " and ".join(format_of(table) for table in FOLLOWED)
            raise UsageError(f"{option}{self.format_name}: cannot be followed; {formats} can")

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        self._require_followed()
        require_streams()
        from rocket_spark.streaming import StoreStreamReader

        asked = self._asked(schema)
        return StoreStreamReader(
            self.table, asked, self._columns(schema, asked), reading.given_options(self.options, schema)
        )

    def writer(self, schema: StructType, overwrite: bool) -> NoReturn:  # noqa: ARG002, FBT001 - Spark's form
        raise UsageError(
            f"{self.format_name}: stores are never written to; use df.write.parquet(...) for tables, "
            "and `rocketspec rebuild` or rebuild_stores for index files and queues"
        )

    def streamWriter(self, schema: StructType, overwrite: bool) -> NoReturn:  # noqa: FBT001 - Spark's form
        self.writer(schema, overwrite)


FOLLOWED: Final = ("commit_log", "consume_queue")  # the tables that streams follow

_SHORT: Final = {
    "index_entries": "index",
    "index_headers": "index-headers",
    "consume_queue": "consumequeue",
    "consume_queue_ext": "consumequeue-ext",
    "commit_log": "commitlog",
}


def require_streams() -> None:
    """Raises UsageError where PySpark lacks what a stream of ours needs."""
    import pyspark
    from pyspark.sql import datasource

    if not hasattr(datasource, "ReadLimit"):
        raise UsageError(f"streams need PySpark 4.2 or later; this is {pyspark.__version__}")


def format_of(table: str) -> str:
    """The name of a table's source."""
    return f"rocketmq-{_SHORT.get(table, table.replace('_', '-'))}"


def _source(of: str) -> type[_StoreSource]:
    class StoreSource(_StoreSource):
        format_name = format_of(of)
        table = of

    return StoreSource


SOURCES: Final[tuple[type[_StoreSource], ...]] = tuple(map(_source, TABLE_KINDS))
"""Every data source, one for each table."""


def register(spark: SparkSession) -> None:
    """Makes every format of `SOURCES` and `FLEET_SOURCES` known to `spark.read.format(...)`."""
    sources: tuple[type[DataSource], ...] = (*SOURCES, *FLEET_SOURCES)
    for source in sources:
        spark.dataSource.register(source)
