"""Where jobs write: a folder that is complete or absent, on shared disks, S3 or HDFS."""

from rocket_spark.output.attempts import WHOLE, Folder, attempt, fetched
from rocket_spark.output.check import check_out
from rocket_spark.output.job_output import Output
from rocket_spark.output.manifest import earlier_manifest, task_id
