"""The verb `spark audit`."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rocket_spec.errors import UsageError

from rocketspec import _options as option
from rocketspec._terminal import note, say
from rocketspec.verbs.spark import job_options as jobs

if TYPE_CHECKING:
    from rocket_columnar.audit import Level
    from rocket_columnar.findings import Finding
    from rocket_columnar.store import Sign
    from rocket_spark.tasks import Failures

__all__ = ["audit"]


def audit(
    stores: jobs.Stores = None,
    *,
    quick: option.QuickLevel = False,
    deep: option.DeepLevel = False,
    master: jobs.Master = None,
    remote: jobs.Remote = None,
    conf: jobs.Conf = None,
    storage: jobs.Storage = None,
    commitlog: jobs.CommitLogs = None,
    broker_conf: jobs.BrokerConfs = None,
    geometry: option.GeometryText = None,
    fail_fast: jobs.FailFast = False,
    as_json: option.JsonLines = False,
) -> None:
    """Cross-check index files, consume queues, commit logs and checkpoints of stores, on Spark.

    The findings are those of `rocketspec audit`. With several stores, each finding names its store.

    Example: `rocketspec spark audit ~/broker-a/store ~/broker-b/store --master 'local[4]'`
    """
    if quick and deep:
        raise UsageError("--quick and --deep are mutually exclusive")
    given = option.read_geometry(geometry)
    storage_settings = jobs.storage_options(storage)
    named = [store for store, _ in jobs.named_stores(stores, commitlog, broker_conf, storage_settings)]
    if len(named) == 1 and "://" not in str(named[0].path):
        Path(named[0].path).stat()  # the system's own reason, before Spark starts
    from rocket_columnar.store import later_line
    from rocket_spark import audit_stores

    level: Level = "quick" if quick else "deep" if deep else "default"
    failed: Failures = {}
    signs: dict[str, tuple[Sign, ...]] = {}
    with jobs.spark_session(master, remote, conf) as (spark, report):
        audited = audit_stores(
            spark,
            named,
            level,
            geometry=given,
            storage=storage_settings,
            failed=None if fail_fast else failed,
            signs=signs,
            progress=report,
        )
        found = list(audited)
    for store, known in signs.items():
        note(f"{store or 'the store'}: {later_line(known)}")
    counts = _print_audited(found, signs, as_json=as_json)
    wrong = {name: str(error) for name, error in failed.items()}
    jobs.note_failed(wrong)
    if as_json:
        for name, reason in wrong.items():
            option.write_json({"store": name, "error": reason})
    else:
        told = ", ".join(
            option.counted(counts[name], name) for name in ("error", "warning", "note") if counts[name]
        )
        typer.echo(f"{option.counted(len(named) - len(wrong), 'store')} audited: {told or 'no findings'}")
    if wrong or counts["error"] or counts["warning"]:
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
