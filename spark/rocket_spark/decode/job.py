"""Decoding stores on Spark: tasks write Parquet, the driver puts it in place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack

from rocket_spec.layout import Geometry
from rocket_spec.tables import TABLES

from rocket_spark.decode.options import DecodeArguments
from rocket_spark.decode.part import run_part
from rocket_spark.decode.part_tasks import PartTask
from rocket_spark.decode.part_writer import folder_value
from rocket_spark.decode.plan import DecodePlan, plan_decode
from rocket_spark.output import Output
from rocket_spark.stores import StorePath
from rocket_spark.tasks import Progress, run_tasks, silent

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class TableSummary:
    """What was written of one table: `size` is in bytes of Parquet."""

    table: str
    rows: int
    parts: int
    size: int


@dataclass(frozen=True, slots=True)
class StoreStatus:
    """What became of one store.

    Attributes:
        store: its name in the output, empty for a single store.
        path: where it is.
        status: "decoded" or "failed".
        reason: why it failed, in one line; empty otherwise.
        files: the number of files decoded.
        size: bytes on disk of these files.
        rows: the number of rows written.
        gaps: gaps in the commit log.
    """

    store: str
    path: str
    status: Literal["decoded", "failed"]
    reason: str
    files: int
    size: int
    rows: int
    gaps: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DecodeSummary:
    """What a decode job did.

    Attributes:
        stores: the number of stores decoded.
        files: the number of files decoded.
        size: bytes on disk of these files.
        tables: what was written, by table.
        gaps: gaps met in commit logs.
        status: a row for each store.
        nulled: the number of times that became null since they are out of range.
    """

    stores: int
    files: int
    size: int
    tables: tuple[TableSummary, ...]
    gaps: tuple[str, ...]
    status: tuple[StoreStatus, ...]
    nulled: int = 0


def decode_stores(
    spark: SparkSession,
    stores: StorePath | Sequence[StorePath],
    out: str | Path,
    tables: Collection[str] | None = None,
    geometry: Geometry | None = None,
    *,
    progress: Progress = silent,
    **how: Unpack[DecodeArguments],
) -> DecodeSummary:
    """Decodes stores into `out/TABLE/part-*.parquet`, the rows of `rocketspec decode`.

    With several stores, each has a folder of its own, `out/TABLE/store=NAME/`, which Spark reads as a column `store`. A
    store that cannot be decoded does not fail the others: it is listed in the summary. `out` contains all tables and
    `_SUCCESS`, or after an error what it contained before.

    Args:
        spark: the session that runs the tasks; they see `stores` and `out` under the same paths as the driver.
        stores: one or several; each a file, a directory of one kind, or a whole store; a path, or a URI of S3 or HDFS.
        out: a directory, missing or empty; a path, or a URI of S3 or HDFS.
        tables: names from `rocket_spec.tables.TABLES`; None for every table that the stores have files of.
        geometry: of the index files; inferred store by store when None.
        progress: see `rocket_spark.tasks.Progress`.
        how: see `DecodeArguments`.

    Raises:
        UsageError: `out` cannot be used, a table is unknown or has no files here, the geometry cannot be inferred.
        FormatError: of a single store, or with `fail_fast`: a file cannot be decoded, or has another size than when
            the job began.
        OSError: `out` cannot be written; of a single store, or with `fail_fast`, a file cannot be read.
        JobError: Spark gave up, or no store can be decoded.
    """
    return run_decode(spark, plan_decode(stores, out, tables, geometry, **how), progress=progress)


def run_decode(spark: SparkSession, plan: DecodePlan, *, progress: Progress = silent) -> DecodeSummary:
    """The second half of `decode_stores`; arguments and errors as there."""
    with Output(plan.out, plan.storage) as output:
        done = _Done(plan, _outcomes(spark, plan, output, progress))
        sizes = output.commit({place: name for place, (name, _) in done.parts.items()})
    return done.summary(sizes)


def _outcomes(
    spark: SparkSession, plan: DecodePlan, output: Output, progress: Progress
) -> list[tuple[PartTask, dict[str, Any]]]:
    """Each task with what it returned; those of stores that failed skipped."""
    directory, options, work = output.folder, plan.options, run_part

    def decoded(task: PartTask) -> dict[str, Any]:
        return work(task, directory, options)

    results = plan.job.run(spark, decoded, plan.tasks, what="decode", progress=progress)
    done = plan.job.good(plan.tasks, results)
    return _joined(done, lambda task: run_tasks(spark, decoded, [task], what="decode")[0])


def _joined(
    done: list[tuple[PartTask, dict[str, Any]]], again: Callable[[PartTask], dict[str, Any]]
) -> list[tuple[PartTask, dict[str, Any]]]:
    """Decodes a range of a log `again` that began within the last record of the range before.

    A range begins at the first frame that verifies there, and a record's body may contain one.
    """
    for number, (task, mine) in enumerate(done):
        before, last = done[number - 1]
        if not number or task.files[0].kind != "log" or before.files[-1] != task.files[0]:
            continue
        if last["end"] is not None and mine["begin"] is not None and mine["begin"] < last["end"]:
            done[number] = task, again(replace(task, log_range=(last["end"], task.log_range[1])))
        if done[number][1]["end"] is None:
            done[number][1]["end"] = last["end"]
    return done


class _Done:
    """What the tasks of a job returned, put together."""

    def __init__(self, plan: DecodePlan, done: Sequence[tuple[PartTask, dict[str, Any]]]) -> None:
        self.plan = plan
        self.failed = plan.failed
        self.parts: dict[str, tuple[str, int]] = {}
        self.rows_of: Counter[str] = Counter()
        self.gaps: dict[str, list[str]] = {name: [] for name in plan.plans}
        self.nulled = 0
        for task, outcome in done:
            self.gaps[task.store] += [gap for gap in outcome["gaps"] if gap not in self.gaps[task.store]]
            self.nulled += outcome["nulled"]
            for table, files in outcome["parts"].items():
                for path, (name, rows) in files.items():
                    self.parts[f"{_folder(table, task.store)}/{path}"] = name, rows
                    self.rows_of[task.store] += rows

    def summary(self, sizes: Mapping[str, int]) -> DecodeSummary:
        """What the job did; `sizes` are those of the files written."""
        plan = self.plan
        tables = []
        for table in TABLES:
            places = [place for place in self.parts if place.startswith(f"{table}/")]
            if places:
                rows = sum(self.parts[place][1] for place in places)
                tables.append(TableSummary(table, rows, len(places), sum(sizes[place] for place in places)))
        status = tuple(self._status(name, path, self.rows_of[name]) for name, path in plan.stores.items())
        good = [store for store in status if store.status == "decoded"]
        return DecodeSummary(
            len(good),
            sum(store.files for store in good),
            sum(store.size for store in good),
            tuple(tables),
            tuple(gap for store in good for gap in store.gaps),
            status,
            self.nulled,
        )

    def _status(self, name: str, path: str, rows: int) -> StoreStatus:
        if name in self.failed:
            return StoreStatus(name, path, "failed", str(self.failed[name]), 0, 0, 0, ())
        store = self.plan.plans[name]
        return StoreStatus(name, path, "decoded", "", store.files, store.size, rows, tuple(self.gaps[name]))


def _folder(table: str, store: str) -> str:
    """The folder of a table; `store=NAME` is how Hive says that all rows below have this value in a column."""
    return f"{table}/store={folder_value(store)}" if store else table
