"""Decoding stores on Spark: tasks write Parquet, the driver puts it in place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Unpack

from rocket_columnar.decode import TABLE_KINDS
from rocket_spec.layout import Geometry

from rocket_spark.decode.options import DecodeArguments
from rocket_spark.decode.part import PartDone, run_part
from rocket_spark.decode.plan import DecodePlan, PartTask, plan_decode
from rocket_spark.output import Output
from rocket_spark.stores import StorePath
from rocket_spark.tasks import Progress, run_tasks, silent

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class TableSummary:
    """Files written for one table: `size` is in bytes of Parquet."""

    table: str
    rows: int
    parts: int
    size: int


@dataclass(frozen=True, slots=True)
class StoreStatus:
    """The result for one store.

    Attributes:
        store: its name.
        path: where it is.
        status: "decoded" or "failed".
        reason: why it failed, in one line; empty otherwise.
        files: the number of files decoded.
        size: bytes on disk of these files.
        rows: the number of rows written.
        gaps: gaps in the commit log.
        problems: files that could not be decoded, or not to their end.
    """

    store: str
    path: str
    status: Literal["decoded", "failed"]
    reason: str = ""
    files: int = 0
    size: int = 0
    rows: int = 0
    gaps: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DecodeSummary:
    """The result of a decode job.

    Attributes:
        stores: the number of stores decoded.
        files: the number of files decoded.
        size: bytes on disk of these files.
        tables: what was written, by table.
        status: a row for each store.
        nulled: the number of times that became null since they are out of range.
    """

    stores: int
    files: int
    size: int
    tables: tuple[TableSummary, ...]
    status: tuple[StoreStatus, ...]
    nulled: int = 0

    @property
    def gaps(self) -> tuple[str, ...]:
        """Gaps met in commit logs."""
        return tuple(gap for store in self.status for gap in store.gaps)


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
    """Decodes stores into `out/TABLE/part-*.parquet`: the rows of `rocketspec decode`, after a column `store`.

    A store that cannot be decoded does not fail the others, nor a file the rest of its store: both are listed in the
    summary. `out` is complete if it contains `_SUCCESS`.

    Args:
        spark: the session that runs the tasks; they see `stores` and `out` under the same paths as the driver.
        stores: one or several; each a file, a directory of one kind, or a whole store; see `StorePath`.
        out: a directory, missing or empty; a path, or a URI of S3 or HDFS.
        tables: names from `TABLE_KINDS`; None for every table that the stores have files of.
        geometry: of the index files; inferred store by store when None.
        progress: see `rocket_spark.tasks.Progress`.
        how: see `DecodeArguments`.

    Raises:
        UsageError: `out` cannot be used, a table is unknown or has no files here, the geometry cannot be inferred.
        FormatError: with `fail_fast`, a file cannot be decoded.
        OSError: `out` cannot be written; a single store cannot be listed; with `fail_fast`, a file cannot be read.
        JobError: Spark gave up, or no store can be decoded.
    """
    return run_decode(spark, plan_decode(stores, out, tables, geometry, **how), progress=progress)


def run_decode(spark: SparkSession, plan: DecodePlan, *, progress: Progress = silent) -> DecodeSummary:
    """The second half of `decode_stores`; arguments and errors as there."""
    with Output(plan.out, plan.storage) as output:
        directory, options, work = output.folder, plan.options, run_part

        def decoded(task: PartTask) -> PartDone:
            return work(task, directory, options)

        done: list[PartDone] = run_tasks(spark, decoded, plan.tasks, what="decode", progress=progress)
        made = {
            f"{table}/{path}": attempt
            for each in done
            for table, files in each.parts.items()
            for path, attempt in files.items()
        }
        sizes = output.commit({place: name for place, (name, _) in made.items()})
    rows = {place: count for place, (_, count) in made.items()}
    return _summary(plan, done, rows, sizes)


def _summary(
    plan: DecodePlan, done: Sequence[PartDone], rows: Mapping[str, int], sizes: Mapping[str, int]
) -> DecodeSummary:
    tables = []
    for table in TABLE_KINDS:
        places = [place for place in rows if place.startswith(f"{table}/")]
        if places:
            total = sum(rows[place] for place in places)
            tables.append(TableSummary(table, total, len(places), sum(sizes[place] for place in places)))
    rows_of: Counter[str] = Counter()
    gaps: dict[str, list[str]] = {}
    problems: dict[str, list[str]] = {}
    for each in done:
        rows_of.update(each.rows)
        for kept, told in ((gaps, each.gaps), (problems, each.problems)):
            for store, texts in told.items():
                kept.setdefault(store, []).extend(texts)
    status: list[StoreStatus] = []
    for name, path in plan.stores.items():
        if name in plan.failed:
            status.append(StoreStatus(name, path, "failed", str(plan.failed[name])))
            continue
        own = plan.plans[name]
        met, left_out = (tuple(dict.fromkeys(found.get(name, ()))) for found in (gaps, problems))
        status.append(
            StoreStatus(name, path, "decoded", "", own.files, own.size, rows_of[name], met, left_out)
        )
    good = [store for store in status if store.status == "decoded"]
    return DecodeSummary(
        len(good),
        sum(store.files for store in good),
        sum(store.size for store in good),
        tuple(tables),
        tuple(status),
        sum(each.nulled for each in done),
    )
