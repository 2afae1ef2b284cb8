"""Inside a task: decodes parts, for jobs and, as record batches for the JVM, for sources."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from errno import ENOENT
from typing import TYPE_CHECKING, Final

from pyspark.sql.datasource import InputPartition
from rocket_columnar.decode import Where, decode, is_time, utc_times
from rocket_columnar.log import Gap
from rocket_columnar.store import StoreFile
from rocket_spec.errors import FormatError, MalformedError

from rocket_spark.reading.options import Request
from rocket_spark.reading.parts import FilePart
from rocket_spark.schema import STORE, UTC, arrow_schema, plain

if TYPE_CHECKING:
    import pyarrow as pa

Problem = Gap | FormatError | OSError | str
"""A decoding problem: a gap of a log, a file that cannot be decoded or its rest, or the reason that the planner found."""

_RANGED: Final = frozenset({"index_entries", "consume_queue"})

_LOOK_BACK: Final = 8 << 20
"""Bytes before a range in which a record that reaches into it begins; a broker's longest is 4 MiB by default."""


def decoded(
    parts: Sequence[FilePart],
    columns: Sequence[str] | None,
    on_problem: Callable[[FilePart, Problem], None],
    *,
    where: Where | None = None,
    batch_rows: int = 1 << 16,
) -> Iterator[tuple[FilePart, pa.RecordBatch]]:
    """Batches of parts in their order, each with its part, or the first of several that are decoded together.

    `on_problem` is called with what cannot be decoded, and may raise it; the rest is decoded. The columns are those that are needed,
    `where` as of `rocket_columnar.decode.decode`.
    """
    for run in _runs(parts):
        first = run[0]
        if first.problem is not None:
            on_problem(first, first.problem)
            continue
        for part in run:  # the engine takes a file that is gone for one that a broker has deleted meanwhile
            if part.file is not None and part.file.source is None and not part.file.path.exists():
                on_problem(part, FileNotFoundError(ENOENT, os.strerror(ENOENT), str(part.file.path)))

        def on_error(file: StoreFile, error: FormatError | OSError, run: Sequence[FilePart] = run) -> None:
            on_problem(next((part for part in run if part.file == file), run[0]), error)

        try:
            for batch in _batches(run, columns, on_problem, on_error, where, batch_rows):
                yield first, batch
        except OSError as error:  # of a file that was deleted
            on_problem(first, error)


def _runs(parts: Sequence[FilePart]) -> Iterator[list[FilePart]]:
    """Neighbours that the engine can decode in one call: whole files for one table of one store."""
    run: list[FilePart] = []
    for part in parts:
        joins = part.is_whole and part.table != "commit_log"
        if run and not (
            joins and run[-1].is_whole and (run[-1].store, run[-1].table) == (part.store, part.table)
        ):
            yield run
            run = []
        run.append(part)
    if run:
        yield run


def _batches(
    run: Sequence[FilePart],
    columns: Sequence[str] | None,
    on_problem: Callable[[FilePart, Problem], None],
    on_error: Callable[[StoreFile, FormatError | OSError], None],
    where: Where | None,
    batch_rows: int,
) -> Iterator[pa.RecordBatch]:
    part = run[0]
    files = [each.file for each in run if each.file is not None]
    first, end = part.range
    ranged = part.table in _RANGED
    if part.table == "commit_log" and not part.exact:
        first = first_record(files[0], first)
        if first >= end:
            return

    def on_gap(gap: Gap) -> None:
        if not (part.closed and gap.begin >= part.range[1]):
            on_problem(part, gap)

    exact = part.exact
    for _, batch in decode(
        [*files, *part.following],
        tables=[part.table],
        geometry={each.file: each.guess for each in run if each.file and each.guess} or None,
        columns=columns if columns is None or not exact else list(dict.fromkeys([*columns, "phy_offset"])),
        batch_rows=batch_rows,
        on_gap=on_gap,
        on_error=on_error,
        where=where,
        skip=first if ranged else 0,
        limit=end - first if ranged else None,
        log_range=(first, end),
    ):
        if exact and batch.num_rows:
            exact = False
            begins = batch.column("phy_offset")[0].as_py()
            if begins > max(first, files[0].base_offset):
                on_gap(Gap(files[0].name, first, begins, "no record", "one, as the log goes on"))
        yield batch


def first_record(file: StoreFile, begin: int) -> int:
    """From where a range of a log that begins at `begin` is decoded: after a record that reaches into it, whose body may contain frames."""
    end = begin
    if begin > file.base_offset:
        before = max(file.base_offset, begin - _LOOK_BACK), begin
        for _, batch in decode(
            [file],
            tables=["commit_log"],
            columns=["phy_offset", "size"],
            log_range=before,
            on_gap=lambda _: None,
            on_error=lambda _file, _error: None,
        ):
            if batch.num_rows:
                end = batch.column("phy_offset")[-1].as_py() + batch.column("size")[-1].as_py()
    return max(begin, end)


_BATCH_ROWS: Final = 1 << 17
"""Rows of a record batch on its way to the JVM: some 10 MB with the file's name in plain strings."""


@dataclass
class RowsPartition(InputPartition):
    """Parts that one task decodes, in order."""

    parts: tuple[FilePart, ...]


def part_rows(
    parts: Sequence[FilePart], table: str, columns: Sequence[str], request: Request
) -> Iterator[pa.RecordBatch]:
    """The rows of `parts`, of `columns` in their order; OSError for a file that cannot be read, in mode FAILFAST MalformedError for bytes."""
    problems: list[tuple[FilePart, str]] = []

    def on_problem(part: FilePart, problem: Problem) -> None:
        if request.mode == "FAILFAST":
            raise _raised(problem)
        if isinstance(problem, OSError):
            raise problem  # Spark reads again
        problems.append((part, str(problem)))

    own = [name for name in columns if name not in (request.corrupt, STORE)]
    wanted = [name for name in request.wanted.columns() if name != STORE]
    read = list(dict.fromkeys([*own, *wanted])) or ["file"]  # without a column there is no count of rows
    schema = arrow_schema(table, read)
    where = request.wanted.where(table)
    for part, batch in decoded(parts, read, on_problem, where=where, batch_rows=_BATCH_ROWS):
        yield from _corrupt(problems, table, columns, request)
        found = request.wanted.rows(plain(batch, schema))
        if found.num_rows:
            yield _shaped(found, part.store, columns, request)
    yield from _corrupt(problems, table, columns, request)


def _raised(problem: Problem) -> Exception:
    if isinstance(problem, Gap):
        return MalformedError(
            file=problem.file,
            found=f"a gap in the log from {problem.begin:,} to {problem.end:,}: {problem.found}",
            expected=problem.expected,
        )
    return problem if isinstance(problem, FormatError | OSError) else OSError(problem)


def _shaped(rows: pa.RecordBatch, store: str, columns: Sequence[str], request: Request) -> pa.RecordBatch:
    import pyarrow as pa

    arrays = [
        pa.nulls(rows.num_rows, pa.string())
        if name == request.corrupt
        else pa.repeat(store, rows.num_rows)
        if name == STORE
        else utc_times(rows.column(name))[0].cast(UTC)
        if request.utc and is_time(name)
        else rows.column(name)
        for name in columns
    ]
    return pa.RecordBatch.from_arrays(arrays, names=list(columns))


def _corrupt(
    problems: list[tuple[FilePart, str]], table: str, columns: Sequence[str], request: Request
) -> Iterator[pa.RecordBatch]:
    """A row for each problem if the mode reports them; none if it drops them."""
    import pyarrow as pa

    if problems and request.corrupt is not None:
        schema = arrow_schema(table)
        known: dict[str, list[str | None]] = {
            request.corrupt: [told for _, told in problems],
            "file": [None if part.file is None else part.file.name for part, _ in problems],
            STORE: [part.store for part, _ in problems],
        }
        arrays = [
            pa.array(known[name], pa.string())
            if name in known
            else pa.nulls(len(problems), UTC if request.utc and is_time(name) else schema.field(name).type)
            for name in columns
        ]
        yield pa.RecordBatch.from_arrays(arrays, names=list(columns))
    problems.clear()
