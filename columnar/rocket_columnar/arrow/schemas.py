"""The Arrow schemas of the tables, made from the column lists of the spec."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, Final

import pyarrow as pa
from rocket_spec.tables import TABLES

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


UTC_MS: Final = pa.timestamp("ms", "UTC")
"""The type of a time."""

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
