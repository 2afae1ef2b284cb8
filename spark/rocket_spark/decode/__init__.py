"""Decoding stores on Spark: the engine runs inside the tasks and writes Parquet there."""

from rocket_spark.decode.job import DecodeSummary, StoreStatus, TableSummary, decode_stores, run_decode
from rocket_spark.decode.options import PARTITIONS, DecodeOptions, check_options
from rocket_spark.decode.part import PartDone, run_part
from rocket_spark.decode.plan import DecodePlan, PartTask, plan_decode
