"""Decoding stores on Spark: the engine runs inside the tasks and writes Parquet there."""

from rocket_spark.decode.job import (
    DecodePlan,
    DecodeSummary,
    PartTask,
    TableSummary,
    decode_stores,
    plan_decode,
    run_decode,
    run_part,
)

__all__ = [
    "DecodePlan",
    "DecodeSummary",
    "PartTask",
    "TableSummary",
    "decode_stores",
    "plan_decode",
    "run_decode",
    "run_part",
]
