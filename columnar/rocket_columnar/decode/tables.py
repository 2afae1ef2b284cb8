"""Files to tables: record batches in bounded memory, table after table, file after file."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final, NoReturn

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from rocket_spec.errors import FormatError, MalformedError, UsageError
from rocket_spec.layout import Geometry
from rocket_spec.tables import TABLES

from rocket_columnar import arrow
from rocket_columnar.arrow import SCHEMAS, Array, Columns, values
from rocket_columnar.decode import unit_rows
from rocket_columnar.decode.log_rows import WHOLE_LOG, LogState, RowChoice, Skip, Topics, Where, log_columns
from rocket_columnar.index import GeometryGuess, resolve_each
from rocket_columnar.log import Gap
from rocket_columnar.store import (
    CONFIG_TABLES,
    LATER_KINDS,
    Kind,
    Reader,
    StoreFile,
    by_queue,
    is_gone,
    raise_of_process,
    size_of,
    while_there,
)

# One table of a decode: its files to record batches, file after file.


TABLE_KINDS: Final[dict[str, Kind]] = {
    "index_headers": "index",
    "index_entries": "index",
    "consume_queue": "queue",
    "commit_log": "log",
    "checkpoint": "checkpoint",
    "consume_queue_ext": "ext",
    **dict.fromkeys(CONFIG_TABLES.values(), "config"),
    "batch_consume_queue": "batch",
    "timer_wheel": "timer_wheel",
    "timer_log": "timer_log",
}
"""The kind of file that each table is decoded from, in the order in which tables come."""


class _StringNumbers:
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


@dataclass(frozen=True, slots=True)
class Reports:
    """The callbacks of a decode; see `decode`."""

    on_gap: Callable[[Gap], None]
    on_progress: Callable[[int, int], None] | None
    on_error: Callable[[StoreFile, FormatError | OSError], None] | None


class TableDecoder:
    """One table of one call of `decode`."""

    def __init__(
        self,
        table: str,
        files: Sequence[StoreFile],
        schema: pa.Schema,
        geometries: Mapping[StoreFile, GeometryGuess],
        choice: RowChoice,
        reports: Reports,
    ) -> None:
        kind = TABLE_KINDS[table]
        self.table = table
        self.files = [
            file
            for file in files
            if file.kind == kind
            and (kind != "index" or file in geometries)
            and file.config_table in (None, table)
        ]
        self.schema = schema
        self.choice = choice
        self._lone = len(files) == 1
        self._geometries = geometries
        self._reports = reports
        self._names = _StringNumbers(file.name for file in self.files)
        self._topic_names = _StringNumbers(file.topic for file in self.files)
        self._log = LogState(choice)
        self._config_topics = Topics()

    def _opened(self) -> Iterator[tuple[int, StoreFile, Reader]]:
        """The files one after the other, open; if there are several, without those deleted since they were listed."""
        for number, file in enumerate(self.files):
            with ExitStack() as stack:
                try:
                    reader = stack.enter_context(file.open())
                except FileNotFoundError:
                    if self._lone or not is_gone(file):
                        raise
                    continue
                except OSError as error:
                    raise_of_process(error)
                    self._leave_out(file, error)
                    continue
                yield number, file, reader

    def _leave_out(self, file: StoreFile, error: FormatError | OSError) -> None:
        """Reports that a file, or its rest, cannot be decoded; raises `error` if no `on_error` was given."""
        if self._reports.on_error is None:
            raise error
        self._reports.on_error(file, error)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The batches of all files."""
        after: dict[object, tuple[StoreFile, int]] = {}
        skip, on_progress = self.choice.skip, self._reports.on_progress
        total = 0 if on_progress is None else sum(size_of(file) or 0 for file in self.files)
        done = 0
        for number, file, reader in self._opened():
            if file.kind in ("queue", "ext", "log", "batch", "timer_log"):
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
                if on_progress is not None:
                    on_progress(done - reader.size + reader.reached, total)
                batch = self._batch(file, count, columns)
                passed = skip.of(count)
                if passed < count:
                    yield batch.slice(passed) if passed else batch

    def _readable(self, reader: Reader, file: StoreFile, number: int) -> Iterator[tuple[int, Columns]]:
        """As `_columns`, up to an error that is only reported."""
        try:
            yield from self._columns(reader, file, number)
        except (FormatError, OSError) as error:
            self._leave_out(file, error)

    def _passes_over(self, file: StoreFile, size: int) -> bool:
        """Whether no row can come from a file of `size` bytes."""
        if file.kind == "log":
            begin, end = self.choice.log_range
            if not (begin < file.base_offset + max(size, 1) and file.base_offset < end):
                return True
        return self.choice.where is not None and not self.choice.where.file(file, size)

    def _check_order(self, before: StoreFile, end: int, file: StoreFile) -> None:
        """Compares a file's base offset with the end of the one before: overlaps raise, a hole in the log is a gap."""
        if file.base_offset < end:
            raise overlap(before, end - before.base_offset, file)
        where, log_range = self.choice.where, self.choice.log_range
        within = log_range[0] <= end < log_range[1]
        within &= where is None or where.gap(end, file.base_offset)
        if file.kind == "log" and file.base_offset > end and within:
            self._reports.on_gap(
                Gap(str(file.path), end, file.base_offset, "no file", "one that joins on to the one before")
            )

    def _columns(self, reader: Reader, file: StoreFile, number: int) -> Iterator[tuple[int, Columns]]:
        if self.table == "index_headers":
            yield 1, unit_rows.header_columns(reader, self._geometries[file].geometry)
        elif self.table == "index_entries":
            yield from unit_rows.entry_columns(reader, self._geometries[file].geometry, self.choice)
        elif self.table == "consume_queue":
            yield from unit_rows.queue_columns(reader, file.base_offset, self.choice)
        elif self.table == "consume_queue_ext":
            yield from unit_rows.ext_columns(
                reader, file.base_offset, self.choice.batch_rows, where=self.choice.where
            )
        elif self.table == "checkpoint":
            yield 1, unit_rows.checkpoint_columns(reader)
        elif file.kind == "config":
            yield from unit_rows.config_columns(self.table, reader, self._config_topics)
        elif file.kind in LATER_KINDS:
            yield from unit_rows.later_columns(self.table, reader, file, self.choice)
        else:
            yield from log_columns(
                reader,
                file.base_offset,
                self._log,
                on_gap=self._reports.on_gap,
                goes_on=lambda: any(begins(later) for later in self.files[number + 1 :]),
            )

    def _batch(self, file: StoreFile, count: int, columns: Columns) -> pa.RecordBatch:
        if "file" in self.choice.names:
            columns["file"] = self._names.column(file.name, count)
        if "topic" in self.choice.names and "topic" not in columns:
            columns["topic"] = self._topic_names.column(file.topic, count)
        if "queue_id" in self.choice.names and "queue_id" not in columns:
            ids = np.full(count, file.queue_id or 0, np.int32)
            columns["queue_id"] = arrow.integers(ids, np.full(count, file.queue_id is not None))
        return arrow.batch(self.schema, columns)


def overlap(before: StoreFile, size: int, file: StoreFile) -> MalformedError:
    """The error of a file, of `size` bytes, that reaches into the next one of its log or queue."""
    return MalformedError(
        file=str(before.path) if before.source is None else before.source.name,
        found=f"{size:,} bytes",
        expected=f"{file.base_offset - before.base_offset:,}, up to where {file.path.name} begins",
        clause="CQ-FILE-2" if file.kind != "log" else "LOG-FILE-1",
    )


def begins(file: StoreFile) -> bool:
    """Whether a later log file begins with anything but zeros; one that cannot be opened is reported in its turn."""
    try:
        with file.open() as reader:
            return bool(reader.read(0, min(8, reader.size)).any())
    except OSError as error:
        raise_of_process(error)
        return False


_JOINED: Final = frozenset(
    {"index_headers", "consume_queue", "checkpoint", "batch_consume_queue"}
)  # many small files, short rows
_BATCH_ROWS: Final = 1 << 17


def _raise(gap: Gap) -> NoReturn:
    """The default of `on_gap`: nothing is skipped silently."""
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


def _limited(batches: Iterator[pa.RecordBatch], limit: int | None) -> Iterator[pa.RecordBatch]:
    """At most `limit` rows; nothing after them is read."""
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
    """Joins small batches, so that ten thousand short queues are not ten thousand batches."""
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
    log_range: tuple[int, int] = WHOLE_LOG,
    on_progress: Callable[[int, int], None] | None = None,
    on_error: Callable[[StoreFile, FormatError | OSError], None] | None = None,
) -> Iterator[tuple[str, pa.RecordBatch]]:
    """The rows of `files` as (table, record batch), table by table in the order of `TABLE_KINDS`.

    Each table yields at least one batch, which may be empty. Memory is bounded by the batch, whatever the
    size of the files. The arguments and the geometry are checked before the first batch is requested.

    A file that has a `Source` is read through it, whether that holds it in memory or fetches the requested ranges.
    `store.placed_file` derives such a file's kind, topic and queue from its name:

        data = fetch("commitlog/00000000000000000000")
        file = placed_file("commitlog/00000000000000000000", source=Source.of_bytes("s3://store/...", data))
        for table, batch in decode([file]): ...

    Work is divided by rows (`skip`, `limit`: skipped rows of index entries or units are not read) and, for a commit
    log, by ranges of physical offsets: the rows of `log_range=(a, b)` and those of `(b, c)` are together those of
    `(a, c)`, and so are their gaps.

    Args:
        files: as `find_files` lists them.
        tables: names of tables; by default all that `files` have rows for.
        geometry: of the index files; by default inferred as `geometry.resolve` does. Guesses that `resolve_each`
            returned earlier are used as they are, and slots and chains are not read again.
        columns: only these columns, in this order; each must be in one of the tables.
        limit: maximum number of rows of each table.
        skip: number of rows of each table to skip first, counted after `where`; skipped entries and units are
            not read.
        log_range: only records of the commit log that begin at or after the first physical offset and before the
            second. The walk begins at the first frame that verifies there and reads nothing before it; it ends at the
            first record that begins after the range. A gap belongs to the range of the record before it. A range
            relies on no body containing a frame that is valid at its own offset.
        where: filter, applied before anything else of a row is read. Physical offsets also determine where reading a
            commit log begins: at consecutive records up to the first offset, otherwise at the file's beginning; gaps
            are reported if they touch the offsets.
        all_entries: return all index entries that are not all zeros, and consume-queue units up to the last that is
            not all zeros; by default entries 1 .. indexCount - 1, and units up to the last valid one of each file.
        on_gap: called for each range of the commit log that is skipped; by default MalformedError is raised.
        on_geometry: called for each index file with its geometry and its certainty.
        on_progress: called for each batch with the bytes read of a table's files, and their total size.
        on_error: called with each file that cannot be decoded completely; its rows so far and those of the other
            files are still returned. By default the error is raised.
        batch_rows: rows of a batch at most.
        threads: number of threads that decode an index file; the order of batches stays the same.

    Raises:
        UsageError: unknown tables or columns, a table without files, a geometry that cannot be inferred.
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
    reports = Reports(on_gap, on_progress, on_error)
    decoders = []
    for table in chosen:
        choice = RowChoice(
            names=set(schemas[table].names),
            batch_rows=batch_rows,
            where=where,
            skip=Skip(skip),
            all_entries=all_entries,
            threads=threads,
            log_range=log_range,
            geometry=geometry if isinstance(geometry, Geometry) else None,
        )
        decoders.append(TableDecoder(table, files, schemas[table], geometries, choice, reports))
    return _decoded(decoders, limit)


def _decoded(decoders: Sequence[TableDecoder], limit: int | None) -> Iterator[tuple[str, pa.RecordBatch]]:
    for decoder in decoders:
        batches = decoder.batches()
        if decoder.table in _JOINED:
            batches = _joined(batches, decoder.choice.batch_rows)
        any_rows = False
        for batch in _limited(batches, limit):
            any_rows = True
            yield decoder.table, batch
        if not any_rows:
            yield decoder.table, arrow.empty(decoder.schema)


# Consume-queue ext units by their address, queue by queue.


class ExtUnits:
    """The ext units of a store; those of a queue are read at their first use."""

    def __init__(self, files: Sequence[StoreFile]) -> None:
        self._files = by_queue(file for file in files if file.kind == "ext")

    def of(self, topic: str, queue_id: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Addresses, tags codes and store timestamps of a queue's ext units, in the order of their addresses."""
        parts: list[list[NDArray[np.int64]]] = [[np.empty(0, np.int64)] for _ in range(3)]
        columns = ["address", "tags_code", "store_timestamp"]
        for file in self._files.get((topic, queue_id), []):
            try:
                for _, batch in decode([file], tables=["consume_queue_ext"], columns=columns):
                    for part, name in zip(parts, columns, strict=True):
                        part.append(values(batch.column(name)))
            except MalformedError:
                continue  # addresses into it will not be found
        addresses, tags, times = (np.concatenate(part) for part in parts)
        return addresses, tags, times

    def tags_codes(
        self, topic: str, queue_id: int, addresses: NDArray[np.int64]
    ) -> tuple[NDArray[np.bool_], NDArray[np.int64], NDArray[np.int64]]:
        """For each address, whether there is a unit, its tags code and its store timestamp (0 without a unit)."""
        known, tags, times = self.of(topic, queue_id)
        if not known.size:
            none = np.zeros(addresses.shape, np.int64)
            return np.zeros(addresses.shape, np.bool_), none, none
        at = np.searchsorted(known, addresses)
        at[at == known.size] = 0
        found = known[at] == addresses
        return found, np.where(found, tags[at], 0), np.where(found, times[at], 0)

    def have(self, topic: str, queue_id: int, tags: NDArray[np.int64], times: NDArray[np.int64]) -> bool:
        """Whether a queue has, at whatever address, an ext unit with each of these tags codes and store timestamps."""
        _, *columns = self.of(topic, queue_id)
        known = set(zip(*(column.tolist() for column in columns), strict=True))
        return known >= set(zip(tags.tolist(), times.tolist(), strict=True))
