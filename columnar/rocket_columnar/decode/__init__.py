"""Files to tables: record batches, filters, and writers."""

from rocket_columnar.decode.log_rows import Skip, Where
from rocket_columnar.decode.tables import TABLE_KINDS, ExtUnits, begins, decode, overlap
from rocket_columnar.decode.unit_rows import unit_count
from rocket_columnar.decode.writers import FORMATS, ParquetFile, write, write_stream
