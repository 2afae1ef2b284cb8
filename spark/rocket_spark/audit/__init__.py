"""Auditing stores on Spark by ranges of the log."""

from rocket_spark.audit.range_audit import audit_stores

__all__ = ["audit_stores"]
