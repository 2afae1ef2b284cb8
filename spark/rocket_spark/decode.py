"""Decoding a whole store on Spark: the engine runs inside the tasks and writes Parquet there."""

from __future__ import annotations

import json
import shutil
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rocket_columnar.decode import TABLE_KINDS
from rocket_columnar.geometry import resolve_each
from rocket_columnar.store import StoreFile, find_files, protected_directories
from rocket_spec.errors import UsageError
from rocket_spec.tables import TABLES

from rocket_spark._engine import followers
from rocket_spark._parts import PartTask, raise_error, run_part

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    import pyarrow as pa
    from pyspark.sql import SparkSession
    from rocket_spec.layout import Geometry

__all__ = ["DecodePlan", "DecodeSummary", "TableSummary", "decode_store", "plan_decode", "run_plan"]

_TASK_BYTES: Final = 128 << 20
"""Small files are joined into one task up to this many bytes, so that a part is worth a file of its own."""

_TEMPORARY: Final = "_temporary"

_POLL_SECONDS: Final = 0.2


@dataclass(frozen=True, slots=True)
class TableSummary:
    """What was written of one table: `size` is in bytes of Parquet."""

    table: str
    rows: int
    parts: int
    size: int


@dataclass(frozen=True, slots=True)
class DecodeSummary:
    """What a decode job did: files and bytes read, a row for each table written, gaps met in commit logs."""

    files: int
    size: int
    tables: tuple[TableSummary, ...]
    gaps: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DecodePlan:
    """What a decode job will do: all that can be wrong with the request has been checked, nothing is written."""

    out: Path
    files: int
    size: int
    tasks: tuple[PartTask, ...]


def decode_store(
    spark: SparkSession,
    store: str | Path,
    out: str | Path,
    tables: Collection[str] | None = None,
    geometry: Geometry | None = None,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> DecodeSummary:
    """Decodes `store` into `out/TABLE/part-*.parquet`, the rows of `rocketspec decode`.

    The parts grow in `out/_temporary` and move to their place when every task is done: `out` holds all tables or,
    after an error, none.

    Args:
        spark: the session that runs the tasks; they see `store` and `out` under the same paths as the driver.
        store: a file, a directory of one kind, or a whole store.
        out: a directory, missing or empty.
        tables: names from `rocket_spec.tables.TABLES`; None for every table that the store has files of.
        geometry: of the index files; inferred over all of them when None.
        progress: called now and then with the number of finished tasks and of all tasks.

    Raises:
        UsageError: `out` is not empty or lies in the store, a table is unknown or has no files here, the geometry cannot be told.
        FormatError: a file cannot be decoded; the first one, in the order of the store.
        OSError: a file cannot be read or written.
    """
    return run_plan(spark, plan_decode(store, out, tables, geometry), progress=progress)


def plan_decode(
    store: str | Path,
    out: str | Path,
    tables: Collection[str] | None = None,
    geometry: Geometry | None = None,
    *,
    on_skip: Callable[[str, str], None] | None = None,
) -> DecodePlan:
    """The first half of `decode_store`, without Spark; arguments and errors as there.

    `on_skip` is called with the name of each file that is left out, and the reason.
    """
    store, out = Path(store).absolute(), Path(out).absolute()
    found = find_files(store) if on_skip is None else find_files(store, on_skip=on_skip)
    _check_out(out, store)
    files = _select(found, tables, store)
    geometries = {file: guess.geometry for file, guess in resolve_each(files, geometry).items()}
    tasks = _tasks(files, tables, geometries, str(out / _TEMPORARY))
    return DecodePlan(out, len(files), sum(map(_size, files)), tasks)


def run_plan(
    spark: SparkSession, plan: DecodePlan, *, progress: Callable[[int, int], None] | None = None
) -> DecodeSummary:
    """The second half of `decode_store`; arguments and errors as there."""
    out = plan.out
    temporary = out / _TEMPORARY
    made = not out.exists()
    temporary.mkdir(parents=True)
    try:
        outcomes = _run(spark, plan.tasks, temporary, progress)
        for outcome in outcomes:
            raise_error(outcome)
        written = _summaries(outcomes)
        for summary in written:
            (temporary / summary.table).rename(out / summary.table)
        shutil.rmtree(temporary)
    except BaseException:
        for path in [out] if made else list(out.iterdir()):
            shutil.rmtree(path, ignore_errors=True)
        raise
    gaps = tuple(dict.fromkeys(gap for outcome in outcomes for gap in outcome["gaps"]))
    return DecodeSummary(plan.files, plan.size, written, gaps)


def _check_out(out: Path, store: Path) -> None:
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(f"{out}: exists and is not an empty directory; name a new one to write to")
    for kept in protected_directories(store):
        if out.resolve().is_relative_to(kept):
            raise UsageError(f"{out}: lies in the store that is read, {kept}; choose another directory")


def _select(files: list[StoreFile], tables: Collection[str] | None, store: str | Path) -> list[StoreFile]:
    if tables is None:
        return files
    for table in tables:
        if table not in TABLES:
            raise UsageError(f"table {table}: unknown; choose from {', '.join(TABLES)}")
        if not any(file.kind == TABLE_KINDS[table] for file in files):
            raise UsageError(f"{store}: holds no file that table {table} is decoded from")
    kinds = {TABLE_KINDS[table] for table in tables}
    return [file for file in files if file.kind in kinds]


def _size(file: StoreFile) -> int:
    return file.path.stat().st_size


def _tasks(
    files: list[StoreFile],
    tables: Collection[str] | None,
    geometries: dict[StoreFile, Geometry],
    directory: str,
) -> tuple[PartTask, ...]:
    """Tasks in the order of the files: neighbours of one kind up to `_TASK_BYTES`, larger files alone.

    The files of one queue stay together, since the engine holds their offsets against each other.
    """
    groups: list[list[int]] = []
    room = 0
    for number, file in enumerate(files):
        size = _size(file)
        if not groups or not _together(files[groups[-1][-1]], file, geometries, fits=size <= room):
            groups.append([])
            room = _TASK_BYTES
        groups[-1].append(number)
        room -= size
    following = followers(files)
    tasks: list[PartTask] = []
    for numbers in groups:
        kind = files[numbers[0]].kind
        wanted = [table for table, own in TABLE_KINDS.items() if own == kind]
        tasks.append(
            PartTask(
                len(tasks),
                tuple(files[number] for number in numbers),
                following[numbers[-1]],
                tuple(table for table in wanted if tables is None or table in tables),
                geometries.get(files[numbers[0]]),
                directory,
            )
        )
    return tuple(tasks)


def _together(
    before: StoreFile, file: StoreFile, geometries: dict[StoreFile, Geometry], *, fits: bool
) -> bool:
    """Whether `file` goes into the task of the one before it."""
    if before.kind != file.kind or geometries.get(before) != geometries.get(file):
        return False
    same_queue = file.kind in ("queue", "ext") and before.path.parent == file.path.parent
    return fits or same_queue


def _run(
    spark: SparkSession,
    tasks: tuple[PartTask, ...],
    directory: Path,
    progress: Callable[[int, int], None] | None,
) -> list[dict[str, Any]]:
    """Outcomes of `run_part`, in the order of `tasks`; one Spark task each."""
    if not tasks:
        return []

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for batch in batches:
            numbers = [int(number) for number in batch.column("id").to_numpy()]
            outcomes = [run_part(tasks[number]) for number in numbers]
            yield pa.RecordBatch.from_pydict({"task": numbers, "outcome": outcomes})

    numbers = spark.range(0, len(tasks), 1, len(tasks))
    stop = threading.Event()
    watcher = threading.Thread(target=_watch, args=(stop, tasks, directory, progress), daemon=True)
    if progress is not None:
        watcher.start()
    try:
        rows = numbers.mapInArrow(run, "task bigint, outcome string").collect()
    finally:
        stop.set()
        if progress is not None:
            watcher.join()
    if progress is not None:
        progress(len(tasks), len(tasks))
    return [json.loads(row["outcome"]) for row in sorted(rows, key=lambda row: row["task"])]


def _watch(
    stop: threading.Event,
    tasks: tuple[PartTask, ...],
    directory: Path,
    progress: Callable[[int, int], None],
) -> None:
    """Counts finished tasks by their parts on disk: it needs no channel of its own back from the executors."""
    while not stop.wait(_POLL_SECONDS):
        parts = {path.relative_to(directory).as_posix() for path in directory.glob("*/part-*.parquet")}
        done = sum(f"{task.tables[-1]}/part-{task.number:05}.parquet" in parts for task in tasks)
        progress(done, len(tasks))


def _summaries(outcomes: list[dict[str, Any]]) -> tuple[TableSummary, ...]:
    summaries = []
    for table in TABLES:
        parts = [outcome["parts"][table] for outcome in outcomes if table in outcome["parts"]]
        if parts:
            summaries.append(
                TableSummary(
                    table, sum(part[0] for part in parts), len(parts), sum(part[1] for part in parts)
                )
            )
    return tuple(summaries)
