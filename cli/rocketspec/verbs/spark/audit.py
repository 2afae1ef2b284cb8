"""The verb `spark audit`."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING, Any

import typer
from rocket_spec.errors import UsageError

from rocketspec import _options as option
from rocketspec._terminal import note, say
from rocketspec.verbs.spark import job_options as jobs

if TYPE_CHECKING:
    from rocket_columnar.findings import Finding
    from rocket_columnar.store import Sign
    from rocket_spark.tasks import Failures


def audit(
    stores: jobs.Stores = None,
    *,
    quick: option.QuickLevel = False,
    deep: option.DeepLevel = False,
    restart: option.RestartOnly = False,
    master: jobs.Master = None,
    remote: jobs.Remote = None,
    conf: jobs.Conf = None,
    storage: jobs.Storage = None,
    commitlog: jobs.CommitLogs = None,
    broker_conf: jobs.BrokerConfs = None,
    geometry: option.GeometryText = None,
    rocketmq_profile: option.StoreRelease = None,
    fail_fast: jobs.FailFast = False,
    as_json: option.JsonLines = False,
) -> None:
    """Cross-check index files, consume queues, commit logs and checkpoints of stores, on Spark.

    The findings are those of `rocketspec audit`. With several stores, each finding names its store.

    With --restart, nothing is audited: each store is summed up, and --json lists every file, unit and key.

    Example: `rocketspec spark audit ~/store --master 'local[4]'`
    """
    level = option.audit_level(quick=quick, deep=deep)
    if restart and (quick or deep):
        raise UsageError("--restart cannot be combined with --quick or --deep")
    if rocketmq_profile is not None and not restart:
        raise UsageError(
            "--rocketmq-profile is only used with --restart: an audit on Spark goes by the stores' bytes"
        )
    named, failed, options = jobs.store_job(stores, commitlog, broker_conf, storage, geometry)
    if fail_fast:
        options["failed"] = None
    from rocket_columnar.store import later_line
    from rocket_spark import audit_stores, restart_stores

    from rocketspec.verbs.audit import summary

    signs: dict[str, tuple[Sign, ...]] = {}
    if restart:
        with jobs.spark_session(master, remote, conf) as (spark, report):
            predicted = restart_stores(spark, named, release=rocketmq_profile, progress=report, **options)
        _print_restarts(predicted, str(named[0].path), failed, as_json=as_json)
        return
    with jobs.spark_session(master, remote, conf) as (spark, report):
        found = list(audit_stores(spark, named, level, signs=signs, progress=report, **options))
    for store, known in signs.items():
        note(f"{store or 'the store'}: {later_line(known)}")
    counts = _print_audited(found, signs, as_json=as_json)
    jobs.report_failed(failed, as_json=as_json)
    if not as_json:
        typer.echo(f"{option.counted(len(named) - len(failed), 'store')} audited: {summary(counts)}")
    if failed or counts["error"] or counts["warning"]:
        raise typer.Exit(option.FINDINGS)


def _print_restarts(
    predicted: dict[str, list[dict[str, Any]]], path: str, failed: Failures, *, as_json: bool
) -> None:
    """Prints what a start would do to each store; exits with 1 if it would delete or lose anything."""
    loses = False
    for store, rows in predicted.items():
        (*parts, whole) = rows
        deletions = [row for row in parts if "action" in row]
        loses |= bool(parts or "running" in whole or whole["refused"])
        if as_json:
            for row in rows:
                option.write_json({"store": store or path, **row})
            continue
        if "running" in whole:
            say(f"{store or path}: a broker is running ({whole['running']}); nothing is predicted")
            continue
        lost = [
            option.counted(whole[f"lost_{name}s"], name) for name in ("unit", "key") if whole[f"lost_{name}s"]
        ]
        told = f"refuses to start: {whole['refused']}" if whole["refused"] else ""
        changes = f"{option.counted(len(deletions), 'file')} deleted or truncated" if deletions else ""
        losses = f"{' and '.join(lost)} lost" if lost else ""
        say(f"{store or path}: {'; '.join(filter(None, (told, changes, losses))) or 'a start loses nothing'}")
        for row in deletions:
            place = row["file"] if row["offset"] is None else f"{row['file']} from byte {row['offset']:,}"
            say(f"  {row['action']} {place}: {row['reason']}")
    jobs.report_failed(failed, as_json=as_json)
    if loses or failed:
        raise typer.Exit(option.FINDINGS)


def _print_audited(
    found: list[tuple[str, Finding]], signs: dict[str, tuple[Sign, ...]], *, as_json: bool
) -> Counter[str]:
    """Prints findings as `audit` does; of several stores each with its name."""
    from rocket_columnar.report import Facts, Shell, report_on

    from rocketspec.verbs.audit import print_causes

    counts: Counter[str] = Counter()
    for store, group in groupby(found, key=lambda pair: pair[0]):
        mine = [finding for _, finding in group]
        if store and not as_json:
            say(f"{store}:")
        found_in = report_on(mine, Shell(store or "STORE"), Facts, signs.get(store, ()))
        extra = {"store": store} if store else {}
        counts += print_causes(found_in, as_json=as_json, most=None, **extra)
    return counts
