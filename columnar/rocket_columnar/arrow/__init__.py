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
