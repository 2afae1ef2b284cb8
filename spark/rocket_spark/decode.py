"""Decoding stores on Spark: the engine runs inside the tasks and writes Parquet there, the driver puts it in place."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, Unpack

from rocket_columnar.decode import TABLE_KINDS
from rocket_columnar.log import Gap
from rocket_columnar.store import StoreFile, Unreadable
from rocket_spec.errors import UsageError
from rocket_spec.layout import Geometry

from rocket_spark.files import disk_bytes
from rocket_spark.output import Folder, Output, attempt, check_out
from rocket_spark.parquet import BATCH_ROWS, DecodeArguments, DecodeOptions, PartWriter, check_options
from rocket_spark.reading import Cut, FilePart, Problem, decoded, grouped, store_parts
from rocket_spark.stores import FoundStore, JobStores, StorePath
from rocket_spark.tasks import Failures, Progress, Spark, is_last_attempt, run_tasks, silent

_USUAL: Final = DecodeOptions()

_PLANNERS: Final = 16  # stores that are listed at once


@dataclass(frozen=True, slots=True)
class PartTask:
    """The work of one task: parts, in the order of their tables and stores, to a file in each table."""

    number: int
    parts: tuple[FilePart, ...]
    weight: int = 1 << 30  # no two share a Spark task: they are cut to its size


@dataclass(frozen=True, slots=True)
class DecodePlan:
    """The plan of a decode job, by store: the request has been checked, nothing is written. `problems` are files that cannot be opened."""

    out: str | Path
    storage: Mapping[str, str] | None
    job: JobStores
    files: dict[str, set[StoreFile]]
    problems: dict[str, list[str]]
    tasks: tuple[PartTask, ...]
    options: DecodeOptions

    @property
    def stores(self) -> dict[str, str]:
        """Path or URI of each store, by name."""
        return self.job.paths

    @property
    def failed(self) -> Failures:
        """Errors of the stores that cannot be decoded."""
        return self.job.failed


def plan_decode(
    stores: StorePath | Sequence[StorePath],
    out: str | Path,
    tables: Collection[str] | None = None,
    geometry: Geometry | None = None,
    **how: Unpack[DecodeArguments],
) -> DecodePlan:
    """The first half of `decode_stores`, without Spark; arguments and errors as there."""
    overwrite, storage, options = how.get("overwrite", False), how.get("storage"), how.get("options", _USUAL)
    check_options(options)
    for table in tables or ():
        if table not in TABLE_KINDS:
            raise UsageError(f"table {table}: unknown; choose from {', '.join(TABLE_KINDS)}")
    job = JobStores(stores, geometry=geometry, storage=storage, failed=None if options.fail_fast else {})
    wanted = [table for table in TABLE_KINDS if tables is None or table in tables]
    found, skipped = _found(job, {TABLE_KINDS[table] for table in wanted}, strict=options.fail_fast)
    job.good((), ())
    problems: dict[str, list[str]] = {}
    for store, (name, reason) in ((task.store, skip) for task in job.tasks for skip in skipped[task.store]):
        if isinstance(reason, Unreadable):
            problems.setdefault(store, []).append(f"{name}: skipped, {reason}")
        elif "on_skip" in how:
            how["on_skip"](name, reason)
    kinds = {file.kind for files in found.values() for file in files}
    for table in tables or ():
        if TABLE_KINDS[table] not in kinds:
            where = ", ".join(job.paths.values())
            raise UsageError(f"{where}: no file that table {table} is decoded from")
    out = check_out(out, job.paths.values(), TABLE_KINDS, storage, overwrite=overwrite)
    cut = Cut(strict=options.fail_fast)
    parts: list[FilePart] = []
    used: dict[str, set[StoreFile]] = {}
    for task in job.tasks:
        if task.store in found:
            with job.planning(task.store):
                mine = list(store_parts(task.store, found[task.store], wanted, task.geometry, cut))
                parts += mine
                used[task.store] = {part.file for part in mine if part.file is not None}
    job.good((), ())
    order = list(TABLE_KINDS)
    groups = grouped(sorted(parts, key=lambda part: order.index(part.table)))
    tasks = tuple(PartTask(number, group) for number, group in enumerate(groups))
    return DecodePlan(out, storage, job, used, problems, tasks, options)


def _found(
    job: JobStores, kinds: Collection[str], *, strict: bool
) -> tuple[dict[str, list[StoreFile]], dict[str, list[tuple[str, str]]]]:
    """The files of each store that can be listed, and the names that its listing skipped, with reasons."""
    skipped: dict[str, list[tuple[str, str]]] = {task.store: [] for task in job.tasks}
    found: dict[str, list[StoreFile]] = {}

    def listed(task: FoundStore) -> None:
        skip = skipped[task.store]
        with job.planning(task.store):
            found[task.store] = task.files(kinds, lambda *one: skip.append(one), strict=strict)

    with ThreadPoolExecutor(_PLANNERS) as pool:
        list(pool.map(listed, job.tasks))
    return found, skipped


@dataclass(slots=True)
class PartDone:
    """The result of a task.

    `parts` are by table and path in the table's folder, the attempt's file and its rows; `problems`, by store, files that could not be decoded,
    or not to their end; `nulled` the number of times out of range.
    """

    parts: dict[str, dict[str, tuple[str, int]]] = field(default_factory=dict)
    rows: Counter[str] = field(default_factory=Counter)
    gaps: dict[str, list[str]] = field(default_factory=dict)
    problems: dict[str, list[str]] = field(default_factory=dict)
    nulled: int = 0


def run_part(task: PartTask, directory: Folder, options: DecodeOptions) -> PartDone:
    """In a task: decodes to an attempt in `directory`. A file that cannot be decoded is reported, and the rest is decoded.

    FormatError with `fail_fast`; OSError for a file that cannot be written, or, before the last attempt of a task or with `fail_fast`, read.
    """
    done = PartDone()

    def on_problem(part: FilePart, problem: Problem) -> None:
        if isinstance(problem, Gap):
            done.gaps.setdefault(part.store, []).append(str(problem))
            return
        if isinstance(problem, OSError) and not is_last_attempt():
            raise problem
        if options.fail_fast and not isinstance(problem, str):
            raise problem
        done.problems.setdefault(part.store, []).append(str(problem))

    name = f"part-{task.number:05}"
    with attempt(directory, name) as folder:
        folder.mkdir()
        with ExitStack() as stack:
            writers = {
                table: stack.enter_context(
                    PartWriter(folder, table, f"{name}.parquet", options, order=_order(task, table))
                )
                for table in dict.fromkeys(part.table for part in task.parts)
            }
            for part, batch in decoded(task.parts, None, on_problem, batch_rows=BATCH_ROWS):
                writers[part.table].write(batch, part.store)
                done.rows[part.store] += batch.num_rows
    for table, writer in writers.items():
        done.nulled += writer.nulled
        done.parts[table] = {
            path: (f"{folder.name}/{table}/{path}", count) for path, count in writer.rows.items()
        }
    return done


def _order(task: PartTask, table: str) -> str | None:
    """The column by which the rows of a table are in order."""
    files = [part.file for part in task.parts if part.table == table and part.file is not None]
    stores = {part.store for part in task.parts if part.table == table}
    if table == "commit_log" and len(stores) == 1:
        return "phy_offset"
    if table == "index_entries" and len(files) == 1:
        return "entry"
    one_queue = len({file.path.parent for file in files}) == 1
    return "logical_offset" if table == "consume_queue" and one_queue else None


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
        reason: why it failed, in one line; empty otherwise.
        size: bytes on disk of these files.
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
        size: bytes on disk of these files.
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
    spark: Spark,
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


def run_decode(spark: Spark, plan: DecodePlan, *, progress: Progress = silent) -> DecodeSummary:
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
    problems = {store: list(told) for store, told in plan.problems.items()}
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
        own = plan.files[name]
        size = sum(map(disk_bytes, own))
        met, left_out = (tuple(dict.fromkeys(found.get(name, ()))) for found in (gaps, problems))
        status.append(StoreStatus(name, path, "decoded", "", len(own), size, rows_of[name], met, left_out))
    good = [store for store in status if store.status == "decoded"]
    return DecodeSummary(
        len(good),
        sum(store.files for store in good),
        sum(store.size for store in good),
        tuple(tables),
        tuple(status),
        sum(each.nulled for each in done),
    )
