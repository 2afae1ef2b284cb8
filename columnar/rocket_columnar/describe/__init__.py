"""Describes stores and files: overview, one byte, index file, summary, differences, digests, disk use."""

from rocket_columnar.describe.byte_meaning import ByteMeaning, FieldValue, byte_at
from rocket_columnar.describe.configurations import ConfigDifference, compare_configurations
from rocket_columnar.describe.differences import Difference, diff
from rocket_columnar.describe.digests import FileDigest, digest, store_digest
from rocket_columnar.describe.disk_use import Space, space
from rocket_columnar.describe.file_summary import Summary, summarise
from rocket_columnar.describe.index_occupancy import Occupancy, occupancy
from rocket_columnar.describe.overview import IndexView, Overview, QueueView, look_at, queue_views
from rocket_columnar.describe.replicas import StoreDifference, compare_stores
