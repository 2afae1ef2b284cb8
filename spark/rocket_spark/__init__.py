"""RocketMQ 4.9.3 store files on Spark: data sources for every table, and jobs that decode inside the tasks."""

from rocket_spark.decode import DecodePlan, DecodeSummary, TableSummary, decode_store, plan_decode, run_plan
from rocket_spark.session import SparkUnavailableError, local_session
from rocket_spark.sources import SOURCES, register

__all__ = [
    "SOURCES",
    "DecodePlan",
    "DecodeSummary",
    "SparkUnavailableError",
    "TableSummary",
    "decode_store",
    "local_session",
    "plan_decode",
    "register",
    "run_plan",
]
