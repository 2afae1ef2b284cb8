"""Describes stores and files: overview, one byte, index file, summary, differences, digests, disk use."""

from rocket_columnar.describe.byte_meaning import ByteMeaning, FieldValue, byte_at
from rocket_columnar.describe.differences import (
    ConfigDifference,
    FieldDifference,
    StoreDifference,
    compare_configurations,
    compare_stores,
    diff,
)
from rocket_columnar.describe.digests import FileDigest, digest, store_digest
from rocket_columnar.describe.file_summary import Occupancy, Summary, occupancy, summarise
from rocket_columnar.describe.overview import (
    IndexView,
    Overview,
    QueueView,
    Space,
    look_at,
    queue_views,
    space,
)
