"""RocketMQ 4.9.3 store files on Spark: data sources for every table, and jobs that decode inside the tasks."""

from rocket_spark.audit import audit_stores
from rocket_spark.decode import (
    DecodeOptions,
    DecodePlan,
    DecodeSummary,
    StoreStatus,
    TableSummary,
    decode_stores,
    plan_decode,
    run_decode,
)
from rocket_spark.kafka_rows import kafka_rows
from rocket_spark.rebuild import plan_rebuilds, rebuild_stores, run_rebuild
from rocket_spark.session import SparkUnavailableError, open_session
from rocket_spark.sources import SOURCES, register
from rocket_spark.stores import Store
from rocket_spark.tasks import JobError
from rocket_spark.times_out_of_range import count_times_out_of_range

__all__ = [
    "SOURCES",
    "DecodeOptions",
    "DecodePlan",
    "DecodeSummary",
    "JobError",
    "SparkUnavailableError",
    "Store",
    "StoreStatus",
    "TableSummary",
    "audit_stores",
    "count_times_out_of_range",
    "decode_stores",
    "kafka_rows",
    "open_session",
    "plan_decode",
    "plan_rebuilds",
    "rebuild_stores",
    "register",
    "run_decode",
    "run_rebuild",
]
