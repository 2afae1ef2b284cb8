"""Files to tables: record batches, filters, and writers."""

from rocket_columnar.decode.ext_units import ExtUnits
from rocket_columnar.decode.filters import Skip, Where
from rocket_columnar.decode.queue_rows import unit_count
from rocket_columnar.decode.record_columns import LogRows, Topics
from rocket_columnar.decode.spreadsheet import without_formulas
from rocket_columnar.decode.tables import TABLE_KINDS, decode
from rocket_columnar.decode.writers import (
    FORMATS,
    decoding_threads,
    parquet_options,
    write,
    write_stream,
    writer_takes,
)

__all__ = [
    "FORMATS",
    "TABLE_KINDS",
    "ExtUnits",
    "LogRows",
    "Skip",
    "Topics",
    "Where",
    "decode",
    "decoding_threads",
    "parquet_options",
    "unit_count",
    "without_formulas",
    "write",
    "write_stream",
    "writer_takes",
]
