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
    grouped,
    log_parts,
    plan_partitions,
    requested_files,
)
from rocket_spark.reading.queue_tail import QueueTail
from rocket_spark.reading.rows import part_rows
from rocket_spark.reading.stores_tail import StoresTail, store_of

__all__ = [
    "LOG_BYTES",
    "STREAM_OPTIONS",
    "FilePart",
    "LogTail",
    "QueueTail",
    "Request",
    "RowsPartition",
    "StoresTail",
    "flag",
    "geometry_option",
    "grouped",
    "log_parts",
    "part_rows",
    "path_option",
    "plan_partitions",
    "positive",
    "request",
    "requested_files",
    "store_of",
]
