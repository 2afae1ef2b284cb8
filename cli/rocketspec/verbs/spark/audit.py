"""The verb `spark audit`."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rocket_spec.errors import UsageError

from rocketspec._options import (
    FINDINGS,
    DeepLevel,
    GeometryText,
    JsonLines,
    QuickLevel,
    counted,
    read_geometry,
    write_json,
)
from rocketspec._terminal import note
from rocketspec.verbs.spark.job_options import (
    BrokerConfs,
    CommitLogs,
    Conf,
    FailFast,
    Master,
    Remote,
    Storage,
    Stores,
    named_stores,
    note_failed,
    spark_session,
    storage_options,
)

if TYPE_CHECKING:
    from rocket_columnar.audit import Level
    from rocket_columnar.findings import Finding
    from rocket_spark.tasks import Failures

__all__ = ["audit"]


def audit(
    stores: Stores = None,
    *,
    quick: QuickLevel = False,
    deep: DeepLevel = False,
    cross_check: Annotated[
        bool,
        typer.Option(
            "--cross-check",
            help="Also audit by sort-merge joins in Spark SQL, and report where the results differ.",
        ),
    ] = False,
    master: Master = None,
    remote: Remote = None,
    conf: Conf = None,
    storage: Storage = None,
    commitlog: CommitLogs = None,
    broker_conf: BrokerConfs = None,
    geometry: GeometryText = None,
    fail_fast: FailFast = False,
    as_json: JsonLines = False,
) -> None:
    """Cross-check index files, consume queues, commit logs and checkpoints of stores, on Spark.

    The findings are those of `rocketspec audit`. With several stores, each finding names its store.

    Example: `rocketspec spark audit ~/broker-a/store ~/broker-b/store --master 'local[4]'`
    """
    if quick and (deep or cross_check):
        raise UsageError("--quick cannot be combined with --deep or --cross-check")
    given = read_geometry(geometry)
    storage_settings = storage_options(storage)
    named = [store for store, _ in named_stores(stores, commitlog, broker_conf, storage_settings)]
    if len(named) == 1 and "://" not in str(named[0].path):
        Path(named[0].path).stat()  # the system's own reason, before Spark starts
    from rocket_spark import audit_stores, cross_check_stores

    level: Level = "quick" if quick else "deep" if deep else "default"
    checked = None
    failed: Failures = {}
    with spark_session(master, remote, conf, only_jobs=not cross_check) as (spark, report):
        audited = audit_stores(
            spark,
            named,
            level,
            geometry=given,
            storage=storage_settings,
            failed=None if fail_fast else failed,
            progress=report,
        )
        found = list(audited)
        if cross_check:
            checked = cross_check_stores(
                spark, named, found, geometry=given, storage=storage_settings, failed=failed.keys()
            )
    counts = _print_audited(found, as_json=as_json)
    wrong = {name: str(error) for name, error in failed.items()}
    note_failed(wrong)
    if as_json:
        for name, reason in wrong.items():
            write_json({"store": name, "error": reason})
    else:
        told = ", ".join(counted(counts[name], name) for name in ("error", "warning", "note") if counts[name])
        typer.echo(f"{counted(len(named) - len(wrong), 'store')} audited: {told or 'no findings'}")
    if checked is not None:
        joined = f"{checked.records:,} records, {checked.units:,} units and {checked.entries:,} entries"
        note(f"cross-check by joins of {joined}: " + ("differs" if checked.disagreements else "agrees"))
        for text in checked.disagreements:
            note(text)
    if wrong or counts["error"] or counts["warning"] or (checked is not None and checked.disagreements):
        raise typer.Exit(FINDINGS)


def _print_audited(found: list[tuple[str, Finding]], *, as_json: bool) -> Counter[str]:
    """Prints findings as `audit` does; of several stores each with its name."""
    from rocket_columnar.audit import find_causes

    from rocketspec.verbs.audit import Places, print_causes

    counts: Counter[str] = Counter()
    for store, group in groupby(found, key=lambda pair: pair[0]):
        mine = [finding for _, finding in group]
        if store and not as_json:
            typer.echo(f"{store}:")
        causes = find_causes(mine, has_index=True, has_queues=True)
        extra = {"store": store} if store else {}
        counts += print_causes(causes, Places(store or "STORE"), as_json=as_json, most=None, **extra)
    return counts
