"""Decoding stores on Spark: the engine runs inside the tasks and writes Parquet there."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import pyarrow.parquet as pq
from rocket_columnar import decode as engine
from rocket_columnar.arrow import SCHEMAS
from rocket_columnar.decode import TABLE_KINDS, parquet_options
from rocket_columnar.index import resolve_each
from rocket_spec.errors import MalformedError, UsageError
from rocket_spec.tables import TABLES

from rocket_spark.decode.file_spans import WHOLE_LOG, entry_spans, followers, log_spans
from rocket_spark.files import size_now
from rocket_spark.output import Folder, attempt, check_out, open_out
from rocket_spark.stores import StorePath, name_stores, store_files
from rocket_spark.tasks import Progress, run_tasks, silent

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    import pyarrow as pa
    from pyspark.sql import SparkSession
    from rocket_columnar.index import GeometryGuess
    from rocket_columnar.log import Gap
    from rocket_columnar.store import StoreFile
    from rocket_spec.layout import Geometry

__all__ = [
    "DecodePlan",
    "DecodeSummary",
    "PartTask",
    "TableSummary",
    "decode_stores",
    "plan_decode",
    "run_decode",
]

_TASK_BYTES: Final = 128 << 20
"""Small files are joined into one task up to this many bytes, so that a part is worth a file of its own; what one task
takes of a large commit-log file."""

_TASK_ENTRIES: Final = 2_500_000
"""Entries of a large index file that one task takes at most."""

_MANY_TASKS: Final = 10_000
_LARGEST: Final = 8
"""Of a job that would have more tasks than this each takes more, up to so many times: a whole file of its kind."""

_BATCH_ROWS: Final = 1 << 20
"""Rows of a batch, and so of a Parquet row group, at most."""


@dataclass(frozen=True, slots=True)
class PartTask:
    """What one task decodes: `files` of one kind, to a part of that number in each of `tables`.

    Attributes:
        number: of the parts, in the order of the rows.
        store: name of the store, empty where there is one.
        files: to decode.
        sizes: of these files when the job was planned, bytes.
        following: files of the log that say whether zeros at the end of `files` are a gap.
        tables: to write.
        guess: the geometry of index files.
        entries: from which entry on and how many, of the one index file that has several tasks.
        log_range: of commit logs, the physical offsets from the first on, before the second.
    """

    number: int
    store: str
    files: tuple[StoreFile, ...]
    sizes: tuple[int, ...]
    following: tuple[StoreFile, ...]
    tables: tuple[str, ...]
    guess: GeometryGuess | None
    entries: tuple[int, int] | None = None
    log_range: tuple[int, int] = WHOLE_LOG


@dataclass(frozen=True, slots=True)
class TableSummary:
    """What was written of one table: `size` is in bytes of Parquet."""

    table: str
    rows: int
    parts: int
    size: int


@dataclass(frozen=True, slots=True)
class DecodeSummary:
    """What a decode job did: stores, files and bytes read, a row for each table written, gaps met in commit logs."""

    stores: int
    files: int
    size: int
    tables: tuple[TableSummary, ...]
    gaps: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DecodePlan:
    """What a decode job will do: all that can be wrong with the request has been checked, nothing is written."""

    out: str | Path
    overwrite: bool
    storage: dict[str, str]
    stores: dict[str, str]
    files: int
    size: int
    tasks: tuple[PartTask, ...]


def decode_stores(
    spark: SparkSession,
    stores: StorePath | Sequence[StorePath],
    out: str | Path,
    tables: Collection[str] | None = None,
    geometry: Geometry | None = None,
    *,
    overwrite: bool = False,
    storage: Mapping[str, str] | None = None,
    progress: Progress = silent,
) -> DecodeSummary:
    """Decodes stores into `out/TABLE/part-*.parquet`, the rows of `rocketspec decode`.

    Of several stores each has a folder of its own, `out/TABLE/store=NAME/`, which Spark reads as a column `store`.
    `out` holds all tables and `_SUCCESS`, or after an error what it held before.

    Args:
        spark: the session that runs the tasks; they see `stores` and `out` under the same paths as the driver.
        stores: one or several; each a file, a directory of one kind, or a whole store; a path, or a URI of S3 or HDFS.
        out: a directory, missing or empty; a path, or a URI of S3 or HDFS.
        tables: names from `rocket_spec.tables.TABLES`; None for every table that the stores have files of.
        geometry: of the index files; inferred store by store when None.
        overwrite: replaces what an earlier job wrote to `out`, once all is written.
        storage: options of S3 and HDFS; see `rocket_spark.files.storage_for`.
        progress: see `rocket_spark.tasks.Progress`.

    Raises:
        UsageError: `out` will not do, a table is unknown or has no files here, the geometry cannot be told.
        FormatError: a file cannot be decoded, or has another size than when the job began; the first one, in
            the order of the stores.
        OSError: a file cannot be read or written.
        JobError: Spark gave up.
    """
    plan = plan_decode(stores, out, tables, geometry, overwrite=overwrite, storage=storage)
    return run_decode(spark, plan, progress=progress)


def plan_decode(
    stores: StorePath | Sequence[StorePath],
    out: str | Path,
    tables: Collection[str] | None = None,
    geometry: Geometry | None = None,
    *,
    overwrite: bool = False,
    storage: Mapping[str, str] | None = None,
    on_skip: Callable[[str, str], None] = lambda _name, _reason: None,
) -> DecodePlan:
    """The first half of `decode_stores`, without Spark; arguments and errors as there.

    `on_skip` is called with the name of each file that is left out, and the reason.
    """
    named = name_stores(stores)
    found = {name: store_files(path, storage, on_skip) for name, path in named.items()}
    out = check_out(out, named, TABLES, storage, overwrite=overwrite)
    chosen = _select(found, tables, named)
    sizes = {name: [file.size() for file in files] for name, files in chosen.items()}
    size = sum(map(sum, sizes.values()))
    times = min(max(size // (_TASK_BYTES * _MANY_TASKS), 1), _LARGEST)
    tasks: list[PartTask] = []
    for name, files in chosen.items():
        for task in _tasks(files, sizes[name], tables, geometry, times):
            tasks.append(replace(task, number=len(tasks), store=name))
    return DecodePlan(
        out, overwrite, dict(storage or {}), named, sum(map(len, sizes.values())), size, tuple(tasks)
    )


def run_decode(spark: SparkSession, plan: DecodePlan, *, progress: Progress = silent) -> DecodeSummary:
    """The second half of `decode_stores`; arguments and errors as there."""
    with open_out(plan.out, plan.storage, overwrite=plan.overwrite) as output:
        directory, work = output.folder, run_part

        def run(task: PartTask) -> dict[str, Any]:
            return work(task, directory)

        outcomes = run_tasks(spark, run, plan.tasks, what="decode", progress=progress)
        _join_ranges(plan.tasks, outcomes, lambda task: run_tasks(spark, run, [task], what="decode")[0])
        parts: dict[str, str] = {}
        rows: dict[str, int] = {}
        for task, outcome in zip(plan.tasks, outcomes, strict=True):
            for table, (name, count) in outcome["parts"].items():
                place = f"{_folder(table, task.store)}/part-{task.number:05}.parquet"
                parts[place], rows[place] = name, count
        gaps = list(dict.fromkeys(gap for outcome in outcomes for gap in outcome["gaps"]))
        written = _summaries(rows, {place: output.size(name) for place, name in parts.items()})
        facts = {
            "job": "decode",
            "stores": plan.stores,
            "rows": rows,
            "gaps": gaps,
        }
        output.commit(parts, facts)
    return DecodeSummary(len(plan.stores), plan.files, plan.size, written, tuple(gaps))


def _folder(table: str, store: str) -> str:
    """Hive's way to say that all rows below have this value in the column `store`."""
    return f"{table}/store={quote(store, safe='')}" if store else table


def _summaries(rows: dict[str, int], sizes: dict[str, int]) -> tuple[TableSummary, ...]:
    summaries = []
    for table in TABLES:
        places = [place for place in rows if place.startswith(f"{table}/")]
        if places:
            count, size = sum(rows[place] for place in places), sum(sizes[place] for place in places)
            summaries.append(TableSummary(table, count, len(places), size))
    return tuple(summaries)


def _select(
    found: dict[str, list[StoreFile]], tables: Collection[str] | None, stores: dict[str, str]
) -> dict[str, list[StoreFile]]:
    if tables is None:
        return found
    kinds = {file.kind for files in found.values() for file in files}
    for table in tables:
        if table not in TABLES:
            raise UsageError(f"table {table}: unknown; choose from {', '.join(TABLES)}")
        if TABLE_KINDS[table] not in kinds:
            where = ", ".join(stores.values())
            raise UsageError(f"{where}: holds no file that table {table} is decoded from")
    wanted = {TABLE_KINDS[table] for table in tables}
    return {name: [file for file in files if file.kind in wanted] for name, files in found.items()}


def _tasks(
    files: list[StoreFile],
    sizes: list[int],
    tables: Collection[str] | None,
    geometry: Geometry | None,
    times: int,
) -> Iterator[PartTask]:
    """Tasks in the order of the files: neighbours of one kind up to `times` `_TASK_BYTES`, larger files alone.

    The files of one queue stay together, since the engine holds their offsets against each other; a large index
    file is divided by its entries, a large log file by offsets.
    """
    guesses = resolve_each(files, geometry)
    geometries = {file: guess.geometry for file, guess in guesses.items()}
    groups: list[list[int]] = []
    room = 0
    for number, file in enumerate(files):
        size = sizes[number]
        if not groups or not _together(files[groups[-1][-1]], file, geometries, fits=size <= room):
            groups.append([])
            room = _TASK_BYTES * times
        groups[-1].append(number)
        room -= size
    following = followers(files)
    for numbers in groups:
        first = files[numbers[0]]
        wanted = tuple(table for table, own in TABLE_KINDS.items() if own == first.kind)
        task = PartTask(
            0,
            "",
            tuple(files[number] for number in numbers),
            tuple(sizes[number] for number in numbers),
            following[numbers[-1]],
            tuple(table for table in wanted if tables is None or table in tables),
            guesses.get(first),
        )
        yield from _divided(task, times)


def _together(
    before: StoreFile, file: StoreFile, geometries: dict[StoreFile, Geometry], *, fits: bool
) -> bool:
    """Whether `file` goes into the task of the one before it."""
    if before.kind != file.kind or geometries.get(before) != geometries.get(file):
        return False
    same_queue = file.kind in ("queue", "ext") and before.path.parent == file.path.parent
    return fits or same_queue


def _divided(task: PartTask, times: int) -> Iterator[PartTask]:
    """The task, or the parts of its one large file; the first part of an index file has the header too."""
    if task.files[0].kind == "log":
        for span in log_spans(task.files, task.following, _TASK_BYTES * times):
            yield replace(task, log_range=span)
        return
    if task.guess is not None and len(task.files) == 1 and "index_entries" in task.tables:
        spans = entry_spans(task.files[0], task.guess, _TASK_ENTRIES * times)
        if len(spans) > 1:
            for span in spans:
                yield replace(task, entries=span, tables=task.tables if not span[0] else ("index_entries",))
            return
    yield task


def _join_ranges(
    tasks: Sequence[PartTask], outcomes: list[dict[str, Any]], again: Callable[[PartTask], dict[str, Any]]
) -> None:
    """Corrects `outcomes` where a range of a log began within the last record of the range before.

    A range begins at the first frame that verifies there, and a record's body may hold one.
    """
    for number, (before, task) in enumerate(pairwise(tasks), 1):
        if task.files[0].kind != "log" or before.files[-1] != task.files[0]:
            continue
        end = outcomes[number - 1]["end"]
        begin = outcomes[number]["begin"]
        if end is not None and begin is not None and begin < end:
            outcomes[number] = again(replace(task, log_range=(end, task.log_range[1])))
        if outcomes[number]["end"] is None:
            outcomes[number]["end"] = end


def run_part(task: PartTask, directory: Folder) -> dict[str, Any]:
    """In a task: decodes to attempts in `directory`; `{"parts": {table: [attempt, rows]}, "gaps": [...]}`.

    Of a commit log also the physical offsets "begin", of the first record, and "end", behind the last; else None.

    Raises:
        FormatError: bytes that cannot be decoded, or a file of another size than planned.
        OSError: a file cannot be read or written.
    """
    gaps: list[str] = []
    begin = end = None
    rows = dict.fromkeys(task.tables, 0)
    name = f"part-{task.number:05}"
    _check_sizes(task)
    with attempt(directory, name) as folder:
        folder.mkdir()
        with ExitStack() as stack:
            writers = {table: stack.enter_context(_writer(folder, table)) for table in task.tables}
            for table, batch in _batches(task, lambda gap: gaps.append(str(gap))):
                rows[table] += batch.num_rows
                writers[table].write_batch(batch)
                if table == "commit_log" and batch.num_rows:
                    offsets, last = batch.column("phy_offset"), batch.num_rows - 1
                    begin = offsets[0].as_py() if begin is None else begin
                    end = offsets[last].as_py() + batch.column("size")[last].as_py()
        _check_sizes(task)
        if task.entries is not None and rows["index_entries"] != task.entries[1]:
            raise _changed(task.files[0], f"{rows['index_entries']:,} entries", f"{task.entries[1]:,}")
    return {
        "parts": {table: [f"{folder.name}/{table}.parquet", rows[table]] for table in task.tables},
        "gaps": gaps,
        "begin": begin,
        "end": end,
    }


@contextmanager
def _writer(folder: Path, table: str) -> Iterator[pq.ParquetWriter]:
    # Without the Arrow schema beside Parquet's own, dictionaries read back as plain strings.
    schema = SCHEMAS[table]
    writer = pq.ParquetWriter(
        folder / f"{table}.parquet", schema, store_schema=False, **parquet_options(schema)
    )
    try:
        yield writer
        writer.close()
    except BaseException:
        with suppress(Exception):
            writer.close()
        writer.is_open = False  # or it would try again, and complain, when it is collected
        raise


def _batches(task: PartTask, on_gap: Callable[[Gap], None]) -> Iterator[tuple[str, pa.RecordBatch]]:
    guesses = None if task.guess is None else dict.fromkeys(task.files, task.guess)
    if task.entries is not None:
        skip, limit = task.entries
        for table in task.tables:
            yield from engine.decode(
                list(task.files),
                tables=[table],
                geometry=guesses,
                skip=skip if table == "index_entries" else 0,
                limit=limit,
                batch_rows=_BATCH_ROWS,
            )
        return
    yield from engine.decode(
        [*task.files, *task.following],
        tables=task.tables,
        geometry=guesses,
        batch_rows=_BATCH_ROWS,
        on_gap=on_gap,
        log_range=task.log_range,
    )


def _check_sizes(task: PartTask) -> None:
    for file, planned in zip(task.files, task.sizes, strict=True):
        size = size_now(file)
        if size != planned:
            raise _changed(file, f"{size:,} bytes", f"{planned:,}")


def _changed(file: StoreFile, found: str, planned: str) -> MalformedError:
    name = str(file.path) if file.source is None else file.source.name
    return MalformedError(file=name, found=found, expected=f"{planned}, as when the job began")
