"""Inside a task: turns parts of files into the record batches that are passed to the JVM."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from rocket_columnar.arrow import is_time, utc_times
from rocket_columnar.decode import decode
from rocket_columnar.log import Gap
from rocket_spec.errors import MalformedError

from rocket_spark.reading.options import Request
from rocket_spark.reading.partitions import FilePart
from rocket_spark.schema import UTC, arrow_schema, plain

if TYPE_CHECKING:
    import pyarrow as pa


_BATCH_ROWS: Final = 1 << 17
"""Rows of a record batch on its way to the JVM: some 10 MB with the file's name in plain strings."""


def part_rows(
    parts: Sequence[FilePart], table: str, columns: Sequence[str], request: Request
) -> Iterator[pa.RecordBatch]:
    """The rows of `parts`, of `columns` in their order.

    Raises:
        MalformedError: in mode FAILFAST, bytes that cannot be decoded.
        OSError: a file cannot be read.
    """
    for part in parts:
        problems: list[str] = [] if part.problem is None else [part.problem]

        def on_gap(gap: Gap, problems: list[str] = problems, part: FilePart = part) -> None:
            if part.closed and gap.begin >= part.range[1]:
                return
            if request.mode == "FAILFAST":
                raise MalformedError(
                    file=gap.file,
                    found=f"a gap in the log from {gap.begin:,} to {gap.end:,}: {gap.found}",
                    expected=gap.expected,
                )
            problems.append(str(gap))

        try:
            if part.problem is None:
                for batch in _decoded(part, table, columns, request, on_gap):
                    yield from _corrupt(part, table, columns, request, problems)
                    yield batch
        except MalformedError as error:
            if request.mode == "FAILFAST":
                raise
            problems.append(str(error))
        yield from _corrupt(part, table, columns, request, problems)


def _decoded(
    part: FilePart,
    table: str,
    columns: Sequence[str],
    request: Request,
    on_gap: Callable[[Gap], None],
) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    own = [name for name in columns if name != request.corrupt]
    read = list(dict.fromkeys([*own, *request.wanted.columns()])) or ["file"]  # no column, no count of rows
    schema = arrow_schema(table, read)
    first, end = part.range
    ranged = table in ("index_entries", "consume_queue")
    batches = decode(
        [part.file, *part.following],
        tables=[table],
        geometry=None if part.guess is None else {part.file: part.guess},
        columns=list(dict.fromkeys([*read, *(["phy_offset"] if part.exact else [])])),
        batch_rows=_BATCH_ROWS,
        on_gap=on_gap,
        where=request.wanted.where(table),
        skip=first if ranged else 0,
        limit=end - first if ranged else None,
        log_range=part.range,
    )
    exact = part.exact
    for _, batch in batches:
        if exact and batch.num_rows:
            exact = False
            begins = batch.column("phy_offset")[0].as_py()
            if begins > max(first, part.file.base_offset):
                on_gap(Gap(part.file.name, first, begins, "no record", "one, as the log goes on"))
        found = request.wanted.rows(plain(batch, schema))
        if not found.num_rows:
            continue
        nothing = pa.nulls(found.num_rows, pa.string())
        arrays = [
            nothing
            if name == request.corrupt
            else utc_times(found.column(name))[0].cast(UTC)
            if request.utc and is_time(name)
            else found.column(name)
            for name in columns
        ]
        yield pa.RecordBatch.from_arrays(arrays, names=list(columns))


def _corrupt(
    part: FilePart, table: str, columns: Sequence[str], request: Request, problems: list[str]
) -> Iterator[pa.RecordBatch]:
    """A row for each problem if the mode reports them; none if it drops them."""
    import pyarrow as pa

    if problems and request.corrupt is not None:
        schema = arrow_schema(table)
        arrays = [
            pa.array(problems, pa.string())
            if name == request.corrupt
            else pa.array([part.file.name] * len(problems), pa.string())
            if name == "file"
            else pa.nulls(len(problems), UTC if request.utc and is_time(name) else schema.field(name).type)
            for name in columns
        ]
        yield pa.RecordBatch.from_arrays(arrays, names=list(columns))
    problems.clear()
