"""Arrow: arrays straight from NumPy arrays and byte strings, the schemas of the tables, and record batches to files and streams.

`pyarrow.array` looks for pandas and loads it where it is installed, a third of a second that decoding has no use
for; building arrays from buffers doesn't, and copies nothing.
"""

import json
import os
from base64 import b64encode
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from functools import cache
from inspect import signature
from io import BytesIO, IOBase
from pathlib import Path
from typing import Any, BinaryIO, Final, Literal, Protocol, TypeAlias, cast, get_args

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from rocket_spec.errors import UsageError
from rocket_spec.outputs import output_folder
from rocket_spec.tables import TABLES

from rocket_columnar.formats import clean_utf8
from rocket_columnar.store import protected_directories

Array: TypeAlias = "pa.Array[Any]"

Columns: TypeAlias = "dict[str, Array]"  # arrays by column

_INTEGERS: Final[dict[np.dtype[Any], pa.DataType]] = {
    np.dtype(np.int16): pa.int16(),
    np.dtype(np.int32): pa.int32(),
    np.dtype(np.int64): pa.int64(),
}


def _buffer(data: NDArray[Any] | bytes) -> pa.Buffer:
    return pa.py_buffer(data)  # type: ignore[arg-type]  # the stubs do not know that arrays are buffers


def integers(values: NDArray[Any], valid: NDArray[np.bool_] | None = None) -> Array:
    """A native int16, int32 or int64 array, not copied; null if `valid` is false."""
    values = np.ascontiguousarray(values)
    mask = None if valid is None or valid.all() else _buffer(np.packbits(valid, bitorder="little"))
    return pa.Array.from_buffers(_INTEGERS[values.dtype], values.size, [mask, _buffer(values)])


def booleans(values: NDArray[np.bool_]) -> Array:
    """A bool array of NumPy's, bit-packed."""
    return pa.Array.from_buffers(
        pa.bool_(), values.size, [None, _buffer(np.packbits(values, bitorder="little"))]
    )


def _offsets(lengths: Iterable[int], count: int) -> NDArray[np.int32]:
    offsets = np.zeros(count + 1, np.int32)
    np.cumsum(np.fromiter(lengths, np.int32, count), out=offsets[1:])
    return offsets


def binaries(values: Sequence[bytes | memoryview]) -> Array:
    """Byte strings, together less than 2 GiB, joined into one buffer."""
    offsets = _offsets(map(len, values), len(values))
    return pa.Array.from_buffers(
        pa.binary(), len(values), [None, _buffer(offsets), _buffer(b"".join(values))]
    )


def texts(values: Sequence[bytes | None]) -> Array:
    """Texts from their UTF-8, null for None; together less than 2 GiB."""
    mask = None
    if None in values:
        valid = np.fromiter((value is not None for value in values), np.bool_, len(values))
        mask = _buffer(np.packbits(valid, bitorder="little"))
        values = [value or b"" for value in values]
    known = cast("Sequence[bytes]", values)
    offsets = _offsets(map(len, known), len(known))
    return pa.Array.from_buffers(pa.string(), len(known), [mask, _buffer(offsets), _buffer(b"".join(known))])


def strings(values: Sequence[str | None]) -> Array:
    """Texts, null for None; together less than 2 GiB of UTF-8."""
    return texts([None if value is None else value.encode() for value in values])


def gathered(
    offsets: NDArray[np.int32],
    data: NDArray[np.uint8],
    *,
    valid: NDArray[np.bool_] | None = None,
    text: bool = False,
) -> Array:
    """Byte strings, or texts, from their bytes in a row and where each begins; nothing is copied."""
    mask = None if valid is None or valid.all() else _buffer(np.packbits(valid, bitorder="little"))
    kind = pa.string() if text else pa.binary()
    return pa.Array.from_buffers(kind, len(offsets) - 1, [mask, _buffer(offsets), _buffer(data)])


def taken(values: Array, indices: NDArray[np.int32]) -> Array:
    """The value of each index."""
    whole: Array = values.take(integers(indices))
    return whole


def dictionary(indices: NDArray[np.int32], values: Array) -> Array:
    """Strings by their number in `values`; null if the number is negative."""
    return pa.DictionaryArray.from_arrays(integers(indices, indices >= 0), values)


def constant(values: Array, index: int, count: int) -> Array:
    """`count` times the string number `index` of `values`, or null if `index` is negative."""
    return dictionary(np.full(count, index, np.int32), values)


class Topics:
    """The dictionary of topics. It grows during a decode, so each batch's dictionary extends the one before."""

    def __init__(self) -> None:
        self._by_name: dict[bytes, int] = {}
        self._new: list[bytes] = []
        self._array = texts([])

    def number(self, raw: bytes) -> int:
        """The number of a topic's bytes; different malformed bytes can be one name."""
        name = clean_utf8(raw)
        number = self._by_name.setdefault(name, len(self._by_name))
        if number == len(self._array) + len(self._new):
            self._new.append(name)
        return number

    def array(self) -> Array:
        """All names so far."""
        if self._new:
            self._array = pa.concat_arrays([self._array, texts(self._new)])
            self._new = []
        return self._array


def map_of(counts: NDArray[np.int32], keys: Array, items: Array) -> Array:
    """Maps of `counts` pairs each, taken from `keys` and `items` in turn."""
    offsets = np.zeros(len(counts) + 1, np.int32)
    np.cumsum(counts, out=offsets[1:])
    pairs: Array = pa.MapArray.from_arrays(integers(offsets), keys, items)  # type: ignore[call-overload]
    return pairs


def batch(schema: pa.Schema, columns: dict[str, Array]) -> pa.RecordBatch:
    """A record batch of `schema` from arrays by name; other arrays are ignored."""
    return pa.RecordBatch.from_arrays([columns[name] for name in schema.names], schema=schema)


def empty(schema: pa.Schema) -> pa.RecordBatch:
    """A record batch of `schema` without rows."""
    return batch(schema, {field.name: pa.nulls(0, field.type) for field in schema})


def values(array: Any) -> NDArray[Any]:
    """A primitive Arrow array without nulls as NumPy's, not copied where the types allow it."""
    kind = array.type.to_pandas_dtype()
    buffer = array.buffers()[1]
    if buffer is None:
        return np.zeros(len(array), kind)
    return np.frombuffer(buffer, kind, len(array), array.offset * np.dtype(kind).itemsize)


# The Arrow schemas of the tables, made from the column lists of the spec.


_TYPES: Final[dict[str, pa.DataType]] = {
    "string": pa.string(),
    "int16": pa.int16(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "bool": pa.bool_(),
    "binary": pa.binary(),
    "map": pa.map_(pa.string(), pa.string()),
}
_DICTIONARY: Final = pa.dictionary(pa.int32(), pa.string())
_REPEATED: Final = frozenset({"file", "topic"})


def _schema(columns: Iterable[tuple[str, str]]) -> pa.Schema:
    return pa.schema([(name, _DICTIONARY if name in _REPEATED else _TYPES[kind]) for name, kind in columns])


SCHEMAS: Final[dict[str, pa.Schema]] = {name: _schema(columns) for name, columns in TABLES.items()}
"""Schema of each table as the engine gives it: `file` and `topic` are dictionaries of strings."""


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """`schema` with plain strings where the engine has dictionaries, as for Spark."""
    return pa.schema(
        [(field.name, pa.string() if pa.types.is_dictionary(field.type) else field.type) for field in schema]
    )


UTC_MS: Final = pa.timestamp("ms", "UTC")  # the type of a time

_LEAST: Final = int(datetime(1, 1, 1, tzinfo=UTC).timestamp() * 1000)
_MOST: Final = int(datetime(9999, 12, 31, 23, 59, 59, 999_000, tzinfo=UTC).timestamp() * 1000)


def is_time(name: str) -> bool:
    """Whether a column of a table holds times."""
    return name.endswith("_timestamp")


def utc_times(array: Any) -> tuple[Any, int]:
    """Milliseconds as timestamps, and how many became null because they are outside the years 1 to 9999."""
    import pyarrow.compute as pc

    compared: Any = pc
    fits = compared.and_(compared.greater_equal(array, _LEAST), compared.less_equal(array, _MOST))
    kept = pc.if_else(fits, array, pa.scalar(None, pa.int64()))
    return kept.cast(UTC_MS), kept.null_count - array.null_count


def in_utc(batch: pa.RecordBatch) -> tuple[pa.RecordBatch, int]:
    """A batch with its times as timestamps, and how many became null; see `utc_times`."""
    nulled = 0
    for place, field in enumerate(batch.schema):
        if is_time(field.name) and field.type == pa.int64():
            times, lost = utc_times(batch.column(place))
            batch = batch.set_column(place, pa.field(field.name, UTC_MS), times)
            nulled += lost
    return batch, nulled


# Record batches to lines of JSON or CSV, column by column.
#
# Numbers become text in Arrow, strings of a dictionary are escaped once each; Python checks single values only
# where they are free text, bytes or maps.


FEW_ROWS = 1 << 12  # rows


def _json(value: object) -> str:
    return "null" if value is None else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _base64(value: bytes | None) -> str | None:
    return None if value is None else b64encode(value).decode("ascii")


def _json_strings(values: list[Any]) -> Array:
    return strings([_json(value) for value in values])


def _as_json(array: Array) -> Array:
    """The JSON text of each value; `null` for null."""
    import pyarrow.compute as pc

    kind: Any = array.type
    if pa.types.is_dictionary(kind):
        texts: Array = pc.take(_json_strings(array.dictionary.to_pylist()), array.indices)  # type: ignore[attr-defined]
    elif pa.types.is_string(kind):
        return _json_strings(array.to_pylist())
    elif pa.types.is_binary(kind):
        return _json_strings([_base64(value) for value in array.to_pylist()])
    elif pa.types.is_map(kind):
        return _json_strings([None if value is None else dict(value) for value in array.to_pylist()])
    elif pa.types.is_timestamp(kind):
        texts = pc.binary_join_element_wise(strings(['"'])[0], _iso(array), strings(['"'])[0], "")
    else:
        texts = array.cast(pa.string())
    return pc.fill_null(texts, strings(["null"])[0]) if texts.null_count else texts


def _iso(array: Array) -> Array:
    """Times as ISO 8601, such as `2026-01-31T12:00:00.000Z`."""
    import pyarrow.compute as pc

    texts: Array = pc.replace_substring(array.cast(pa.string()), " ", "T")
    return texts


def jsonl_bytes(batch: pa.RecordBatch, table: str | None) -> bytes:
    """One JSON object per line, UTF-8; with `table` each begins with `"table"`. Bytes are base64, maps objects."""
    if not batch.num_rows:
        return b""
    if batch.num_rows <= FEW_ROWS:
        return _few_lines(batch, table)
    import pyarrow.compute as pc

    start = "{" if table is None else f'{{"table":{_json(table)},'
    between = [f"{_json(name)}:" for name in batch.schema.names]
    literals = strings([start + between[0], *("," + text for text in between[1:]), "}\n", ""])
    parts: list[Any] = []
    for literal, column in zip(literals, batch.columns, strict=False):
        parts += [literal, _as_json(column)]
    lines = pc.binary_join_element_wise(*parts, literals[-2], literals[-1])
    offsets, data = lines.buffers()[1:]
    first, *_, last = memoryview(offsets).cast("i")[lines.offset : lines.offset + len(lines) + 1]
    return bytes(memoryview(data)[first:last])


def _few_lines(batch: pa.RecordBatch, table: str | None) -> bytes:
    """The same without Arrow's functions, which take longer to load than a few rows take to format."""
    columns = []
    for array in batch.columns:
        values = (_iso(array) if pa.types.is_timestamp(array.type) else array).to_pylist()
        if pa.types.is_binary(array.type):
            values = [_base64(value) for value in values]
        elif pa.types.is_map(array.type):
            values = [None if value is None else dict(value) for value in values]
        columns.append(values)
    first = {} if table is None else {"table": table}
    names = batch.schema.names
    lines = [_json(first | dict(zip(names, row, strict=True))) for row in zip(*columns, strict=True)]
    return ("\n".join(lines) + "\n").encode()


def csv_bytes(batch: pa.RecordBatch) -> bytes:
    """The rows as CSV, UTF-8: text in quotes, null empty and without quotes, bytes base64, maps JSON."""
    import pyarrow.csv as arrow_csv

    columns = []
    for array in batch.columns:
        if pa.types.is_binary(array.type):
            columns.append(strings([_base64(value) for value in array.to_pylist()]))
        elif pa.types.is_map(array.type):
            columns.append(
                _json_strings([None if value is None else dict(value) for value in array.to_pylist()])
            )
        elif pa.types.is_timestamp(array.type):
            columns.append(_iso(array))
        else:
            columns.append(array.cast(pa.string()) if pa.types.is_dictionary(array.type) else array)
    sink = BytesIO()
    rows = pa.RecordBatch.from_arrays(columns, names=batch.schema.names)
    arrow_csv.write_csv(rows, sink, arrow_csv.WriteOptions(include_header=False))
    return sink.getvalue()


Format = Literal["jsonl", "csv", "parquet", "arrow"]

FORMATS: Final[tuple[Format, ...]] = get_args(Format)
"""The formats of `write`; `write_stream` has the first two of them."""

GROUP_ROWS: Final = 1 << 20
"""Maximum number of rows in a Parquet row group: readers skip and distribute whole groups."""

GROUP_BYTES: Final = 128 << 20  # maximum size of a row group in memory

_PAGE_ROWS: Final = 1 << 17
"""Maximum number of rows in a page, beside pyarrow's limit of 1 MiB: with its default of 20,000 the compressor starts anew too often."""

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
    """Arguments of pyarrow's `ParquetWriter` for a table; the encodings were chosen by measurement (docs/architecture.md)."""
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
            stream.write((",".join(schema.names) + "\n").encode())

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
        writer = pa.ipc.new_file(cast("IOBase", stream), schema, options=options)
        self.write, self.close = writer.write_batch, writer.close

    def abandon(self) -> None:
        with suppress(Exception):
            self.close()


class ParquetFile:
    """A Parquet file, compressed with zstd; batches are held until they fill a row group."""

    def __init__(
        self,
        sink: BinaryIO | Path,
        schema: pa.Schema,
        *,
        group_rows: int | None = None,
        bloom: Sequence[str] = (),
        **options: Any,
    ) -> None:
        """Takes a stream or a path, and the schema of the batches.

        A row group has at most `group_rows` rows, by default `GROUP_ROWS`; columns of `bloom` get a bloom filter if pyarrow can write one.
        Other options are those of `pyarrow.parquet.ParquetWriter`.
        """
        self._sink = sink
        self._schema = schema
        self._group_rows = group_rows or GROUP_ROWS
        self._bloom = bloom if writer_takes("bloom_filter_options") else ()
        self._options = options
        self._writer: Any = None
        self._held: list[pa.RecordBatch] = []
        self._rows = self._bytes = 0

    def write(self, batch: pa.RecordBatch) -> None:
        """Holds a batch until a row group is full."""
        rows, size = self._rows + batch.num_rows, self._bytes + batch.nbytes
        if self._held and (rows > self._group_rows or size > GROUP_BYTES):
            self._end_group()
        self._held.append(batch)
        self._rows += batch.num_rows
        self._bytes += batch.nbytes

    def _end_group(self) -> None:
        """Writes the collected rows as a row group."""
        if self._writer is None:
            self._writer = self._opened()
        if self._rows:
            group = pa.Table.from_batches(self._held).unify_dictionaries()
            self._writer.write_table(group, row_group_size=self._rows)
        self._held, self._rows, self._bytes = [], 0, 0

    def _opened(self) -> Any:
        """Opened with the first row group, whose size the bloom filters take."""
        from pyarrow.parquet import ParquetWriter

        options = {**parquet_options(self._schema), **self._options}
        if self._bloom:
            size = {"ndv": max(self._rows, 1), "fpp": 0.01}
            options["bloom_filter_options"] = dict.fromkeys(self._bloom, size)
        return ParquetWriter(self._sink, self._schema, **options)

    def close(self) -> None:
        """Writes what is held, and the footer."""
        if self._writer is None:
            self._writer = self._opened()
        self._end_group()
        self._writer.close()

    def abandon(self) -> None:
        """Closes a file that stays incomplete, ignoring errors."""
        with suppress(Exception):
            self._writer.close()


def _writer(stream: BinaryIO, fmt: Format, schema: pa.Schema) -> _Writer:
    if fmt == "parquet":
        return ParquetFile(stream, schema)
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
    target = Path(os.path.realpath(directory))  # of a loop of links too
    for kept in protected_directories(source):
        if target.is_relative_to(kept):
            raise UsageError(f"{directory}: inside the store that is read, {kept}; choose another directory")


def write(
    batches: Iterable[tuple[str, pa.RecordBatch]],
    directory: Path | str,
    fmt: str,
    *,
    source: Path | str | None = None,
) -> dict[str, Path]:
    """Writes each table to `directory/TABLE.FORMAT`, under a temporary name until all are whole; returns the files, in the tables' order.

    The directory is created if it is missing; files of these names in it are replaced. UsageError for a format not in `FORMATS`, or a
    directory in the store that is read, at `source`. OSError if a file cannot be written; then this call leaves none behind.
    """
    directory = Path(directory)
    form = _check_format(fmt, FORMATS)
    _check_directory(directory, None if source is None else Path(source))
    parts: dict[str, Path] = {}
    with output_folder(directory):
        try:
            with ExitStack() as stack:
                writers: dict[str, _Writer] = {}
                for table, batch in batches:
                    if table not in writers:
                        part = directory / f".{table}.{form}.{os.getpid()}.part"
                        parts[table] = part
                        stream = stack.enter_context(part.open("wb"))
                        writers[table] = _writer(stream, form, batch.schema)
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
    """Writes JSON Lines ("jsonl") or CSV to `stream` as the batches come, as `decode` returns them.

    `name_tables` begins each JSON object with `"table"`. UsageError for another format, or a second table in CSV.
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
