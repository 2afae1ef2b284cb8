"""The verb `decode`: files of a store to tables."""

from __future__ import annotations

import sys
import time
from contextlib import ExitStack
from pathlib import Path  # noqa: TC003  typer reads the annotation
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rocket_spec.errors import UsageError

from rocketspec._notes import note, one_line
from rocketspec._quick import QuickCommand

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa
    from rich.progress import Progress
    from rocket_columnar.decode import Where
    from rocket_columnar.index import GeometryGuess
    from rocket_columnar.log import Gap
    from rocket_columnar.store import StoreFile
    from rocket_spec.layout import Geometry

__all__ = ["register"]

_FINDINGS: Final = 1
_PATIENCE: Final = 1.0  # seconds before progress is shown
_FIRST, _LAST = -(1 << 63), (1 << 63) - 1  # of a Java long


def register(app: typer.Typer) -> None:
    """Adds `decode` to the command."""
    app.command("decode", cls=QuickCommand)(decode)


class _Terminal:
    """What goes to stderr: notes, and on a terminal, from the second second on, the rows so far."""

    def __init__(self, stack: ExitStack, *, shows_progress: bool) -> None:
        self.gaps = 0
        self._stack = stack
        self._due = time.monotonic() + _PATIENCE if shows_progress else float("inf")
        self._bar: Progress | None = None
        self._rows: dict[str, int] = {}
        self._read = 0, 0
        self._assumed: set[Geometry] = set()

    def note(self, text: str) -> None:
        """One line."""
        if self._bar is None:
            note(text)
        else:
            self._bar.console.print(
                f"rocketspec: {one_line(text)}", markup=False, highlight=False, soft_wrap=True
            )

    def skipped(self, name: str, reason: str) -> None:
        """A file that is left out."""
        self.note(f"{name}: skipped, {reason}")

    def gap(self, gap: Gap) -> None:
        """A range of the log that is passed over."""
        self.gaps += 1
        self.note(str(gap))

    def geometry(self, file: StoreFile, guess: GeometryGuess) -> None:
        """A geometry; one that is only assumed is said, once."""
        if guess.how == "assumed" and guess.geometry not in self._assumed:
            self._assumed.add(guess.geometry)
            slots, entries = guess.geometry
            self.note(f"{file.path}: geometry {slots},{entries} assumed: {guess.reason}")

    def counted(self, batches: Iterator[tuple[str, pa.RecordBatch]]) -> Iterator[tuple[str, pa.RecordBatch]]:
        """The same batches, their rows counted as they pass."""
        for table, batch in batches:
            self._rows[table] = self._rows.get(table, 0) + batch.num_rows
            if self._bar is None and time.monotonic() >= self._due:
                self._bar = self._start()
            if self._bar is not None:
                done, total = self._read
                text = f"{table}: {self._rows[table]:,} rows"
                self._bar.update(self._bar.task_ids[0], description=text, completed=done, total=total)
            yield table, batch

    def progress(self, done: int, total: int) -> None:
        """Bytes read of the files of a table, and all there are."""
        self._read = done, total

    def _start(self) -> Progress:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        columns = TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()
        bar = Progress(*columns, console=Console(stderr=True), transient=True)
        bar.add_task("", total=None)
        return self._stack.enter_context(bar)


def _check_output(output: Path | None, fmt: str, tables: Sequence[str]) -> None:
    """What can be wrong with the request before anything is read."""
    if output is not None:
        if output.exists() and not output.is_dir():
            raise UsageError(f"{output}: a file; -o names a directory")
        return
    if fmt not in ("jsonl", "csv"):
        raise UsageError(f"{fmt} does not go to standard output; name a directory with -o")
    if fmt == "csv" and len(tables) > 1:
        raise UsageError(f"csv holds one table; choose one with --table: {', '.join(tables)}")


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
        from rocketspec.verbs.query import parse_time

        times = (
            _FIRST if begin is None else parse_time(begin, "--begin"),
            _LAST if end is None else parse_time(end, "--end"),
        )
    if offsets is not None:
        first, _, last = offsets.partition(",")
        if not (first.strip().isdecimal() and last.strip().isdecimal()):
            raise UsageError(f"--offsets {offsets!r}: give two numbers FROM,TO in bytes, such as 0,1048576")
        span = int(first), int(last)
    for key in keys or ():
        if "#" not in key:
            raise UsageError(f"--key {key!r}: give topic and key as TOPIC#KEY")
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
            "--format", metavar="FORMAT", help="jsonl, csv, parquet or arrow. \\[jsonl; with -o parquet]"
        ),
    ] = None,
    table: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this table; repeat for several.")
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option(metavar="KIND", help="index, queue, ext, log or checkpoint. \\[from path and content]"),
    ] = None,
    geometry: Annotated[
        str | None,
        typer.Option(metavar="S,N", help="Slots and entries of the index files. \\[inferred]"),
    ] = None,
    column: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this column; repeat for several.")
    ] = None,
    begin: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Rows stored from then on: ms since 1970 or ISO 8601 with zone."),
    ] = None,
    end: Annotated[
        str | None, typer.Option(metavar="TIME", help="Rows stored up to then, inclusive.")
    ] = None,
    offsets: Annotated[
        str | None,
        typer.Option(metavar="FROM,TO", help="Rows with a physical offset from FROM on, before TO."),
    ] = None,
    topic: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Rows of this topic; repeat for several.")
    ] = None,
    key: Annotated[
        list[str] | None,
        typer.Option(metavar="TOPIC#KEY", help="Index entries with this key's hash; repeat for several."),
    ] = None,
    skip: Annotated[
        int, typer.Option(min=0, metavar="N", help="Pass over the first N rows of each table.")
    ] = 0,
    limit: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="At most N rows of each table.")
    ] = None,
    threads: Annotated[
        int, typer.Option(min=1, metavar="N", help="Threads that decode large index files and logs.")
    ] = 1,
    all_entries: Annotated[
        bool, typer.Option("--all", help="Also what lies beyond the index count or the last valid unit.")
    ] = False,
) -> None:
    """Decode index files, consume queues, commit logs and checkpoints to rows.

    Tables: index_headers, index_entries, consume_queue, consume_queue_ext, commit_log, checkpoint. Notes and
    gaps in a commit log go to stderr; a gap makes exit code 1.

    Filters look at rows before anything else of them is read; with one, name tables that have its column.

    Example: `rocketspec decode ~/store --table commit_log --limit 10`
    """
    from rocket_columnar.compile_notice import announce
    from rocket_columnar.decode import FORMATS, TABLE_KINDS, write, write_stream
    from rocket_columnar.decode import decode as engine
    from rocket_columnar.index import parse_geometry
    from rocket_columnar.store import find_files

    where = _where(begin, end, offsets, topic, key)
    chosen = fmt or ("jsonl" if output is None else "parquet")
    if chosen not in FORMATS:
        raise UsageError(f"unknown format {chosen!r}; there are {', '.join(FORMATS)}")
    for name in table or ():
        if name not in TABLE_KINDS:
            raise UsageError(f"unknown table {name!r}; there are {', '.join(TABLE_KINDS)}")
    given = None if geometry is None else parse_geometry(geometry)
    # Rows that run over the terminal show progress enough.
    shows_progress = sys.stderr.isatty() and not (output is None and sys.stdout.isatty())
    with ExitStack() as stack:
        terminal = _Terminal(stack, shows_progress=shows_progress)
        if sys.stderr.isatty():
            announce(terminal.note)
        files = find_files(path, kind, on_skip=terminal.skipped)
        kinds = {file.kind for file in files}
        tables = [name for name, of in TABLE_KINDS.items() if (name in table if table else of in kinds)]
        for name in tables:
            if TABLE_KINDS[name] not in kinds:
                raise UsageError(f"{path}: no {TABLE_KINDS[name]} files for table {name}")
        _check_output(output, chosen, tables)
        batches = engine(
            files,
            tables=tables,
            geometry=given,
            columns=column,
            limit=limit,
            skip=skip,
            where=where,
            threads=threads,
            all_entries=all_entries,
            on_gap=terminal.gap,
            on_geometry=terminal.geometry,
            on_progress=terminal.progress if shows_progress else None,
        )
        if output is None:
            rows = terminal.counted(batches)
            write_stream(rows, sys.stdout.buffer, chosen, name_tables=len(tables) > 1)
            written = {}
        else:
            written = write(terminal.counted(batches), output, chosen, source=path)
    for name, file in written.items():
        typer.echo(f"{name}: {file}")
    if terminal.gaps:
        raise typer.Exit(_FINDINGS)
