"""Inside a task: turns parts of files into the record batches that are passed to the JVM."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pyspark.sql.datasource import InputPartition
from rocket_columnar.arrow import is_time, utc_times
from rocket_columnar.log import Gap
from rocket_spec.errors import FormatError, MalformedError

from rocket_spark.reading.decoding import Problem, decoded
from rocket_spark.reading.options import Request
from rocket_spark.reading.parts import FilePart
from rocket_spark.schema import STORE, UTC, arrow_schema, plain

if TYPE_CHECKING:
    import pyarrow as pa


_BATCH_ROWS: Final = 1 << 17
"""Rows of a record batch on its way to the JVM: some 10 MB with the file's name in plain strings."""


@dataclass
class RowsPartition(InputPartition):
    """Parts that one task decodes, in order."""

    parts: tuple[FilePart, ...]


def part_rows(
    parts: Sequence[FilePart], table: str, columns: Sequence[str], request: Request
) -> Iterator[pa.RecordBatch]:
    """The rows of `parts`, of `columns` in their order.

    Raises:
        MalformedError: in mode FAILFAST, bytes that cannot be decoded.
        OSError: a file cannot be read.
    """
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
    for part, batch in decoded(parts, lambda _: read, on_problem, where=where, batch_rows=_BATCH_ROWS):
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
