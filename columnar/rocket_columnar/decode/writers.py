"""Record batches to files and streams: JSON Lines, CSV, Parquet and Arrow."""

from __future__ import annotations

import os
from collections import deque
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack, suppress
from functools import cache
from inspect import signature
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, cast, get_args

import pyarrow as pa
from rocket_spec.errors import UsageError

from rocket_columnar.decode.parquet_groups import RowGroups
from rocket_columnar.decode.text_formats import csv_bytes, csv_header, jsonl_bytes
from rocket_columnar.store import protected_directories

if TYPE_CHECKING:
    from collections.abc import Iterable
    from io import IOBase
    from typing import BinaryIO

__all__ = ["FORMATS", "decoding_threads", "parquet_options", "write", "write_stream", "writer_takes"]

Format = Literal["jsonl", "csv", "parquet", "arrow"]

FORMATS: Final[tuple[Format, ...]] = get_args(Format)
"""What `write` can write; `write_stream` the first two of them."""

_GROUP_ROWS: Final = 1 << 20
_GROUP_BYTES: Final = 128 << 20
"""Rows and bytes in memory of a Parquet row group at most: readers skip and share out whole groups."""

_FIRST_SHARE: Final = 4
"""The first row group is a quarter of these: until it is there, the threads that encode have nothing to do."""

_PAGE_ROWS: Final = 1 << 17
"""Rows of a page at most, beside pyarrow's limit of 1 MiB: after each of its 20,000 rows the compressor would begin anew."""

_ENCODINGS: Final = {
    # Numbers that rise, or stay near the one before.
    **dict.fromkeys(
        (
            *("entry", "slot", "phy_offset", "time_diff", "store_timestamp", "born_timestamp"),
            *("logical_offset", "queue_offset", "address"),
        ),
        "DELTA_BINARY_PACKED",
    ),
    # Nearly every value another one: a dictionary would only be built to be given up.
    **dict.fromkeys(
        ("key_hash", "prev_entry", "body", "body_crc", "bit_map", "properties.key_value.value"), "PLAIN"
    ),
    # The same, and neighbours begin alike.
    **dict.fromkeys(("keys", "uniq_key"), "DELTA_BYTE_ARRAY"),
}
"""Of columns, where they are smaller or quicker than with a dictionary; all of them are read by Spark, too."""


@cache
def writer_takes(option: str) -> bool:
    """Whether the `pyarrow.parquet.ParquetWriter` that is installed has this argument, which an older one lacks."""
    from pyarrow.parquet import ParquetWriter

    return option in signature(ParquetWriter.__init__).parameters


def parquet_options(schema: pa.Schema) -> dict[str, Any]:
    """How `write` makes a Parquet file of a table, as arguments of `pyarrow.parquet.ParquetWriter`.

    The encodings were chosen by measurement, column by column: see docs/engine.md.
    """
    leaves: list[str] = []
    for field in schema:
        pair = (f"{field.name}.key_value.key", f"{field.name}.key_value.value")
        leaves += pair if pa.types.is_map(field.type) else [field.name]
    return {
        "compression": "zstd",
        **({"max_rows_per_page": _PAGE_ROWS} if writer_takes("max_rows_per_page") else {}),
        "use_dictionary": [leaf for leaf in leaves if leaf not in _ENCODINGS],
        "column_encoding": {leaf: _ENCODINGS[leaf] for leaf in leaves if leaf in _ENCODINGS},
    }


class _Writer(Protocol):
    """Writes the batches of one table."""

    def write(self, batch: pa.RecordBatch) -> None: ...

    def close(self) -> None: ...

    def abandon(self) -> None:
        """Closes a file that stays incomplete, ignoring errors."""


class _Text:
    """JSON Lines or CSV."""

    def __init__(self, stream: BinaryIO, fmt: Format, schema: pa.Schema, table: str | None = None) -> None:
        self._stream = stream
        self._table = table
        self._is_csv = fmt == "csv"
        if self._is_csv:
            stream.write(csv_header(schema))

    def write(self, batch: pa.RecordBatch) -> None:
        self._stream.write(csv_bytes(batch) if self._is_csv else jsonl_bytes(batch, self._table))

    def close(self) -> None:
        self._stream.flush()

    def abandon(self) -> None:
        pass


class _Arrow:
    """An Arrow IPC file; the dictionaries of later batches may only add to the ones before."""

    def __init__(self, stream: BinaryIO, schema: pa.Schema) -> None:
        options = pa.ipc.IpcWriteOptions(emit_dictionary_deltas=True)
        self._writer = pa.ipc.new_file(cast("IOBase", stream), schema, options=options)

    def write(self, batch: pa.RecordBatch) -> None:
        self._writer.write_batch(batch)

    def close(self) -> None:
        self._writer.close()

    def abandon(self) -> None:
        with suppress(Exception):
            self._writer.close()


class _Column:
    """A column of a row group, encoded by a thread of the pool or by the one that made it."""

    def __init__(self, pool: ThreadPoolExecutor, schema: pa.Schema, column: pa.Table) -> None:
        self.size = column.nbytes
        self._schema = schema
        self._rows: pa.Table | None = column
        self.future = pool.submit(self._encode)

    def _encode(self) -> memoryview:
        rows, self._rows = self._rows, None  # no longer in memory than it takes
        return _encoded(self._schema, rows)

    @property
    def waits(self) -> bool:
        """Whether no thread has begun."""
        return not (self.future.running() or self.future.done())

    def help(self) -> None:
        """Encodes it here, unless a thread of the pool has begun."""
        if self.future.cancel():
            self._encoded = self._encode()

    def result(self) -> memoryview:
        return self._encoded if self.future.cancelled() else self.future.result()


def _columns(pool: ThreadPoolExecutor, schema: pa.Schema, group: pa.Table) -> list[_Column]:
    """Those of a row group, of which the largest are encoded first: a long one that began last would be encoded alone."""
    columns = [group.select([place]) for place in range(group.num_columns)]
    begun = {
        place: _Column(pool, pa.schema([schema.field(place)]), columns[place])
        for place in sorted(range(len(columns)), key=lambda place: -columns[place].nbytes)
    }
    return [begun[place] for place in range(len(columns))]


class _Parquet:
    """A Parquet file, compressed with zstd; with a `pool`, its columns are encoded side by side."""

    def __init__(
        self, stream: BinaryIO, schema: pa.Schema, pool: ThreadPoolExecutor | None, helpers: int
    ) -> None:
        from pyarrow.parquet import ParquetWriter

        self._schema = schema
        self._pool = pool
        self._helpers = helpers
        self._held: list[pa.RecordBatch] = []
        self._rows = self._bytes = 0
        self._share = _FIRST_SHARE
        self._encoding: deque[list[_Column]] = deque()
        if pool is None:
            self._writer = ParquetWriter(stream, schema, **parquet_options(schema))
        else:
            self._groups = RowGroups(stream, _encoded(schema))

    def write(self, batch: pa.RecordBatch) -> None:
        rows, size = self._rows + batch.num_rows, self._bytes + batch.nbytes
        if self._held and (self._share * rows > _GROUP_ROWS or self._share * size > _GROUP_BYTES):
            self._end_group()
        self._held.append(batch)
        self._rows += batch.num_rows
        self._bytes += batch.nbytes

    def _end_group(self) -> None:
        """Encodes the collected rows as a row group, after the ones before."""
        group = pa.Table.from_batches(self._held).unify_dictionaries()
        self._held, self._rows, self._bytes, self._share = [], 0, 0, 1
        if self._pool is None:
            self._writer.write_table(group, row_group_size=max(group.num_rows, 1))
            return
        self._encoding.append(_columns(self._pool, self._schema, group))
        size = group.nbytes
        del group  # each column is freed once it is encoded
        self._help(self._helpers * size)
        while self._encoding and all(column.future.done() for column in self._encoding[0]):
            self._write_group()

    def _help(self, leave: int) -> None:
        """Encodes columns that wait until as many bytes are left: what the pool needs while the next group is made."""
        waiting = [column for group in self._encoding for column in group if column.waits]
        bytes_left = sum(column.size for column in waiting)
        for column in waiting:
            if bytes_left <= leave:
                return
            column.help()
            bytes_left -= column.size

    def _write_group(self) -> None:
        self._groups.add([column.result() for column in self._encoding.popleft()])

    def close(self) -> None:
        if self._held:
            self._end_group()
        if self._pool is None:
            self._writer.close()
            return
        self._help(0)
        while self._encoding:
            self._write_group()
        self._groups.close()

    def abandon(self) -> None:
        if self._pool is not None:
            wait(column.future for column in chain.from_iterable(self._encoding))
            return
        with suppress(Exception):
            self._writer.close()
        self._writer.is_open = False  # or it would try again, and complain, when it is collected


def _encoded(schema: pa.Schema, group: pa.Table | None = None) -> memoryview:
    """A Parquet file, with one row group if there is one."""
    from pyarrow.parquet import ParquetWriter

    sink = pa.BufferOutputStream()
    with ParquetWriter(sink, schema, **parquet_options(schema)) as writer:
        if group is not None:
            writer.write_table(group, row_group_size=max(group.num_rows, 1))
    return memoryview(sink.getvalue()).cast("B")


def _writer(
    stream: BinaryIO, fmt: Format, schema: pa.Schema, pool: ThreadPoolExecutor | None, threads: int
) -> _Writer:
    if fmt == "parquet":
        return _Parquet(stream, schema, pool, threads - 1)
    if fmt == "arrow":
        return _Arrow(stream, schema)
    return _Text(stream, fmt, schema)


def _check_format(fmt: str, formats: tuple[Format, ...]) -> Format:
    for known in formats:
        if fmt == known:
            return known
    raise UsageError(f"unknown format {fmt!r}; there are {', '.join(formats)}")


def _check_directory(directory: Path, source: Path | None) -> None:
    """Raises UsageError if `directory` is in the store that `source` is read from."""
    if source is None:
        return
    target = directory.resolve()
    for kept in protected_directories(source):
        if target.is_relative_to(kept):
            raise UsageError(f"{directory}: inside the store that is read, {kept}; choose another directory")


def decoding_threads(fmt: str, threads: int) -> int:
    """Of `threads` in all, the number to give `decode` whose batches `write` writes.

    For Parquet one less, at least one: the others encode. More threads than cores would take turns.
    """
    return max(threads - 1, 1) if fmt == "parquet" else threads


def write(
    batches: Iterable[tuple[str, pa.RecordBatch]],
    directory: Path | str,
    fmt: str,
    *,
    source: Path | str | None = None,
    threads: int = 1,
) -> dict[str, Path]:
    """Writes each table to `directory/TABLE.FORMAT`, under a temporary name until all are whole.

    Args:
        batches: as `decode` returns them.
        directory: created if it is missing; files of these names in it are replaced.
        fmt: one of `FORMATS`.
        source: path from which the batches are read; writing into that store is refused.
        threads: number of threads that encode the columns of a Parquet file, this one among them: it decodes the
            next row groups meanwhile. `decode` gets `decoding_threads` of them.

    Returns:
        The files by table, in the order of the tables.

    Raises:
        UsageError: an unknown format, or a directory in the store that is read.
        OSError: a file cannot be written; then this call leaves no file behind.
    """
    directory = Path(directory)
    form = _check_format(fmt, FORMATS)
    _check_directory(directory, None if source is None else Path(source))
    directory.mkdir(parents=True, exist_ok=True)
    parts: dict[str, Path] = {}
    try:
        with ExitStack() as stack:
            parallel = threads > 1 and form == "parquet"
            pool = stack.enter_context(ThreadPoolExecutor(threads - 1)) if parallel else None
            writers: dict[str, _Writer] = {}
            for table, batch in batches:
                if table not in writers:
                    part = directory / f".{table}.{form}.{os.getpid()}.part"
                    parts[table] = part
                    stream = stack.enter_context(part.open("wb"))
                    writers[table] = _writer(stream, form, batch.schema, pool, threads)
                    stack.callback(writers[table].abandon)
                writers[table].write(batch)
            for writer in writers.values():
                writer.close()
        files = {table: directory / f"{table}.{form}" for table in parts}
        for table, part in parts.items():
            part.replace(files[table])
    except BaseException:
        for part in parts.values():
            part.unlink(missing_ok=True)
        raise
    return files


def write_stream(
    batches: Iterable[tuple[str, pa.RecordBatch]], stream: BinaryIO, fmt: str, *, name_tables: bool = False
) -> None:
    """Writes JSON Lines or CSV to `stream` as the batches come.

    Args:
        batches: as `decode` returns them; of one table if `fmt` is csv.
        stream: of bytes.
        fmt: "jsonl" or "csv".
        name_tables: begins each JSON object with `"table"`.

    Raises:
        UsageError: another format, or a second table in CSV.
    """
    form = _check_format(fmt, FORMATS[:2])
    writers: dict[str, _Text] = {}
    for table, batch in batches:
        if table not in writers:
            if form == "csv" and writers:
                raise UsageError(f"csv contains one table, found {next(iter(writers))} and {table}; name one")
            writers[table] = _Text(stream, form, batch.schema, table if name_tables else None)
        writers[table].write(batch)
        stream.flush()
