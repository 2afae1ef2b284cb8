"""Files to tables: record batches, filters, and writers."""

from rocket_columnar.decode.arrow import (
    FORMATS,
    SCHEMAS,
    UTC_MS,
    ParquetFile,
    in_utc,
    is_time,
    plain_schema,
    utc_times,
    values,
    write,
    write_stream,
)
from rocket_columnar.decode.rows import ExtUnits, Skip, Where, unit_count
from rocket_columnar.decode.tables import TABLE_KINDS, begins, decode, overlap
