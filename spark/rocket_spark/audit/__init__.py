"""Auditing stores on Spark: by ranges of the log, and again by joins."""

from rocket_spark.audit.cross_check import CODES, CrossCheck
from rocket_spark.audit.range_audit import audit_stores, cross_check_stores

__all__ = ["CODES", "CrossCheck", "audit_stores", "cross_check_stores"]
