"""Python data sources: `spark.read.format("rocketmq-index").load(path)`, one class for each table.

The driver's planning process lists the files, one partition each; the bytes are decoded inside the tasks by
rocket_columnar and cross into the JVM as Arrow record batches.

Options: `hashSlotNum` and `indexNum` together give the geometry of index files; without them it is inferred over
all files that are read. A schema given to the reader picks columns: `.schema("phy_offset bigint, size int")`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final, NoReturn

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from rocket_columnar.decode import TABLE_KINDS
from rocket_columnar.geometry import resolve_each
from rocket_columnar.store import StoreFile, find_files
from rocket_spec.errors import MalformedError, UsageError
from rocket_spec.layout import Geometry

from rocket_spark._engine import decode_part, followers
from rocket_spark.schema import arrow_schema, plain, spark_schema

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pyarrow as pa
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType
    from rocket_columnar.decode import Gap

__all__ = ["SOURCES", "register"]

_BATCH_ROWS: Final = 1 << 17
"""Rows of a record batch on its way to the JVM: some 10 MB with the file's name in plain strings."""

_INT_MAX: Final = 0x7FFFFFFF


def _positive_int(options: Mapping[str, str], name: str) -> int | None:
    text = options.get(name)
    if text is None:
        return None
    try:
        value = int(text)
    except ValueError:
        value = 0
    if not 0 < value <= _INT_MAX:
        raise UsageError(f"option {name}: {text!r} is not a whole number from 1 to {_INT_MAX:,}")
    return value


def _geometry(options: Mapping[str, str]) -> Geometry | None:
    hash_slot_num = _positive_int(options, "hashSlotNum")
    index_num = _positive_int(options, "indexNum")
    if hash_slot_num is None and index_num is None:
        return None
    if hash_slot_num is None or index_num is None:
        missing = "hashSlotNum" if hash_slot_num is None else "indexNum"
        raise UsageError(
            f"option {missing}: missing; hashSlotNum and indexNum are given together or not at all"
        )
    return Geometry(hash_slot_num, index_num)


def _paths(options: Mapping[str, str], name: str) -> list[str]:
    if "path" in options:
        return [options["path"]]
    paths = json.loads(options.get("paths", "[]"))
    if not paths:
        raise UsageError(f'option path: missing; spark.read.format("{name}").load(path)')
    return [str(path) for path in paths]


def _refuse(gap: Gap) -> NoReturn:
    raise MalformedError(
        file=gap.file,
        found=f"a gap in the log from {gap.begin:,} to {gap.end:,}: {gap.found}",
        expected=gap.expected,
    )


@dataclass
class _FilePartition(InputPartition):
    """One file to decode in one task, with those that follow in its log."""

    file: StoreFile
    following: tuple[StoreFile, ...]
    geometry: Geometry | None


class _Reader(DataSourceReader):
    """Lists files on the driver, decodes one per task."""

    def __init__(self, table: str, paths: list[str], geometry: Geometry | None, columns: list[str]) -> None:
        self.table = table
        self.paths = paths
        self.geometry = geometry
        self.columns = columns

    def partitions(self) -> list[_FilePartition]:  # Spark insists on a list
        kind = TABLE_KINDS[self.table]
        stores = [find_files(Path(path), kind) for path in self.paths]
        geometries = {}
        if kind == "index":
            geometries = resolve_each([file for files in stores for file in files], self.geometry)
        return [
            _FilePartition(file, following, geometries[file].geometry if file in geometries else None)
            for files in stores
            for file, following in zip(files, followers(files), strict=True)
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if not isinstance(partition, _FilePartition):
            return  # what Spark plans when there are no partitions
        batches = decode_part(
            [partition.file],
            partition.following,
            tables=[self.table],
            geometry=partition.geometry,
            columns=self.columns,
            batch_rows=_BATCH_ROWS,
            on_gap=_refuse,
        )
        schema = arrow_schema(self.table, self.columns)
        for _, batch in batches:
            yield plain(batch, schema)


class _StoreSource(DataSource):
    """What the sources share; each names its format and its table."""

    format_name: ClassVar[str]
    table: ClassVar[str]

    @classmethod
    def name(cls) -> str:
        return cls.format_name

    def schema(self) -> StructType:
        _paths(self.options, self.format_name)
        _geometry(self.options)
        return spark_schema(self.table)

    def reader(self, schema: StructType) -> _Reader:
        own = {field.name: field.dataType for field in spark_schema(self.table)}
        for field in schema:
            if own.get(field.name) != field.dataType:
                raise UsageError(
                    f"schema: {self.format_name} has no column {field.name!r} of type {field.dataType.simpleString()}"
                )
        paths = _paths(self.options, self.format_name)
        return _Reader(self.table, paths, _geometry(self.options), schema.fieldNames())


class IndexEntriesSource(_StoreSource):
    """`rocketmq-index`: the entries of index files."""

    format_name = "rocketmq-index"
    table = "index_entries"


class IndexHeadersSource(_StoreSource):
    """`rocketmq-index-headers`: one row for each index file."""

    format_name = "rocketmq-index-headers"
    table = "index_headers"


class ConsumeQueueSource(_StoreSource):
    """`rocketmq-consumequeue`: the units of consume queues."""

    format_name = "rocketmq-consumequeue"
    table = "consume_queue"


class ConsumeQueueExtSource(_StoreSource):
    """`rocketmq-consumequeue-ext`: the units of consume-queue ext files."""

    format_name = "rocketmq-consumequeue-ext"
    table = "consume_queue_ext"


class CommitLogSource(_StoreSource):
    """`rocketmq-commitlog`: the records of commit logs."""

    format_name = "rocketmq-commitlog"
    table = "commit_log"


class CheckpointSource(_StoreSource):
    """`rocketmq-checkpoint`: one row for each checkpoint."""

    format_name = "rocketmq-checkpoint"
    table = "checkpoint"


SOURCES: Final[tuple[type[_StoreSource], ...]] = (
    IndexEntriesSource,
    IndexHeadersSource,
    ConsumeQueueSource,
    ConsumeQueueExtSource,
    CommitLogSource,
    CheckpointSource,
)
"""Every data source, one for each table."""


def register(spark: SparkSession) -> None:
    """Makes every format of `SOURCES` known to `spark.read.format(...)` in this session."""
    for source in SOURCES:
        spark.dataSource.register(source)
