"""RocketMQ 4.9.3 store files on Spark: data sources for every table, and jobs that decode inside the tasks."""

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
from rocket_spark.fleet import Asked, audit_stores, differing, digest_stores, query_stores, restart_stores
from rocket_spark.increment import Increment, follow_stores
from rocket_spark.rebuild import plan_rebuilds, rebuild_stores, run_rebuild
from rocket_spark.schema import count_times_out_of_range, kafka_rows
from rocket_spark.session import SparkUnavailableError, open_context, open_session
from rocket_spark.sources import SOURCES, register
from rocket_spark.stores import FoundStore, JobStore, find_places
from rocket_spark.tasks import JobError

__all__ = [
    "SOURCES",
    "Asked",
    "DecodeOptions",
    "DecodePlan",
    "DecodeSummary",
    "FoundStore",
    "Increment",
    "JobError",
    "JobStore",
    "SparkUnavailableError",
    "StoreStatus",
    "TableSummary",
    "audit_stores",
    "count_times_out_of_range",
    "decode_stores",
    "differing",
    "digest_stores",
    "find_places",
    "follow_stores",
    "kafka_rows",
    "open_context",
    "open_session",
    "plan_decode",
    "plan_rebuilds",
    "query_stores",
    "rebuild_stores",
    "register",
    "restart_stores",
    "run_decode",
    "run_rebuild",
]
