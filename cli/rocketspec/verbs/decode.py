"""The verb `decode`: files of a store to tables."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rocket_spec.errors import UsageError

from rocketspec._options import (
    FINDINGS,
    GeometryText,
    KindText,
    TableNames,
    exit_codes,
    read_geometry,
    read_time,
)
from rocketspec._terminal import note, progress, skipped

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa
    from rocket_columnar.decode import Where
    from rocket_columnar.index import GeometryGuess
    from rocket_columnar.log import Gap
    from rocket_columnar.store import StoreFile
    from rocket_spec.layout import Geometry

    from rocketspec._terminal import Step

__all__ = ["register"]

_FIRST, _LAST = -(1 << 63), (1 << 63) - 1  # of a Java long
_FORMATS: Final = ("jsonl", "csv", "parquet", "arrow")


def register(app: typer.Typer) -> None:
    """Adds `decode` to the command."""
    app.command("decode", epilog=exit_codes("part of the input could not be decoded"))(decode)


class _Report:
    """What `decode` reports while it reads: gaps, assumed geometries, and progress."""

    def __init__(self, step: Step) -> None:
        self.gaps = 0
        self._step = step
        self._rows: dict[str, int] = {}
        self._read = 0, 0
        self._assumed: set[Geometry] = set()

    def gap(self, gap: Gap) -> None:
        """Reports a range of the log that cannot be decoded."""
        self.gaps += 1
        note(str(gap))

    def geometry(self, file: StoreFile, guess: GeometryGuess) -> None:
        """Reports a geometry that is only assumed, once."""
        if guess.how == "assumed" and guess.geometry not in self._assumed:
            self._assumed.add(guess.geometry)
            slots, entries = guess.geometry
            note(f"{file.path}: geometry {slots},{entries} assumed: {guess.reason}")

    def counted(self, batches: Iterator[tuple[str, pa.RecordBatch]]) -> Iterator[tuple[str, pa.RecordBatch]]:
        """The same batches, with their rows counted."""
        for table, batch in batches:
            self._rows[table] = self._rows.get(table, 0) + batch.num_rows
            self._step(*self._read, f"{table}: {self._rows[table]:,} rows")
            yield table, batch

    def progress(self, done: int, total: int) -> None:
        """Records the bytes read of a table's files, and their total size."""
        self._read = done, total


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}"


def _check_output(output: Path | None, fmt: str, tables: Sequence[str]) -> None:
    """What can be wrong with the request before anything is read."""
    if output is not None:
        if output.exists() and not output.is_dir():
            raise UsageError(f"{output}: is a file; -o expects a directory")
        return
    if fmt not in ("jsonl", "csv"):
        raise UsageError(f"{fmt} cannot be written to standard output; use -o DIR")
    if fmt == "csv" and len(tables) > 1:
        raise UsageError(
            f"csv on standard output takes one table; choose one with --table: {', '.join(tables)}"
        )


def _where(
    begin: str | None,
    end: str | None,
    offsets: str | None,
    topics: list[str] | None,
    keys: list[str] | None,
) -> Where | None:
    """The filter that the options name; None without any."""
    if begin is None and end is None and offsets is None and not topics and not keys:
        return None
    from rocket_columnar.decode import Where
    from rocket_columnar.formats import hash_key

    times = span = None
    if begin is not None or end is not None:
        times = (
            _FIRST if begin is None else read_time(begin, "--begin"),
            _LAST if end is None else read_time(end, "--end"),
        )
    if offsets is not None:
        first, _, last = offsets.partition(",")
        if not (first.strip().isdecimal() and last.strip().isdecimal()):
            raise UsageError(
                f"--offsets {offsets!r}: expected two numbers FROM,TO in bytes, such as 0,1048576"
            )
        span = int(first), int(last)
    for key in keys or ():
        if "#" not in key:
            raise UsageError(f"--key {key!r}: expected topic and key as TOPIC#KEY")
    return Where(
        times, span, {hash_key(key) for key in keys} if keys else None, set(topics) if topics else None
    )


def decode(
    path: Annotated[
        Path, typer.Argument(metavar="PATH", help="A file, a directory of one kind, or a whole store.")
    ],
    *,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="DIR", help="Write DIR/TABLE.FORMAT instead of stdout."),
    ] = None,
    fmt: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="jsonl, csv, parquet or arrow. \\[default: jsonl; with -o parquet]",
            autocompletion=lambda: list(_FORMATS),
        ),
    ] = None,
    table: TableNames = None,
    kind: KindText = None,
    geometry: GeometryText = None,
    column: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this column; repeatable.")
    ] = None,
    begin: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Earliest store time: ms since 1970, or ISO 8601 with time zone."),
    ] = None,
    end: Annotated[str | None, typer.Option(metavar="TIME", help="Latest store time, inclusive.")] = None,
    offsets: Annotated[
        str | None,
        typer.Option(metavar="FROM,TO", help="Physical offsets from FROM up to, but excluding, TO."),
    ] = None,
    topic: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this topic; repeatable.")
    ] = None,
    key: Annotated[
        list[str] | None,
        typer.Option(metavar="TOPIC#KEY", help="Only index entries with the hash of this key; repeatable."),
    ] = None,
    skip: Annotated[int, typer.Option(min=0, metavar="N", help="Skip the first N rows of each table.")] = 0,
    limit: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="At most N rows of each table.")
    ] = None,
    threads: Annotated[
        int, typer.Option(min=1, metavar="N", help="Number of threads for large index files and logs.")
    ] = 1,
    all_entries: Annotated[
        bool,
        typer.Option(
            "--all", help="Also decode entries beyond the index count and units after the last valid one."
        ),
    ] = False,
) -> None:
    """Decode index files, consume queues, commit logs and checkpoints into tables.

    Tables: index_headers, index_entries, consume_queue, consume_queue_ext, commit_log, checkpoint. Gaps in a commit
    log are reported on stderr.

    With a filter such as --begin or --topic, use --table to choose tables that have its column.

    Example: `rocketspec decode ~/store --table commit_log --limit 10`
    """
    from rocket_columnar.compile_notice import announce
    from rocket_columnar.decode import TABLE_KINDS, write, write_stream
    from rocket_columnar.decode import decode as engine
    from rocket_columnar.store import find_files

    where = _where(begin, end, offsets, topic, key)
    chosen = fmt or ("jsonl" if output is None else "parquet")
    if chosen not in _FORMATS:
        raise UsageError(f"unknown format {chosen!r}; expected {_listed(_FORMATS)}")
    for name in table or ():
        if name not in TABLE_KINDS:
            raise UsageError(f"unknown table {name!r}; expected {_listed(list(TABLE_KINDS))}")
    # Rows that scroll over the terminal show progress enough.
    scrolls = output is None and sys.stdout.isatty()
    with progress("decoding", unit="bytes", shown=not scrolls) as step:
        report = _Report(step)
        if sys.stderr.isatty():
            announce(note)
        files = find_files(path, kind, on_skip=skipped)
        kinds = {file.kind for file in files}
        tables = [name for name, of in TABLE_KINDS.items() if (name in table if table else of in kinds)]
        for name in tables:
            if TABLE_KINDS[name] not in kinds:
                raise UsageError(f"{path}: no {TABLE_KINDS[name]} files for table {name}")
        _check_output(output, chosen, tables)
        batches = engine(
            files,
            tables=tables,
            geometry=read_geometry(geometry),
            columns=column,
            limit=limit,
            skip=skip,
            where=where,
            threads=threads,
            all_entries=all_entries,
            on_gap=report.gap,
            on_geometry=report.geometry,
            on_progress=report.progress if sys.stderr.isatty() else None,
        )
        if output is None:
            write_stream(report.counted(batches), sys.stdout.buffer, chosen, name_tables=len(tables) > 1)
            written = {}
        else:
            written = write(report.counted(batches), output, chosen, source=path)
    for name, file in written.items():
        typer.echo(f"{name}: {file}")
    if report.gaps:
        raise typer.Exit(FINDINGS)
