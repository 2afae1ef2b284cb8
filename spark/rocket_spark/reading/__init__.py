"""Reading stores: options, parts, and the rows of each part."""

from rocket_spark.reading.options import (
    KEPT,
    OFFSET_OPTIONS,
    STREAM_OPTIONS,
    Request,
    commitlog_option,
    flag,
    geometry_option,
    given_options,
    is_catalogs,
    is_ignored,
    path_option,
    positive,
    request,
)
from rocket_spark.reading.parts import Cut, FilePart, Listed, grouped, listed_stores, plan_parts, store_parts
from rocket_spark.reading.rows import Problem, RowsPartition, decoded, part_rows
from rocket_spark.reading.tails import Offsets, QueueTail, StoreTails, offsets_option, queue_tails
