"""Where jobs write: a folder that is complete or absent, on shared disks, S3 or HDFS."""

from rocket_spark.output.far_folder import FarOutput
from rocket_spark.output.folder import (
    WHOLE,
    Folder,
    attempt,
    check_out,
    earlier_manifest,
    fetched,
    journalled_in,
    open_out,
)
from rocket_spark.output.journal import merge_finished, task_id
from rocket_spark.output.local_folder import Output
from rocket_spark.output.manifest import read_manifest

__all__ = [
    "WHOLE",
    "FarOutput",
    "Folder",
    "Output",
    "attempt",
    "check_out",
    "earlier_manifest",
    "fetched",
    "journalled_in",
    "merge_finished",
    "open_out",
    "read_manifest",
    "task_id",
]
