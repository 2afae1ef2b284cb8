"""Files wherever they are: local paths, S3-compatible stores and HDFS, listed and read by ranges."""

from rocket_spark.files.finding import expand, find_files, find_roots, is_glob, is_store
from rocket_spark.files.storage import (
    FileInfo,
    Storage,
    check_settings,
    disk_bytes,
    is_remote,
    local_copy,
    range_source,
    storage_for,
    stripped,
)
