"""Files wherever they are: local paths, S3-compatible stores and HDFS, listed and read by ranges."""

from rocket_spark.files.copies import disk_bytes, local_copy, range_source, size_now
from rocket_spark.files.finding import COMMITLOG, commit_logs, expand, find_files, find_roots
from rocket_spark.files.opening import check_settings, storage_for
from rocket_spark.files.storage import FileInfo, LocalStorage, Storage, is_remote, stripped
