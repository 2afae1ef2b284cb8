"""Arrow arrays made from NumPy arrays and byte strings, and the schemas of the tables."""

from rocket_columnar.arrow.arrays import (
    Array,
    Columns,
    batch,
    binaries,
    booleans,
    constant,
    dictionary,
    empty,
    gathered,
    integers,
    map_of,
    maps,
    strings,
    taken,
    texts,
    values,
)
from rocket_columnar.arrow.schemas import SCHEMAS, plain_schema
from rocket_columnar.arrow.timestamps import UTC_MS, in_utc, is_time, utc_times

__all__ = [
    "SCHEMAS",
    "UTC_MS",
    "Array",
    "Columns",
    "batch",
    "binaries",
    "booleans",
    "constant",
    "dictionary",
    "empty",
    "gathered",
    "in_utc",
    "integers",
    "is_time",
    "map_of",
    "maps",
    "plain_schema",
    "strings",
    "taken",
    "texts",
    "utc_times",
    "values",
]
