"""Arrow arrays straight from NumPy arrays and byte strings.

`pyarrow.array` looks for pandas and loads it where it is installed, a third of a second that decoding has no use
for; building arrays from buffers doesn't, and copies nothing.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, Final, TypeAlias, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from rocket_spec.tables import TABLES

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
