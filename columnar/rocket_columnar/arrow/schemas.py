"""The Arrow schemas of the tables, made from the column lists of the spec."""

from collections.abc import Iterable
from typing import Final

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
