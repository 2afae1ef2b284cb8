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
    strings,
    taken,
    texts,
    values,
)
from rocket_columnar.arrow.schemas import SCHEMAS, UTC_MS, in_utc, is_time, plain_schema, utc_times
