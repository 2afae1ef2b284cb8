"""Where jobs write: a folder that is complete or absent, on shared disks, S3 or HDFS."""

from rocket_spark.output.folder import WHOLE, Folder, attempt, check_out, fetched, open_out
from rocket_spark.output.local_folder import Output
from rocket_spark.output.manifest import read_manifest

__all__ = ["WHOLE", "Folder", "Output", "attempt", "check_out", "fetched", "open_out", "read_manifest"]
