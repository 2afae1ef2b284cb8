"""Files to tables: record batches in bounded memory, table after table, file after file."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NoReturn

import pyarrow as pa
from rocket_spec.errors import FormatError, MalformedError, UsageError
from rocket_spec.layout import Geometry
from rocket_spec.tables import TABLES

from rocket_columnar import arrow
from rocket_columnar.arrow import SCHEMAS
from rocket_columnar.decode.filters import Skip, Where
from rocket_columnar.decode.row_choice import WHOLE_LOG, RowChoice
from rocket_columnar.decode.table_decoder import TABLE_KINDS, Reports, TableDecoder
from rocket_columnar.index import GeometryGuess, resolve_each
from rocket_columnar.log import Gap
from rocket_columnar.store import StoreFile, while_there

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
