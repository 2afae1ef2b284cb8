"""Reading stores: options, parts, and the rows of each part."""

from rocket_spark.reading.decoding import Problem, decoded
from rocket_spark.reading.found import FoundStore, found_stores, plan_parts
from rocket_spark.reading.options import (
    OFFSET_OPTIONS,
    STREAM_OPTIONS,
    Request,
    flag,
    geometry_option,
    is_ignored,
    path_option,
    positive,
    request,
)
from rocket_spark.reading.parts import Cut, FilePart, grouped, store_parts
from rocket_spark.reading.queue_tail import QueueTail
from rocket_spark.reading.rows import RowsPartition, part_rows
from rocket_spark.reading.tails import Offsets, StoreTails, offsets_option
