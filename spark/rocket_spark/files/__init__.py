"""Files wherever they lie: local paths, S3-compatible stores and HDFS, listed and read by ranges."""

from rocket_spark.files._copy import local_copy, size_now
from rocket_spark.files._find import expand, find_files, find_roots
from rocket_spark.files._storage import FileInfo, Storage, check_settings, storage_for

__all__ = [
    "FileInfo",
    "Storage",
    "check_settings",
    "expand",
    "find_files",
    "find_roots",
    "local_copy",
    "size_now",
    "storage_for",
]
