"""The health of a fleet as data sources: findings of an audit, and summaries of stores, with the columns of `--json`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from rocket_columnar.audit import LEVELS, Level
from rocket_columnar.describe import look_at
from rocket_spec.errors import FormatError, UsageError

from rocket_spark.audit import audit_task
from rocket_spark.files import COMMITLOG, is_remote
from rocket_spark.reading import flag, geometry_option, is_ignored, path_option
from rocket_spark.stores import StoreTask, store_tasks

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


FLEET_OPTIONS: Final = ("level", "hashSlotNum", "indexNum", "recursiveFileLookup", COMMITLOG)
"""Options beside `path` and those of S3 and HDFS; `level` is of the findings alone."""

_PARTITIONS: Final = 256
"""Partitions of a read, at most."""

_FINDINGS: Final = (
    "store string, code string, severity string, clause string, file string, offset bigint, message string, "
    "cure string, error string"
)
_STORES: Final = (
    "store string, path string, kind string, clean boolean, running bigint, "
    "log struct<files: int, size: bigint, begin: bigint, end: bigint, begin_timestamp: bigint, end_timestamp: bigint>, "
    "indexes array<struct<file: string, size: bigint, entries: int, begin_phy_offset: bigint, end_phy_offset: bigint, "
    "begin_timestamp: bigint, end_timestamp: bigint>>, "
    "geometry struct<hash_slot_num: int, index_num: int, how: string, candidates: bigint, reason: string, "
    "checked: bigint, agreed: bigint, chains: bigint>, "
    "geometry_problem string, index_coverage double, "
    "queues array<struct<topic: string, queue_id: int, files: int, size: bigint, min_offset: bigint, "
    "max_offset: bigint, messages: bigint>>, "
    "ext_files int, checkpoint map<string, bigint>, problems array<struct<file: string, reason: string>>, error string"
)


@dataclass
class _Stores(InputPartition):
    """Some stores, each of which is read by itself."""

    tasks: tuple[StoreTask, ...]


def _finding_rows(task: StoreTask, level: Level) -> Iterator[dict[str, Any]]:
    yield from (finding.row() for finding in audit_task(level, None, task))


def _summary_rows(task: StoreTask, _level: Level) -> Iterator[dict[str, Any]]:
    if is_remote(task.path):
        raise UsageError(
            f"{task.path}: only a store on disks can be summed up; rocketmq-findings reads this one"
        )
    yield look_at(task.path, geometry=task.geometry, commitlog=task.commitlog).row()


@dataclass
class _Reader(DataSourceReader):
    tasks: list[StoreTask]
    rows: Callable[[StoreTask, Level], Iterator[dict[str, Any]]]
    level: Level
    columns: list[str]

    def partitions(self) -> list[_Stores]:
        share = -(-len(self.tasks) // _PARTITIONS)
        return [_Stores(tuple(self.tasks[at : at + share])) for at in range(0, len(self.tasks), share)]

    def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:
        for task in partition.tasks if isinstance(partition, _Stores) else ():
            name = {"store": task.store}
            try:
                rows = [name | row for row in self.rows(task, self.level)]
            except (FormatError, UsageError, OSError) as error:
                rows = [name | {"error": str(error)}]
            yield from (tuple(map(row.get, self.columns)) for row in rows)


class _FleetSource(DataSource):
    """Stores as rows; one that cannot be read is a row with its `error`."""

    format_name: ClassVar[str]
    columns: ClassVar[str]

    @classmethod
    def name(cls) -> str:
        return cls.format_name

    def schema(self) -> str:
        return self.columns

    def reader(self, schema: StructType) -> _Reader:
        for name in self.options:
            if name.lower() not in {"path", "paths", *map(str.lower, FLEET_OPTIONS)} and not is_ignored(name):
                raise UsageError(f"option {name}: unknown; there are {', '.join(FLEET_OPTIONS)}")
        level = self.options.get("level", "default")
        if level not in LEVELS:
            raise UsageError(f"option level: {level!r} is none of {', '.join(LEVELS)}")
        given, geometry = path_option(self.options, self.format_name), geometry_option(self.options)
        recursive = flag(self.options, "recursiveFileLookup")
        tasks = store_tasks(given, geometry, dict(self.options), recursive=recursive)
        rows = _finding_rows if self.format_name == FindingsSource.format_name else _summary_rows
        return _Reader(tasks, rows, level, schema.fieldNames())


class FindingsSource(_FleetSource):
    """`rocketmq-findings`: the findings of an audit of each store."""

    format_name = "rocketmq-findings"
    columns = _FINDINGS


class StoresSource(_FleetSource):
    """`rocketmq-stores`: a summary of each store, as `rocketspec inspect` gives it."""

    format_name = "rocketmq-stores"
    columns = _STORES


FLEET_SOURCES: Final = (FindingsSource, StoresSource)
"""Sources whose rows are about stores, not of a table of theirs."""
