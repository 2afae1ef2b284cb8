"""The verb `spark audit`."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import typer
from rocket_spec.printable import counted

from rocketspec import _options as option
from rocketspec._terminal import note, say
from rocketspec.verbs.spark import job_options as jobs

if TYPE_CHECKING:
    from rocket_spark.tasks import Failures


def audit(
    job: jobs.Job,
    *,
    quick: bool = False,
    deep: bool = False,
    restart: bool = False,
    rocketmq_profile: str | None = None,
    fail_fast: bool = False,
    as_json: bool = False,
) -> None:
    """Cross-check index files, consume queues, commit logs and checkpoints of stores, on Spark.

    The findings are those of `rocketspec audit`, each with its store.

    With --restart, nothing is audited: each store is summed up, and --json lists every file, unit and key.

    Example: `rocketspec spark audit ~/store --master 'local[4]'`
    """
    level = option.audit_level(quick=quick, deep=deep)
    option.refuse({"--quick": quick, "--deep": deep} if restart else {}, "cannot be combined with --restart")
    named, failed, options = job.each()
    if fail_fast:
        options["failed"] = None
    from rocket_columnar.store import later_line
    from rocket_spark import audit_stores, restart_stores

    from rocketspec.verbs.audit import print_causes, summary

    if restart:
        with job.session() as (spark, report):
            predicted = restart_stores(spark, named, release=rocketmq_profile, progress=report, **options)
        _print_restarts(predicted, failed, as_json=as_json)
        return
    with job.session() as (spark, report):
        audited = audit_stores(spark, named, level, release=rocketmq_profile, progress=report, **options)
    counts: Counter[str] = Counter()
    for store, found in audited.items():
        if found.signs:
            note(f"{store}: {later_line(found.signs)}")
        if found and not as_json:
            say(f"{store}:")
        counts += print_causes(found, as_json=as_json, most=None, store=store)
    jobs.report_failed(failed, as_json=as_json)
    if not as_json:
        typer.echo(f"{counted(len(audited), 'store')} audited: {summary(counts)}")
    if failed or counts["error"] or counts["warning"]:
        raise typer.Exit(option.FINDINGS)


def _print_restarts(predicted: dict[str, list[dict[str, Any]]], failed: Failures, *, as_json: bool) -> None:
    """Prints what a start would do to each store; exits with 1 if it would delete or lose anything."""
    loses = False
    for store, rows in predicted.items():
        (*parts, whole) = rows
        deletions = [row for row in parts if "action" in row]
        loses |= bool(parts or not whole.get("safe"))
        if as_json:
            for row in rows:
                option.write_json({"store": store, **row})
            continue
        if "running" in whole:
            say(f"{store}: a broker is running ({whole['running']}); nothing is predicted")
            continue
        lost = [counted(whole[f"lost_{name}s"], name) for name in ("unit", "key") if whole[f"lost_{name}s"]]
        told = f"refuses to start: {whole['refused']}" if whole["refused"] else ""
        changes = f"{counted(len(deletions), 'file')} deleted or truncated" if deletions else ""
        losses = f"{' and '.join(lost)} lost" if lost else ""
        fails = f"pulls fail in {counted(len(whole['zeros']), 'queue')}" if whole["zeros"] else ""
        unlisted = whole["unlisted"]
        lists = f"the list of topics lacks {counted(len(unlisted), 'topic')}" if unlisted else ""
        gap = f"{whole['missing']:,} bytes of the log are missing already" if whole["missing"] else ""
        waits = f"no message is dispatched before {whole['beyond']:,}" if whole["beyond"] else ""
        say(
            f"{store}: {'; '.join(filter(None, (told, changes, losses, fails, lists, gap, waits))) or 'a start loses nothing'}"
        )
        for row in deletions:
            place = row["file"] if row["offset"] is None else f"{row['file']} from byte {row['offset']:,}"
            say(f"  {row['action']} {place}: {row['reason']}")
    jobs.report_failed(failed, as_json=as_json)
    if loses or failed:
        raise typer.Exit(option.FINDINGS)
