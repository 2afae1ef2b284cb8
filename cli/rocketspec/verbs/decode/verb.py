"""The verb `decode`: files of a store to tables, and what it reports on stderr of gaps and files that cannot be read."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING

import typer
from rocket_spec.errors import FormatError, UsageError
from rocket_spec.printable import counted
from rocket_spec.store_folders import refuse_store
from rocket_spec.tables import TABLES

from rocketspec import _options as option
from rocketspec._options import listed, read_settings, warn
from rocketspec._terminal import binary_stdout, note, progress, say, skipped

if TYPE_CHECKING:
    import pyarrow as pa
    from rocket_columnar.decode import Where
    from rocket_columnar.facts import Store
    from rocket_columnar.index import GeometryGuess
    from rocket_columnar.log import Gap
    from rocket_columnar.store import Kind, StoreFile
    from rocket_spec.layout import Geometry

    from rocketspec._options import StoreOptions
    from rocketspec._terminal import ProgressStep


class DecodeReport:
    """Gaps, files that are left out, assumed geometries, and progress; `incomplete` if part of the input could not be decoded."""

    def __init__(self, step: ProgressStep) -> None:
        self.incomplete = False
        self.rows = 0
        self._step = step
        self._table = "", 0
        self._read = 0, 0
        self._assumed: set[Geometry] = set()
        self._told: set[str] = set()

    def gap(self, gap: Gap) -> None:
        """Reports a range of the log that cannot be decoded."""
        self.incomplete = True
        note(str(gap))

    def error(self, file: StoreFile, error: FormatError | OSError) -> None:
        """Reports once a file that cannot be decoded to its end; one that the broker deleted after the listing is no part of the store."""
        if isinstance(error, FileNotFoundError) and not os.path.lexists(file.path):
            return
        self.incomplete = True
        if isinstance(error, FormatError):
            text = f"{error}; the rest of the file is left out"
        else:
            text = f"{file.path}: {(error.strerror or str(error)).lower()}; left out"
        if text not in self._told:
            self._told.add(text)
            note(text)

    def skipped(self, name: str, reason: str) -> None:
        """Reports what the listing left out; a store without what cannot be read is not whole."""
        from rocket_columnar.store import Unreadable

        self.incomplete |= isinstance(reason, Unreadable)
        skipped(name, reason)

    def geometry(self, file: StoreFile, guess: GeometryGuess) -> None:
        """Reports a geometry that is only assumed, once."""
        if guess.how == "assumed" and guess.geometry not in self._assumed:
            self._assumed.add(guess.geometry)
            slots, entries = guess.geometry
            note(f"{file.path}: geometry {slots},{entries} assumed: {guess.reason}")

    def counted(self, batches: Iterator[tuple[str, pa.RecordBatch]]) -> Iterator[tuple[str, pa.RecordBatch]]:
        """The same batches, with their rows counted."""
        for table, batch in batches:
            name, rows = self._table
            rows = batch.num_rows + (rows if name == table else 0)
            self._table = table, rows
            self.rows += batch.num_rows
            self._step(*self._read, f"{table}: {rows:,} rows")
            yield table, batch

    def in_utc(self, batches: Iterator[tuple[str, pa.RecordBatch]]) -> Iterator[tuple[str, pa.RecordBatch]]:
        """The same batches with their times as timestamps; reports the number of those out of range, which become null."""
        from rocket_columnar.decode import in_utc

        total = 0
        for table, batch in batches:
            converted, nulled = in_utc(batch)
            total += nulled
            yield table, converted
        if total:
            note(f"{counted(total, 'time')} out of range written as null")

    def progress(self, done: int, total: int) -> None:
        """Records the bytes read of a table's files, and their total size."""
        self._read = done, total


_FIRST, _LAST = -(1 << 63), (1 << 63) - 1  # of a Java long


def _columns() -> str:
    """The columns of each table, for the help."""
    parts = []
    for name, columns in TABLES.items():
        text = f"{name}: {', '.join(column.name for column in columns)}"
        parts += wrap(text, 76, initial_indent="  ", subsequent_indent="    ")
    return "\n".join(parts)


HELP = f"""Decode index files, consume queues, commit logs and checkpoints into tables.

A file that cannot be read is reported on stderr and left out, and so is a gap in a commit log; the rest is decoded, and
the exit code is 1. Only the files that --table needs are opened.

With a filter such as --begin or --topic, use --table to choose tables that have its column.

Examples:
  rocketspec decode ~/store --table commit_log --limit 10
  rocketspec decode ~/store --format table --column topic
  rocketspec decode ~/store -o tables --format parquet

Tables and their columns:
{_columns()}
"""


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}"


def _check_names(fmt: str, tables: Sequence[str]) -> None:
    """Raises UsageError for an unknown format or table."""
    if fmt not in option.FORMATS:
        raise UsageError(f"unknown format {fmt!r}; expected {_listed(option.FORMATS)}")
    for name in tables:
        if name not in TABLES:
            raise UsageError(f"unknown table {name!r}; expected {_listed(list(TABLES))}")


def _check_output(output: Path | None, fmt: str, tables: Sequence[str], *, force: bool) -> None:
    """Raises UsageError for a request that cannot be met, before anything is read."""
    if output is None:
        if fmt not in ("jsonl", "csv", "table"):
            raise UsageError(f"{fmt} cannot be written to standard output; use -o DIR")
        if fmt == "csv" and len(tables) > 1:
            raise UsageError(
                f"csv on standard output takes one table; choose one with --table: {', '.join(tables)}"
            )
        return
    if fmt == "table":
        raise UsageError("table is written to standard output; -o takes jsonl, csv, parquet or arrow")
    if output.exists() and not output.is_dir():
        raise UsageError(f"{output}: is a file; -o expects a directory")
    for name in tables:
        target = output / f"{name}.{fmt}"
        if target.exists() and not force:
            raise UsageError(f"{target}: already exists; --force replaces it")


def _where(
    begin: str | None, end: str | None, offsets: str | None, topics: list[str] | None, keys: list[str] | None
) -> Where | None:
    """The filter that the options name; None without any."""
    if begin is None and end is None and offsets is None and not topics and not keys:
        return None
    from rocket_columnar.decode import Where
    from rocket_columnar.formats import hash_key

    times = span = None
    if begin is not None or end is not None:
        times = (
            _FIRST if begin is None else option.read_time(begin, "--begin"),
            _LAST if end is None else option.read_time(end, "--end"),
        )
    if offsets is not None:
        first, _, last = offsets.partition(",")
        if not (first.strip().isdecimal() and last.strip().isdecimal()):
            raise UsageError(
                f"--offsets {offsets!r}: expected two numbers FROM,TO in bytes, such as 0,1048576"
            )
        span = int(first), int(last)
    if keys and topics:
        keys, topics = [f"{topic}#{key}" for topic in topics for key in keys], None
    for key in keys or ():
        if "#" not in key:
            raise UsageError(f"--key {key!r}: expected --topic with it, or TOPIC#KEY")
    return Where(
        times, span, {hash_key(key) for key in keys} if keys else None, set(topics) if topics else None
    )


def decode(
    path: Path | None = None,
    *,
    output: Path | None = None,
    fmt: str | None = None,
    table: list[str] | None = None,
    kind: str | None = None,
    commitlog: list[str] | None = None,
    geometry: str | None = None,
    broker_conf: Path | None = None,
    gentle: bool = False,
    rate: float | None = None,
    column: list[str] | None = None,
    begin: str | None = None,
    end: str | None = None,
    offsets: str | None = None,
    topic: list[str] | None = None,
    key: list[str] | None = None,
    skip: int = 0,
    limit: int | None = None,
    timestamps: str = "millis",
    threads: int = 1,
    force: bool = False,
    all_entries: bool = False,
) -> None:
    """Decodes what the options choose, and reports what could not be decoded."""
    from rocket_columnar.decode import TABLE_KINDS, write
    from rocket_columnar.decode import decode as engine
    from rocket_columnar.store import despite_unreadable

    where = _where(begin, end, offsets, topic, key)
    threads = option.be_gentle(gentle=gentle, rate=rate) or threads
    settings = read_settings(path, commitlog, geometry, broker_conf)
    path, folders = settings.store, settings.commitlog
    store = settings.open_whole()
    warn(settings)
    utc = option.in_utc(timestamps)
    chosen = fmt or ("jsonl" if output is None else "parquet")
    _check_names(chosen, table or ())
    wanted: set[Kind] = {TABLE_KINDS[name] for name in table or TABLE_KINDS}
    whole = path.is_dir()
    # Rows that scroll over the terminal show progress enough.
    scrolls = output is None and sys.stdout.isatty()
    with progress("decoding", unit="bytes", shown=not scrolls) as step:
        report = DecodeReport(step)
        left_out: list[tuple[str, str]] = []

        files = despite_unreadable(lambda: _files(settings, store, kind, wanted, left_out))
        for found in left_out:
            report.skipped(*found)
        kinds = {file.kind for file in files}
        tables = [name for name, of in TABLE_KINDS.items() if (name in table if table else of in kinds)]
        missing = [name for name in tables if TABLE_KINDS[name] not in kinds]
        if missing:
            raise UsageError(f"{path}: no {TABLE_KINDS[missing[0]]} files for table {missing[0]}")
        if output is not None:
            refuse_store(output, *folders)
        _check_output(output, chosen, tables, force=force)
        batches = engine(
            files,
            tables=tables,
            geometry=settings.geometry if store is None else store.shape,
            columns=column,
            limit=limit,
            skip=skip,
            where=where,
            threads=threads,
            all_entries=all_entries,
            on_gap=report.gap,
            on_geometry=report.geometry,
            on_progress=report.progress if sys.stderr.isatty() else None,
            on_error=report.error if whole and len(files) > 1 else None,
        )
        rows = report.counted(batches)
        if utc and chosen != "table":  # which shows ISO 8601 anyway
            rows = report.in_utc(rows)
        written = {} if output is None else write(rows, output, chosen, source=path)
        if output is None:
            _print(rows, chosen, name_tables=len(tables) > 1)
    for name, file in written.items():
        say(f"{name}: {file}")
    if not report.rows and topic:
        _note_no_rows(topic, store)
    if report.incomplete:
        raise typer.Exit(option.FINDINGS)


def _files(
    settings: StoreOptions,
    store: Store | None,
    kind: str | None,
    wanted: set[Kind],
    left_out: list[tuple[str, str]],
) -> list[StoreFile]:
    """The files to decode; names and reasons of others are put into `left_out`."""
    from rocket_columnar.store import find_files

    left_out.clear()
    if store is not None and kind is None:
        return store.find(wanted, left_out)
    return find_files(
        settings.store,
        kind,
        kinds=wanted,
        commitlog=settings.commitlog,
        on_skip=lambda *found: left_out.append(found),
    )


def _note_no_rows(topics: Sequence[str], store: Store | None) -> None:
    names = [] if store is None else sorted(store.has_queue)
    known = f"; the store has {listed(names)}" if names else ""
    note(f"no rows of topic {' or '.join(topics)}{known}")


def _print(rows: Iterable[tuple[str, pa.RecordBatch]], fmt: str, *, name_tables: bool) -> None:
    """Prints rows to standard output."""
    from rocket_columnar.decode import write_stream

    if fmt == "table":
        from rocketspec.verbs.decode.table_text import print_tables

        print_tables(rows, titles=name_tables)
    else:
        write_stream(rows, binary_stdout(), fmt, name_tables=name_tables)
