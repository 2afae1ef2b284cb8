"""Auditing stores on Spark: each in one task, by the engine's own function."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Unpack

from rocket_columnar.audit import Level
from rocket_columnar.facts import Store
from rocket_columnar.report import Report, Shell, audit, report_on

from rocket_spark.files import is_remote
from rocket_spark.near import near
from rocket_spark.stores import JobOptions, JobStores, StorePath, StoreTask
from rocket_spark.tasks import Progress, silent

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def audit_stores(
    spark: SparkSession,
    stores: StorePath | Sequence[StorePath],
    level: Level = "default",
    *,
    release: str | None = None,
    progress: Progress = silent,
    **options: Unpack[JobOptions],
) -> dict[str, Report]:
    """Findings of stores: the report of `rocket_columnar.report.audit` on each, by name.

    Args:
        spark: the session that runs the tasks; they see `stores` under the same paths as the driver.
        stores: the directories of one store or several; see `StorePath`. One on S3 or HDFS is copied to the worker's disk.
        level: "quick", "default" or "deep".
        release: that wrote the stores; by default as each store's bytes show.
        progress: see `rocket_spark.tasks.Progress`.
        options: see `JobOptions`.

    Raises:
        UsageError: no store, or a geometry that does not fit.
        OSError: a store cannot be read.
        JobError: Spark gave up, or no store can be read.
    """
    return JobStores(stores, **options).each(spark, partial(audit_task, level, release), progress)


def audit_task(level: Level, release: str | None, task: StoreTask) -> Report:
    """In a task: the report on one store."""
    with near(task) as (path, folders):
        store = Store(path, geometry=task.geometry, commitlog=folders, conf=task.conf, release=release)
        report = audit(store, level, threads=1)
    if is_remote(task.path):  # without cures, whose commands name the copy
        return report_on(report.findings, Shell(task.path), None, report.signs)
    return report
