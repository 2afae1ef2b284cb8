"""Decoding stores on Spark: tasks write Parquet, the driver puts it in place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack

from rocket_spec.layout import Geometry
from rocket_spec.tables import TABLES

from rocket_spark.decode.coverage import REPLACED
from rocket_spark.decode.options import DecodeArguments
from rocket_spark.decode.part import run_part
from rocket_spark.decode.part_tasks import PartTask
from rocket_spark.decode.part_writer import folder_value
from rocket_spark.decode.plan import DecodePlan, plan_decode, request_of
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
        gaps: gaps in the commit log, and what was deleted before it was decoded.
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
    options = plan.options
    with Output(
        plan.out, plan.storage, overwrite=plan.overwrite, resume=options.resume, append=options.append
    ) as output:
        if plan.before.get("files"):
            output.clean(file["path"] for file in plan.before["files"])
        done = _Done(plan, _outcomes(spark, plan, output, progress))
        parts = {place: name for place, (name, _) in done.parts.items()}
        if options.append:
            files: Sequence[Mapping[str, Any]] = output.add(parts, done.facts(), done.kept())
        else:
            files = output.commit(parts, done.facts())
    return done.summary({file["path"]: file["bytes"] for file in files})


def _outcomes(
    spark: SparkSession, plan: DecodePlan, output: Output, progress: Progress
) -> list[tuple[PartTask, dict[str, Any]]]:
    """Each task with what it returned, in this run or in one that was killed; those of stores that failed skipped."""
    directory, options, work = output.folder, plan.options, run_part
    request = request_of(None, options)  # the tables are the task's

    def decoded(task: PartTask) -> dict[str, Any]:
        return work(task, directory, options)

    def run(decoded: Callable[..., Any], tasks: list[Any]) -> list[Any]:
        return plan.job.run(spark, decoded, tasks, what="decode", progress=progress)

    done = plan.job.good(plan.tasks, output.run(run, decoded, plan.tasks, _names, options=request))
    return _joined(done, lambda task: run_tasks(spark, decoded, [task], what="decode")[0])


def _names(outcome: Mapping[str, Any]) -> list[str]:
    return [name for files in outcome["parts"].values() for name, _ in files.values()]


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
        self.sources: dict[str, dict[str, Any]] = {}
        self.gaps: dict[str, list[str]] = {
            name: [] if store.bounds is None else list(store.bounds.lost)
            for name, store in plan.plans.items()
        }
        self.nulled = 0
        for task, outcome in done:
            self.gaps[task.store] += [gap for gap in outcome["gaps"] if gap not in self.gaps[task.store]]
            self.nulled += outcome["nulled"]
            for table, files in outcome["parts"].items():
                for path, (name, rows) in files.items():
                    place = f"{_folder(table, task.store)}/{path}"
                    self.parts[place] = name, rows
                    self.sources[place] = _source(task, table, rows)

    def facts(self) -> dict[str, Any]:
        """For the manifest."""
        plan = self.plan
        facts: dict[str, Any] = {
            "job": "decode",
            "stores": plan.before.get("stores", {}) | plan.stores,
            "rows": {place: rows for place, (_, rows) in self.parts.items()},
            "gaps": [gap for name, gaps in self.gaps.items() if name not in self.failed for gap in gaps],
            "failed": {name: str(error) for name, error in self.failed.items()},
        }
        if not plan.options.append:
            return facts
        kept = {file["path"] for file in self.kept()}
        before = plan.before
        sources = {place: source for place, source in before.get("parts", {}).items() if place in kept}
        return facts | {
            "request": before["request"],
            "rows": {place: source["rows"] for place, source in (sources | self.sources).items()},
            "gaps": [
                *before.get("gaps", []),
                *(gap for gap in facts["gaps"] if gap not in before.get("gaps", [])),
            ],
            "next": before.get("next", 0) + len(plan.tasks),
            "parts": sources | self.sources,
            "coverage": before.get("coverage", {})
            | {
                name: store.bounds.coverage
                for name, store in plan.plans.items()
                if store.bounds is not None and name not in self.failed
            },
        }

    def kept(self) -> list[dict[str, Any]]:
        """Files of earlier runs that stay: not those written anew, nor with `drop_expired` those that expired."""
        sources = self.plan.before.get("parts", {})
        return [file for file in self.plan.before.get("files", []) if not self._leaves(sources[file["path"]])]

    def _leaves(self, source: Mapping[str, Any]) -> bool:
        plan = self.plan.plans.get(source["store"])
        if plan is None or source["store"] in self.failed:
            return False
        if source["table"] in REPLACED:
            return True
        if not self.plan.options.drop_expired:
            return False
        if source["log"] is not None:
            return bool(source["log"][1] <= plan.log_begin)
        return plan.present.isdisjoint(source["files"])

    def summary(self, sizes: Mapping[str, int]) -> DecodeSummary:
        """What the job did; `sizes` are those of the files written."""
        plan = self.plan
        tables = []
        for table in TABLES:
            places = [place for place in self.parts if place.startswith(f"{table}/")]
            if places:
                rows = sum(self.parts[place][1] for place in places)
                tables.append(TableSummary(table, rows, len(places), sum(sizes[place] for place in places)))
        rows_of: Counter[str] = Counter()
        for place, (_, rows) in self.parts.items():
            rows_of[self.sources[place]["store"]] += rows
        status = tuple(self._status(name, path, rows_of[name]) for name, path in plan.stores.items())
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


def _source(task: PartTask, table: str, rows: int) -> dict[str, Any]:
    """What a file was decoded from, for later runs."""
    return {
        "store": task.store,
        "table": table,
        "rows": rows,
        "files": [file.name for file in task.files],
        "log": list(task.log_range) if table == "commit_log" else None,
    }


def _folder(table: str, store: str) -> str:
    """The folder of a table; `store=NAME` is how Hive says that all rows below have this value in a column."""
    return f"{table}/store={folder_value(store)}" if store else table
