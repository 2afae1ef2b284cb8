"""Files to tables: record batches in bounded memory, table after table, file after file."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final, NoReturn

import numpy as np
import pyarrow as pa
from rocket_spec.errors import FormatError, MalformedError, UsageError
from rocket_spec.tables import TABLES

from rocket_columnar import arrow
from rocket_columnar.arrow import SCHEMAS
from rocket_columnar.decode.filters import Skip
from rocket_columnar.decode.index_rows import entry_columns, header_columns
from rocket_columnar.decode.log_rows import LogState, log_columns
from rocket_columnar.decode.queue_rows import checkpoint_columns, ext_columns, queue_columns
from rocket_columnar.formats import LONG_MAX, LONG_MIN
from rocket_columnar.index import resolve_each
from rocket_columnar.log import Gap
from rocket_columnar.store import is_gone, while_there

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from rocket_spec.layout import Geometry

    from rocket_columnar.arrow import Array, Columns
    from rocket_columnar.decode.filters import Where
    from rocket_columnar.index import GeometryGuess
    from rocket_columnar.store import Kind, Reader, StoreFile

__all__ = ["TABLE_KINDS", "Gap", "decode"]

TABLE_KINDS: Final[dict[str, Kind]] = {
    "index_headers": "index",
    "index_entries": "index",
    "consume_queue": "queue",
    "commit_log": "log",
    "checkpoint": "checkpoint",
    "consume_queue_ext": "ext",
}
"""The kind of file that each table is decoded from, in the order in which tables come."""

_JOINED: Final = frozenset({"index_headers", "consume_queue", "checkpoint"})  # many small files, short rows
_BATCH_ROWS: Final = 1 << 17
_WHOLE_LOG: Final = (LONG_MIN, LONG_MAX + 1)


def _raise(gap: Gap) -> NoReturn:
    """The default of `on_gap`: nothing is passed over in silence."""
    raise MalformedError(
        file=gap.file,
        found=f"a gap in the log from {gap.begin:,} to {gap.end:,}: {gap.found}",
        expected=gap.expected,
    )


def _chosen_tables(files: Sequence[StoreFile], tables: Sequence[str] | None) -> list[str]:
    kinds = {file.kind for file in files}
    if tables is None:
        return [table for table, kind in TABLE_KINDS.items() if kind in kinds]
    for table in tables:
        if table not in TABLE_KINDS:
            raise UsageError(f"unknown table {table!r}; there are {', '.join(TABLE_KINDS)}")
        if TABLE_KINDS[table] not in kinds:
            there = ", ".join(sorted(kinds)) or "no"
            raise UsageError(f"no {TABLE_KINDS[table]} files for table {table}, only {there} files")
    return [table for table in TABLE_KINDS if table in tables]


def _chosen_schemas(tables: Sequence[str], columns: Sequence[str] | None) -> dict[str, pa.Schema]:
    if columns is None:
        return {table: SCHEMAS[table] for table in tables}
    known = {column.name for table in tables for column in TABLES[table]}
    for name in columns:
        if name not in known:
            raise UsageError(f"no column {name!r} in {', '.join(tables)}")
    return {
        table: pa.schema([SCHEMAS[table].field(name) for name in columns if name in SCHEMAS[table].names])
        for table in tables
    }


class _Numbers:
    """Distinct strings and their numbers: the dictionary that all batches of a table share."""

    def __init__(self, values: Iterable[str | None]) -> None:
        names = list(dict.fromkeys(value for value in values if value is not None))
        self._numbers = {name: number for number, name in enumerate(names)}
        self.array = arrow.strings(names)
        self._last: tuple[str | None, int, Array] | None = None

    def column(self, value: str | None, count: int) -> Array:
        """`count` times `value`; nulls for None."""
        if self._last is None or self._last[:2] != (value, count):
            number = -1 if value is None else self._numbers[value]
            self._last = value, count, arrow.constant(self.array, number, count)
        return self._last[2]


class _Decoder:
    """One table of one call of `decode`."""

    def __init__(
        self,
        table: str,
        files: Sequence[StoreFile],
        schema: pa.Schema,
        geometries: dict[StoreFile, GeometryGuess],
        *,
        all_entries: bool,
        on_gap: Callable[[Gap], None],
        batch_rows: int,
        threads: int,
        where: Where | None,
        skip: int,
        log_range: tuple[int, int],
        on_progress: Callable[[int, int], None] | None,
        on_error: Callable[[StoreFile, FormatError | OSError], None] | None,
    ) -> None:
        self.table = table
        self.on_progress = on_progress
        self.on_error = on_error
        self.log_range = log_range
        self.where = where
        self.skip = Skip(skip)
        self.threads = threads
        kind = TABLE_KINDS[table]
        self.files = [file for file in files if file.kind == kind and (kind != "index" or file in geometries)]
        self.lone = len(files) == 1
        self.schema = schema
        self.wanted = set(schema.names)
        self.geometries = geometries
        self.all_entries = all_entries
        self.on_gap = on_gap
        self.batch_rows = batch_rows
        self.names = _Numbers(file.name for file in self.files)
        self.topic_names = _Numbers(file.topic for file in self.files)
        self.log = LogState(self.wanted, batch_rows, where, threads=threads)

    def _opened(self) -> Iterator[tuple[int, StoreFile, Reader]]:
        """The files one after the other, open; of several those are left out that were deleted since they were listed."""
        for number, file in enumerate(self.files):
            with ExitStack() as stack:
                try:
                    reader = stack.enter_context(file.open())
                except FileNotFoundError:
                    if self.lone or not is_gone(file):
                        raise
                    continue
                except OSError as error:
                    self._leave_out(file, error)
                    continue
                yield number, file, reader

    def _leave_out(self, file: StoreFile, error: FormatError | OSError) -> None:
        """Reports that a file, or its rest, cannot be decoded; raises `error` if nobody wants to know."""
        if self.on_error is None:
            raise error
        self.on_error(file, error)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The batches of all files."""
        after: dict[object, tuple[StoreFile, int]] = {}
        total = 0 if self.on_progress is None else sum(map(_size, self.files))
        done = 0
        for number, file, reader in self._opened():
            if self.table in ("consume_queue", "consume_queue_ext", "commit_log"):
                before = after.get(file.sequence)
                if before is not None:
                    try:
                        self._check_order(*before, file)
                    except MalformedError as error:
                        self._leave_out(before[0], error)
                after[file.sequence] = file, file.base_offset + reader.size
            done += reader.size
            if self._passes_over(file, reader.size):
                continue
            for count, columns in self._readable(reader, file, number):
                if self.on_progress is not None:
                    self.on_progress(done - reader.size + reader.reached, total)
                batch = self._batch(file, count, columns)
                passed = self.skip.of(count)
                if passed < count:
                    yield batch.slice(passed) if passed else batch

    def _readable(self, reader: Reader, file: StoreFile, number: int) -> Iterator[tuple[int, Columns]]:
        """As `_columns`, up to an error that is only reported."""
        try:
            yield from self._columns(reader, file, number)
        except (FormatError, OSError) as error:
            self._leave_out(file, error)

    def _passes_over(self, file: StoreFile, size: int) -> bool:
        """Whether no row can come from a file of so many bytes."""
        if file.kind == "log":
            begin, end = self.log_range
            if not (begin < file.base_offset + max(size, 1) and file.base_offset < end):
                return True
        return self.where is not None and not self.where.file(file, size)

    def _check_order(self, before: StoreFile, end: int, file: StoreFile) -> None:
        """The file's base offset against the end of the one before: overlaps raise, in the log a hole is a gap."""
        if file.base_offset < end:
            size = end - before.base_offset
            raise MalformedError(
                file=str(before.path),
                found=f"{size:,} bytes",
                expected=f"{file.base_offset - before.base_offset:,}, up to where {file.path.name} begins",
                clause="CQ-FILE-2" if file.kind != "log" else "LOG-FILE-1",
            )
        within = self.log_range[0] <= end < self.log_range[1]
        within &= self.where is None or self.where.gap(end, file.base_offset)
        if file.kind == "log" and file.base_offset > end and within:
            self.on_gap(
                Gap(str(file.path), end, file.base_offset, "no file", "one that joins on to the one before")
            )

    def _columns(self, reader: Reader, file: StoreFile, number: int) -> Iterator[tuple[int, Columns]]:
        if self.table == "index_headers":
            yield 1, header_columns(reader, self.geometries[file].geometry)
        elif self.table == "index_entries":
            geometry = self.geometries[file].geometry
            yield from entry_columns(
                reader,
                geometry,
                self.wanted,
                self.batch_rows,
                all_entries=self.all_entries,
                threads=self.threads,
                where=self.where,
                skip=self.skip,
            )
        elif self.table == "consume_queue":
            yield from queue_columns(
                reader,
                file.base_offset,
                self.wanted,
                self.batch_rows,
                all_entries=self.all_entries,
                where=self.where,
                skip=self.skip,
            )
        elif self.table == "consume_queue_ext":
            yield from ext_columns(reader, file.base_offset, self.batch_rows, where=self.where)
        elif self.table == "checkpoint":
            yield 1, checkpoint_columns(reader)
        else:
            yield from log_columns(
                reader,
                file.base_offset,
                self.log,
                self.log_range,
                on_gap=self.on_gap,
                goes_on=lambda: any(_begins(later) for later in self.files[number + 1 :]),
            )

    def _batch(self, file: StoreFile, count: int, columns: Columns) -> pa.RecordBatch:
        if "file" in self.wanted:
            columns["file"] = self.names.column(file.name, count)
        if "topic" in self.wanted and "topic" not in columns:
            columns["topic"] = self.topic_names.column(file.topic, count)
        if "queue_id" in self.wanted and "queue_id" not in columns:
            ids = np.full(count, file.queue_id or 0, np.int32)
            columns["queue_id"] = arrow.integers(ids, np.full(count, file.queue_id is not None))
        return arrow.batch(self.schema, columns)

    def empty(self) -> pa.RecordBatch:
        """A batch without rows."""
        return arrow.empty(self.schema)


def _size(file: StoreFile) -> int:
    try:
        return file.size()
    except FileNotFoundError:
        return 0


def _begins(file: StoreFile) -> bool:
    """Whether a later log file begins with anything but zeros."""
    try:
        with file.open() as reader:
            return bool(reader.read(0, min(8, reader.size)).any())
    except FileNotFoundError:
        return False


def _limited(batches: Iterator[pa.RecordBatch], limit: int | None) -> Iterator[pa.RecordBatch]:
    """At most `limit` rows; no more is read than they need."""
    left = limit
    if left == 0:
        return
    for batch in batches:
        if left is None:
            yield batch
            continue
        yield batch.slice(0, left) if batch.num_rows > left else batch
        left -= min(left, batch.num_rows)
        if not left:
            return


def _joined(batches: Iterator[pa.RecordBatch], batch_rows: int) -> Iterator[pa.RecordBatch]:
    """Small batches put together, so that ten thousand short queues are not ten thousand batches."""
    held: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        if held and rows + batch.num_rows > batch_rows:
            yield _concatenated(held)
            held, rows = [], 0
        held.append(batch)
        rows += batch.num_rows
    if held:
        yield _concatenated(held)


def _concatenated(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    if len(batches) == 1:
        return batches[0]
    (whole,) = pa.Table.from_batches(batches).combine_chunks().to_batches()
    return whole


def decode(
    files: Sequence[StoreFile],
    *,
    tables: Sequence[str] | None = None,
    geometry: Geometry | Mapping[StoreFile, GeometryGuess] | None = None,
    columns: Sequence[str] | None = None,
    limit: int | None = None,
    all_entries: bool = False,
    on_gap: Callable[[Gap], None] = _raise,
    on_geometry: Callable[[StoreFile, GeometryGuess], None] | None = None,
    batch_rows: int = _BATCH_ROWS,
    threads: int = 1,
    where: Where | None = None,
    skip: int = 0,
    log_range: tuple[int, int] = _WHOLE_LOG,
    on_progress: Callable[[int, int], None] | None = None,
    on_error: Callable[[StoreFile, FormatError | OSError], None] | None = None,
) -> Iterator[tuple[str, pa.RecordBatch]]:
    """The rows of `files` as (table, record batch), table by table in the order of `TABLE_KINDS`.

    Each table comes with at least one batch, which may be empty. Memory is bounded by the batch, whatever the
    size of the files. The arguments and the geometry are checked before the first batch is asked for.

    Files need not be files: one that has a `Source` is read through it, whether that holds it in memory or fetches
    the ranges that are asked for. `store.placed_file` tells such a file's kind, topic and queue by its name:

        data = fetch("commitlog/00000000000000000000")
        file = placed_file("commitlog/00000000000000000000", source=Source.of_bytes("s3://store/...", data))
        for table, batch in decode([file]): ...

    Work is divided by rows (`skip`, `limit`: what is passed over in a file of index entries or units is not read) and,
    for a commit log, by ranges of physical offsets: the rows of `log_range=(a, b)` and those of `(b, c)` are together
    those of `(a, c)`, and so are their gaps.

    Args:
        files: as `find_files` lists them.
        tables: names of tables; by default all that `files` have rows for.
        geometry: of the index files; by default told as `geometry.resolve` tells it; what `resolve_each` said of
            them earlier is taken as it is, and their slots and chains are not read again.
        columns: only these columns, in this order; each must be in one of the tables.
        limit: at most so many rows of each table.
        skip: rows of each table to pass over first, of those that `where` lets pass; entries and units passed
            over are not read.
        log_range: records of the commit log that begin from the first physical offset on, before the second. The walk
            begins at the first frame that verifies there, and reads nothing before it; it ends where a record begins
            behind the range. A gap belongs to the range of the record before it. A range trusts that no body
            holds a frame made for the place where it lies.
        where: which rows come; looked at before anything else of a row is read. Of a commit log, physical offsets are
            where the reading begins, too: at records that follow on one another up to the first offset, or else at the
            file's beginning; gaps are told where they touch the offsets.
        all_entries: index entries that are not all zeros wherever they lie, and consume-queue units up to the
            last that is not all zeros; by default entries 1 .. indexCount - 1, and units up to the last valid
            one of each file.
        on_gap: called for each range of the commit log that is passed over; by default MalformedError.
        on_geometry: called for each index file with its geometry and how surely it is the one.
        on_progress: called, batch by batch, with the bytes read of a table's files, and all that they have.
        on_error: called with each file that cannot be decoded, or not to its end; its rows so far and those of the other
            files come. By default the error is raised.
        batch_rows: rows of a batch at most.
        threads: that work on a large index file, or read a large log ahead; batches come in order all the same.

    Raises:
        UsageError: unknown tables or columns, a table without files, a geometry that cannot be told.
        MalformedError: bytes that cannot be decoded.
        OSError: a file cannot be read.
    """
    chosen = _chosen_tables(files, tables)
    schemas = _chosen_schemas(chosen, columns)
    if where is not None:
        where.check(chosen)
    geometries: dict[StoreFile, GeometryGuess] = {}
    if any(TABLE_KINDS[table] == "index" for table in chosen):
        known = geometry
        geometries = (
            dict(known)
            if isinstance(known, Mapping)
            else while_there(files, lambda some: resolve_each(some, known, on_error=on_error))
        )
    if on_geometry is not None:
        for file, guess in geometries.items():
            on_geometry(file, guess)
    return _decoded(
        [
            _Decoder(
                table,
                files,
                schemas[table],
                geometries,
                all_entries=all_entries,
                on_gap=on_gap,
                batch_rows=batch_rows,
                threads=threads,
                where=where,
                skip=skip,
                log_range=log_range,
                on_progress=on_progress,
                on_error=on_error,
            )
            for table in chosen
        ],
        limit,
    )


def _decoded(decoders: Sequence[_Decoder], limit: int | None) -> Iterator[tuple[str, pa.RecordBatch]]:
    for decoder in decoders:
        batches = decoder.batches()
        if decoder.table in _JOINED:
            batches = _joined(batches, decoder.batch_rows)
        any_rows = False
        for batch in _limited(batches, limit):
            any_rows = True
            yield decoder.table, batch
        if not any_rows:
            yield decoder.table, decoder.empty()
