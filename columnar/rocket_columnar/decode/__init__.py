"""Files to tables: record batches, filters, and writers."""

from rocket_columnar.decode.ext_units import ExtUnits
from rocket_columnar.decode.filters import Skip, Where
from rocket_columnar.decode.queue_rows import unit_count
from rocket_columnar.decode.table_decoder import TABLE_KINDS
from rocket_columnar.decode.tables import decode
from rocket_columnar.decode.writers import (
    FORMATS,
    parquet_options,
    write,
    write_stream,
    writer_takes,
)
