"""Jobs and sources on whole stores, each read by one task: audits, digests, queries, summaries, what a start would do."""

from __future__ import annotations

import hashlib
import json
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final, Unpack

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from rocket_columnar.audit import LEVELS, Level
from rocket_columnar.describe import FileDigest, digest, look_at, store_digest
from rocket_columnar.facts import Store
from rocket_columnar.formats import LONG_MIN
from rocket_columnar.query import OpenStore, Row, find_all, find_by_unique_key, keys_of, scan
from rocket_columnar.report import AuditReport, Shell, audit, report_on
from rocket_columnar.restart import predicted, rows_of
from rocket_columnar.store import StoreFile
from rocket_spec.errors import FormatError, UsageError, error_line

from rocket_spark import reading
from rocket_spark.files import is_remote
from rocket_spark.stores import (
    FoundStore,
    JobOptions,
    JobStore,
    JobStores,
    StorePath,
    copied,
    near,
    store_tasks,
)
from rocket_spark.tasks import Spark, threads_each

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


def audit_stores(
    spark: Spark,
    stores: StorePath | Sequence[StorePath],
    level: Level = "default",
    *,
    release: str | None = None,
    **options: Unpack[JobOptions],
) -> dict[str, AuditReport]:
    """Findings of stores: the report of `rocket_columnar.report.audit` on each, by name.

    Arguments and errors as of `query_stores`; `level` is "quick", "default" or "deep", `release` the one that wrote the stores, by
    default as each store's bytes show. A store on S3 or HDFS is copied to the worker's disk.
    """
    job = JobStores(stores, **options)
    threads = threads_each(spark, len(job.tasks))
    return job.each(spark, partial(audit_task, level, release, threads=threads))


def audit_task(level: Level, release: str | None, task: FoundStore, *, threads: int = 1) -> AuditReport:
    """In a task: the report on one store."""
    with near(task) as (path, folders):
        store = Store(path, geometry=task.geometry, commitlog=folders, conf=task.conf, release=release)
        report = audit(store, level, threads=threads)
    if is_remote(task.path):  # without cures, whose commands name the copy
        return report_on(report.findings, Shell(task.path), None, report.signs)
    return report


_HEAD: Final = 64
"""Bytes of a log file's first record that replicas share: checksum, offsets, times and, with DLedger, the entry's header."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The messages that are searched for.

    Attributes:
        topic: theirs; None for any with a unique key.
        key: one of their keys.
        unique_key: their ID, made by a client.
        time: ms; of each queue of the topic the first message stored at that time or later.
        scan: read the commit logs instead of the index.
    """

    topic: str | None = None
    key: str | None = None
    unique_key: str | None = None
    time: int | None = None
    scan: bool = False

    def check(self) -> None:
        """Raises UsageError for what cannot be asked together."""
        given = {"key": self.key, "unique key": self.unique_key, "time": self.time}
        found = [name for name, value in given.items() if value is not None]
        if len(found) != 1:
            raise UsageError(
                f"expected one of key, unique key and time; found {' and '.join(found) or 'none'}"
            )
        if self.topic is None and self.unique_key is None:
            raise UsageError(f"a {found[0]} requires a topic")
        if self.time is not None and self.scan:
            raise UsageError("a time is looked up in the queues, without a scan")

    def takes(self, row: Row) -> bool:
        """Whether a record of the log is one of these messages."""
        has = row["uniq_key"] == self.unique_key if self.key is None else self.key in keys_of(row)
        return has and self.topic in (None, row["topic"])


def query_stores(
    spark: Spark, stores: StorePath | Sequence[StorePath], asked: Asked, **options: Unpack[JobOptions]
) -> list[tuple[str, Row]]:
    """The messages in all stores, each after the name of its store: rows of the table `commit_log`.

    They are looked up in the index files; only a store without any has its log read. Of a store on S3 or HDFS, the index
    files are fetched to the worker's disk, and of the log only the records found.

    Args:
        spark: the session that runs the tasks; they see `stores` under the same paths as the driver.
        stores: the directories of one store or several; see `StorePath`.
        asked: what is searched for.
        options: see `JobOptions`.

    Raises:
        UsageError: no store, or a question that cannot be asked.
        OSError: a store cannot be read.
        JobError: Spark gave up, or no store can be read.
    """
    asked.check()
    found = JobStores(stores, **options).each(spark, partial(query_task, asked))
    return [(store, row) for store, rows in found.items() for row in rows]


def query_task(asked: Asked, task: FoundStore) -> list[Row]:
    """In a task: the messages in one store."""
    if is_remote(task.path):
        files = task.files()
        with copied(file for file in files if file.kind == "index") as place:
            near_by = [
                replace(file, path=place / file.name, source=None) for file in files if file.kind == "index"
            ]
            others = [file for file in files if file.kind != "index"]
            with OpenStore(Store.of_files([*near_by, *others], geometry=task.geometry)) as store:
                return _found(store, asked, files)
    with OpenStore(task.path, task.geometry, commitlog=task.commitlog) as store:
        needed = asked.time is not None or asked.topic is None
        return _found(store, asked, task.files() if needed else [])


def _found(store: OpenStore, asked: Asked, files: Sequence[StoreFile]) -> list[Row]:
    queues = [file for file in files if file.kind == "queue" and file.topic is not None]
    if asked.time is not None:
        tails = reading.queue_tails([file for file in queues if file.topic == asked.topic])
        return [row for queue in tails if (row := _first_from(store, queue, asked.time)) is not None]
    key = asked.key if asked.key is not None else asked.unique_key or ""
    if asked.scan or not store.indexes.files:
        rows = scan(store, asked.topic, key)
    elif asked.key is not None:
        rows = find_all(store, asked.topic or "", key)
    else:
        topics = sorted({file.topic or "" for file in queues}) if asked.topic is None else [asked.topic]
        rows = find_by_unique_key(store, key, topics)
    return [row for row in rows if asked.takes(row)]


def _first_from(store: OpenStore, queue: reading.QueueTail, time: int) -> Row | None:
    """The first message of a queue that was stored at a time or later, by bisection."""

    def offset(number: int) -> int:
        return int(queue.unit(number)["phy_offset"])

    def stored(number: int) -> int:
        when = store.log.store_timestamp(offset(number))
        return LONG_MIN if when is None else when  # expired

    number = bisect_left(range(queue.first, queue.end), time, key=stored) + queue.first
    return store.log.row(offset(number)) if number < queue.end else None


@dataclass(frozen=True, slots=True)
class StoreDigest:
    """The digest of a store, those of its files, and the heads of its log files by physical offset."""

    digest: str
    files: tuple[FileDigest, ...]
    heads: frozenset[tuple[int, str]]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two replicas that differ: of each file kind, logical name, and its digest in each, None if one lacks it."""

    one: str
    other: str
    files: tuple[tuple[str, str, str | None, str | None], ...]


def digest_stores(
    spark: Spark, stores: StorePath | Sequence[StorePath], **options: Unpack[JobOptions]
) -> dict[str, StoreDigest]:
    """The digest of each store, as `rocketspec digest` gives it; arguments and errors as of `query_stores`.

    A store on S3 or HDFS is copied to the worker's disk.
    """
    return JobStores(stores, **options).each(spark, digest_task)


def digest_task(task: FoundStore) -> StoreDigest:
    """In a task: the digest of one store."""
    with near(task) as (path, folders):
        files = list(digest(path, geometry=task.geometry, commitlog=folders))
    heads = set()
    for file in task.files():
        if file.kind == "log":
            with file.open() as reader:
                head = reader.read(0, min(_HEAD, reader.size)).tobytes()
            if any(head):
                heads.add((file.base_offset, hashlib.sha256(head).hexdigest()))
    return StoreDigest(store_digest(files), tuple(files), frozenset(heads))


def differing(digests: Mapping[str, StoreDigest]) -> list[Pair]:
    """The replicas that differ: each with the first of those whose content most have.

    Stores are replicas of each other if a file of their logs begins with the same record.
    """
    groups: list[tuple[set[tuple[int, str]], list[str]]] = []
    for name, own in digests.items():
        mine = [group for group in groups if group[0] & own.heads]
        heads = set(own.heads).union(*(group[0] for group in mine))
        groups = [group for group in groups if group not in mine]
        groups.append((heads, [member for group in mine for member in group[1]] + [name]))
    pairs = []
    for _, names in groups:
        ((usual, _),) = Counter(digests[name].digest for name in names).most_common(1)
        one = next(name for name in names if digests[name].digest == usual)
        pairs += [_pair(digests, one, other) for other in names if digests[other].digest != usual]
    return pairs


def _pair(digests: Mapping[str, StoreDigest], one: str, other: str) -> Pair:
    mine, theirs = (
        {(file.kind, file.logical_name): file.digest for file in digests[name].files if file.logical_name}
        for name in (one, other)
    )
    names = sorted(key for key in mine.keys() | theirs.keys() if mine.get(key) != theirs.get(key))
    files = tuple(
        (kind, name or "", mine.get((kind, name)), theirs.get((kind, name))) for kind, name in names
    )
    return Pair(one, other, files)


def restart_stores(
    spark: Spark,
    stores: StorePath | Sequence[StorePath],
    *,
    release: str | None = None,
    **options: Unpack[JobOptions],
) -> dict[str, list[dict[str, Any]]]:
    """The effects of a broker's start on each store: the objects of `rocketspec audit --restart --json`.

    Arguments and errors as of `query_stores`; `release` is the one that starts, by default as each store's bytes show. A store
    on S3 or HDFS is copied to the worker's disk.
    """
    return JobStores(stores, **options).each(spark, partial(restart_task, release))


def restart_task(release: str | None, task: FoundStore) -> list[dict[str, Any]]:
    """In a task: what a start would do to one store."""
    with near(task) as (path, folders):
        found = predicted(Store(path, geometry=task.geometry, commitlog=folders, release=release))
        return [{"running": found}] if isinstance(found, str) else list(rows_of(*found))


FLEET_OPTIONS: Final = ("level", "hashSlotNum", "indexNum", "recursiveFileLookup", "commitlog")
"""Options beside `path` and those of S3 and HDFS; `level` is of the findings alone."""

_PARTITIONS: Final = 256  # partitions of a read, at most

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
    """Some stores, read one by one."""

    tasks: tuple[FoundStore, ...]


def _finding_rows(task: FoundStore, level: Level) -> Iterator[dict[str, Any]]:
    yield from (finding.row() for finding in audit_task(level, None, task))


def _summary_rows(task: FoundStore, _level: Level) -> Iterator[dict[str, Any]]:
    if is_remote(task.path):
        raise UsageError(
            f"{task.path}: only a store on disks can be summed up; rocketmq-findings reads this one"
        )
    yield look_at(task.path, geometry=task.geometry, commitlog=task.commitlog).row()


@dataclass
class _FleetReader(DataSourceReader):
    tasks: list[FoundStore]
    rows: Callable[[FoundStore, Level], Iterator[dict[str, Any]]]
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
                rows = [name | {"error": error_line(error)}]
            yield from (tuple(map(row.get, self.columns)) for row in rows)


class _FleetSource(DataSource):
    """Stores as rows; one that cannot be read is a row with its `error`."""

    format_name: ClassVar[str]
    columns: ClassVar[str]

    @classmethod
    def name(cls) -> str:
        return cls.format_name

    def schema(self) -> str:
        if not reading.is_catalogs(self.options):
            return self.columns
        kept = json.dumps(dict(self.options)).replace("\\", "\\\\").replace("'", "\\'")
        return self.columns.replace("store string", f"store string COMMENT '{kept}'", 1)

    def reader(self, schema: StructType) -> _FleetReader:
        options = reading.given_options(self.options, schema)
        for name in options:
            if name.lower() not in {
                "path",
                "paths",
                *map(str.lower, FLEET_OPTIONS),
            } and not reading.is_ignored(name):
                raise UsageError(f"option {name}: unknown; there are {', '.join(FLEET_OPTIONS)}")
        level = options.get("level", "default")
        if level not in LEVELS:
            raise UsageError(f"option level: {level!r} is none of {', '.join(LEVELS)}")
        folders, recursive = reading.commitlog_option(options), reading.flag(options, "recursiveFileLookup")
        stores = [JobStore(path, folders) for path in reading.path_option(options, self.format_name)]
        tasks = store_tasks(stores, reading.geometry_option(options), dict(options), recursive=recursive)
        rows = _finding_rows if self.format_name == FindingsSource.format_name else _summary_rows
        return _FleetReader(tasks, rows, level, schema.fieldNames())


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
