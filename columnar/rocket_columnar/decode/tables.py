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

from rocket_columnar.decode import arrow
from rocket_columnar.decode.arrow import SCHEMAS, Array, Columns, Topics
from rocket_columnar.decode.rows import (
    BATCH_ROWS,
    WHOLE_LOG,
    RowChoice,
    Skip,
    Where,
    checkpoint_columns,
    config_columns,
    entry_columns,
    ext_columns,
    header_columns,
    later_columns,
    queue_columns,
)
from rocket_columnar.fast import PlainLog, log_form
from rocket_columnar.formats import host_text
from rocket_columnar.index import GeometryGuess, resolve_each
from rocket_columnar.log import Gap, Records, RowTopics, Scan, Walk, bodies_match, tags_codes
from rocket_columnar.store import (
    CONFIG_TABLES,
    LATER_KINDS,
    Kind,
    Reader,
    StoreFile,
    is_gone,
    raise_of_process,
    size_of,
    while_there,
)

# A commit-log file to rows: record after record to the blank or the zeros after the last one.
#
# If a record does not verify, the scan reports a gap and continues at the next frame that verifies.


# The columns of `commit_log`, made of the records of a scan; only those that are requested.


_NUMBERS: Final = (
    *("size", "queue_id", "flag", "queue_offset", "phy_offset", "sys_flag", "born_timestamp"),
    *("store_timestamp", "reconsume_times", "prepared_transaction_offset"),
)
_TEXTS: Final = ("keys", "uniq_key", "tags")
_HOSTS: Final = ("born_host", "store_host")

_VALUES: Final = frozenset({*_TEXTS, "tags_code", "properties"})  # columns of what the properties contain

_MOST_HOSTS: Final = 1 << 16  # known at a time: ports make each client another


class LogColumns:
    """Makes the columns of a decode, batch by batch; `bodies` is whether they need the records' bodies."""

    def __init__(self, names: set[str], form: PlainLog, topics: Topics | None = None) -> None:
        self.form = form
        self.bodies = bool(names & {"body", "crc_ok"})
        self.topics = topics or Topics()
        self._names = names
        self._row_topics = RowTopics(form, self.topics.number)
        self._hosts = form.new_numbers()

    def has_topic(self, records: Records, wanted: Callable[[bytes], bool]) -> NDArray[np.bool_]:
        """A mask of the records whose topic is wanted."""
        distinct = self.form.new_numbers()
        numbers = distinct.numbers(*records.places("topic"))
        return np.array([wanted(raw) for raw in distinct.items], np.bool_)[numbers]

    def of(self, records: Records) -> Columns:
        """The columns of some records, without `file`."""
        names, rows = self._names, records.rows
        if names & _VALUES:
            records.find_values()
        columns: Columns = {name: arrow.integers(rows[name]) for name in _NUMBERS if name in names}
        if "body_crc" in names:
            columns["body_crc"] = arrow.integers(rows["body_crc"].astype(np.int64) & 0xFFFFFFFF)
        if names & {"topic", "tags_code"}:
            self._add_topics(records, columns)
        for name in names.intersection(_TEXTS):
            offsets, data = self.form.gather(*records.places(name))
            columns[name] = arrow.gathered(offsets, data, valid=rows[f"{name}_length"] > 0, text=True)
        for name in names.intersection(_HOSTS):
            columns[name] = self._host_column(*records.places(name))
        if "body" in names:
            columns["body"] = arrow.gathered(*self.form.gather(*records.places("body")))
        if "crc_ok" in names:
            columns["crc_ok"] = arrow.booleans(bodies_match(records))
        if "properties" in names:
            counts, keys, items = self.form.split_properties(records.window, rows)
            columns["properties"] = arrow.map_of(
                counts, arrow.gathered(*keys, text=True), arrow.gathered(*items, text=True)
            )
        return columns

    def _add_topics(self, records: Records, columns: Columns) -> None:
        numbers = self._row_topics.numbers(records)
        if "topic" in self._names:
            indices = self._row_topics.values(numbers).astype(np.int32)
            columns["topic"] = arrow.dictionary(indices, self.topics.array())
        if "tags_code" in self._names:
            codes, known = tags_codes(records, self._row_topics.scheduled[numbers])
            columns["tags_code"] = arrow.integers(codes, known)

    def _host_column(
        self, window: NDArray[np.uint8], at: NDArray[np.int64], lengths: NDArray[np.int64]
    ) -> Array:
        if len(self._hosts.items) > _MOST_HOSTS:
            self._hosts = self.form.new_numbers()
        used, places = np.unique(self._hosts.numbers(window, at, lengths), return_inverse=True)
        texts = arrow.strings([host_text(self._hosts.items[number]) for number in used.tolist()])
        return arrow.taken(texts, places.astype(np.int32))


def _wanted(records: Records, choice: RowChoice, columns: LogColumns) -> Records:
    """The records that pass the filter."""
    where, rows = choice.where, records.rows
    if where is None:
        return records
    keep = where.rows(phy_offsets=rows["phy_offset"], store_timestamps=rows["store_timestamp"])
    if where.topics is not None:
        wanted = columns.has_topic(records, where.topic)
        keep = wanted if keep is None else keep & wanted
    return records if keep is None else Records(records.window, rows[keep], records.form)


def _range(walk: Walk, choice: RowChoice) -> tuple[int, int, int]:
    """The frame from which a file is walked, where the walk stops, and where its range ends; bytes."""
    base_offset = walk.base_offset
    begin, end = (offset - base_offset for offset in choice.log_range)
    start, end = max(begin, 0), min(end, walk.reader.size)
    offsets = None if choice.where is None else choice.where.offsets
    stop = end if offsets is None else min(end, offsets[1] - base_offset)
    if start:
        start = walk.next_frame(start, stop)
    if offsets is not None:
        start = max(start, walk.frame_before(offsets[0] - base_offset))
    return start, stop, end


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
        self._log_columns: LogColumns | None = None
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
            yield 1, header_columns(reader, self._geometries[file].geometry)
        elif self.table == "index_entries":
            yield from entry_columns(reader, self._geometries[file].geometry, self.choice)
        elif self.table == "consume_queue":
            yield from queue_columns(reader, file.base_offset, self.choice)
        elif self.table == "consume_queue_ext":
            yield from ext_columns(reader, file.base_offset, self.choice.batch_rows, where=self.choice.where)
        elif self.table == "checkpoint":
            yield 1, checkpoint_columns(reader)
        elif file.kind == "config":
            yield from config_columns(self.table, reader, self._config_topics)
        elif file.kind in LATER_KINDS:
            yield from later_columns(self.table, reader, file, self.choice)
        else:
            yield from self._log_rows(reader, file, self.files[number + 1 :])

    def _log_rows(
        self, reader: Reader, file: StoreFile, later: Sequence[StoreFile]
    ) -> Iterator[tuple[int, Columns]]:
        """The rows of `commit_log`, without `file`; an empty file is a MalformedError (LOG-FILE-1).

        A record verifies when its magic, its lengths and its physical offset are right; the body's CRC is a column of its own. Zeros at
        the file's end are a gap if a later file of the log contains records; otherwise they are space that is still to be written.

        If only certain physical offsets are wanted, the walk begins shortly before the first, and only gaps that touch
        them are reported.
        """
        if not reader.size:
            raise MalformedError(
                file=reader.name, found="an empty file", expected="a commit log", clause="LOG-FILE-1"
            )
        where, choice = self.choice.where, self.choice

        def report(gap: Gap) -> None:
            if where is None or where.gap(gap.begin, gap.end):
                self._reports.on_gap(gap)

        form = log_form(reader.allocated)
        columns = self._log_columns
        if columns is None or type(form) is not type(columns.form):
            columns = LogColumns(choice.names, form, None if columns is None else columns.topics)
            self._log_columns = columns
        scan = Scan(
            reader,
            file.base_offset,
            columns.form,
            bodies=columns.bodies,
            rows=choice.batch_rows,
            goes_on=lambda: any(map(begins, later)),
        )
        start, stop, end = _range(scan.walk, choice)
        for records in scan.run(start, stop, exact=True, on_gap=report):
            wanted = _wanted(records, choice, columns)
            if len(wanted.rows):
                yield len(wanted.rows), columns.of(wanted)
        # The gap after a range's last record belongs to this range: the next range begins at the next frame.
        position = scan.next
        if start < position < reader.size and position >= end:
            gap = scan.gap_at(position)
            if gap is not None:
                report(gap)

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
    schemas = {
        table: pa.schema([SCHEMAS[table].field(name) for name in columns if name in SCHEMAS[table].names])
        for table in tables
    }
    return {table: schema for table, schema in schemas.items() if schema.names}


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
    batch_rows: int = BATCH_ROWS,
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
        columns: only these columns, in this order; each must be in one of the tables. Tables that have none are left out.
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
    if any(TABLE_KINDS[table] == "index" for table in schemas):
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
    for table, schema in schemas.items():
        choice = RowChoice(
            names=set(schema.names),
            batch_rows=batch_rows,
            where=where,
            skip=Skip(skip),
            all_entries=all_entries,
            threads=threads,
            log_range=log_range,
        )
        decoders.append(TableDecoder(table, files, schema, geometries, choice, reports))
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
