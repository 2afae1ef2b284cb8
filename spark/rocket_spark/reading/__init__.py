"""Reading a store: options, partitions, and the rows of each partition."""

from rocket_spark.reading.log_tail import LogTail
from rocket_spark.reading.options import (
    STREAM_OPTIONS,
    Request,
    flag,
    geometry_option,
    path_option,
    positive,
    request,
)
from rocket_spark.reading.partitions import (
    LOG_BYTES,
    FilePart,
    RowsPartition,
    entry_count,
    grouped,
    log_parts,
    plan_partitions,
    requested_files,
)
from rocket_spark.reading.queue_tail import QueueTail
from rocket_spark.reading.rows import part_rows
