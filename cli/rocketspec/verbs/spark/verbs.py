"""The verbs of `spark`: each asks the same of many stores as the verb of its name of one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

import typer
from rocket_spec.errors import UsageError
from rocket_spec.printable import counted

from rocketspec import _options as option
from rocketspec._tables import columns
from rocketspec._terminal import note, one_line, say, skipped
from rocketspec.verbs.rebuild import show_rebuilt
from rocketspec.verbs.spark import job_options as jobs

if TYPE_CHECKING:
    from rocket_spark import DecodeSummary, Increment
    from rocket_spark.tasks import Failures


def decode(
    job: jobs.Job,
    *,
    output: str,
    table: list[str] | None = None,
    overwrite: bool = False,
    increment: str | None = None,
    fail_fast: bool = False,
    timestamps: str = "millis",
    key_list: bool = False,
    partition_by: list[str] | None = None,
    as_json: bool = False,
) -> None:
    """Decode stores into Parquet on Spark; the engine runs inside the tasks.

    STORE may be a file, a directory of one kind, or a whole store. Each row names its store in the column `store`.
    OUT is complete when it contains _SUCCESS. Stores and files that cannot be decoded are listed; the others are decoded.

    With --increment, commit_log and consume_queue are followed as streams: each run appends what came since, a later store
    of a glob included, and a run that is killed loses and repeats nothing. Gaps are left out; `spark audit` reports them.

    Example: `rocketspec spark decode ~/store -o tables`
    """
    given = option.read_geometry(job.geometry)
    from rocket_spark import DecodeOptions, JobStore, follow_stores, plan_decode, run_decode

    options = DecodeOptions(
        fail_fast=fail_fast,
        utc=option.in_utc(timestamps),
        key_list=key_list,
        partition_by=tuple(partition_by or ()),
    )
    described, settings = job.described()
    if increment is not None:
        whole = {"--overwrite": overwrite, "--geometry": given}
        option.refuse(whole, "cannot be combined with --increment")
        if any(store.commitlog for store in described) and len(described) > 1:
            raise UsageError("--increment follows several stores only if each has its log in STORE/commitlog")
        # A glob is given as it is: the stream expands it in each run.
        stores = [JobStore(text, described[0].commitlog) for text in job.stores or [described[0].path]]
        with job.session(sql=True) as (spark, _):
            done = follow_stores(
                spark, stores, output, increment, table or None, storage=settings, options=options
            )
        _show_increment(done, output, as_json=as_json)
        return
    with jobs.one_line():
        plan = plan_decode(
            described,
            output,
            table or None,
            given,
            overwrite=overwrite,
            storage=settings,
            options=options,
            on_skip=skipped,
        )
    with job.session() as (spark, report):
        summary = run_decode(spark, plan, progress=report)
    problems = [(store.store, problem) for store in summary.status for problem in store.problems]
    for gap in summary.gaps:
        note(gap)
    for store, problem in problems:
        note(f"{store}: {problem}")
    failed = {store.store: store.reason for store in summary.status if store.status == "failed"}
    jobs.report_failed(failed)
    if summary.nulled:
        note(f"{counted(summary.nulled, 'time')} out of range written as null")
    option.print_rows([asdict(summary)], _lines(summary, output), as_json=as_json)
    if summary.gaps or problems or failed:
        raise typer.Exit(option.FINDINGS)


def _show_increment(done: Increment, out: str, *, as_json: bool) -> None:
    """Prints what a run appended; exits with 1 if a store could not be read."""
    jobs.report_failed(done.unreadable)
    lines = (
        f"{table}: {counted(count, 'row')} appended to {out}/{table}" for table, count in done.rows.items()
    )
    option.print_rows([asdict(done)], lines, as_json=as_json)
    if done.unreadable:
        raise typer.Exit(option.FINDINGS)


def _lines(summary: DecodeSummary, out: str) -> Iterator[str]:
    rows = [
        (table.table, f"{table.rows:,} rows", counted(table.parts, "part"), f"{table.size:,} bytes")
        for table in summary.tables
    ]
    yield from columns(rows, right={1, 2, 3})
    stores = "" if summary.stores == 1 else f"{counted(summary.stores, 'store')}, "
    yield f"{stores}{counted(summary.files, 'file')}, {summary.size:,} bytes decoded to {out}"


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
        harm = f"files are damaged already ({', '.join(whole['damaged'])})" if whole["damaged"] else ""
        waits = f"no message is dispatched before {whole['beyond']:,}" if whole["beyond"] else ""
        say(
            f"{store}: {'; '.join(filter(None, (told, changes, losses, fails, lists, gap, harm, waits))) or 'a start loses nothing'}"
        )
        for row in deletions:
            place = row["file"] if row["offset"] is None else f"{row['file']} from byte {row['offset']:,}"
            say(f"  {row['action']} {place}: {row['reason']}")
    jobs.report_failed(failed, as_json=as_json)
    if loses or failed:
        raise typer.Exit(option.FINDINGS)


def rebuild(
    job: jobs.Job,
    *,
    output: str,
    queue_file_size: int | None = None,
    only_missing: bool = False,
    overwrite: bool = False,
    fail_fast: bool = False,
    as_json: bool = False,
) -> None:
    """Rebuild index files and consume queues from commit logs, on Spark.

    The files equal those of `rocketspec rebuild` byte for byte: OUT/index, OUT/consumequeue and OUT/consumequeue_ext.
    With several stores, each is written to OUT/NAME, by default its path. Whatever had to be left out, and stores that cannot be rebuilt, are
    reported on stderr.

    Example: `rocketspec spark rebuild ~/store -o ~/rebuilt`
    """
    given = option.read_geometry(job.geometry)
    from rocket_columnar.report import rebuild_warnings
    from rocket_spark import plan_rebuilds, run_rebuild

    failed: Failures = {}
    described, settings = job.described()
    with jobs.one_line():
        plan = plan_rebuilds(
            described,
            output,
            geometry=given,
            queue_file_size=queue_file_size,
            only_missing=only_missing,
            overwrite=overwrite,
            storage=settings,
            failed=None if fail_fast else failed,
        )
    with job.session() as (spark, report):
        done = run_rebuild(spark, plan, progress=report)
    for store in plan.job.tasks:
        name, own = store.store, store.conf
        if name in done:
            kinds = {file.kind for file in plan.plans[name].files}
            for text in rebuild_warnings(
                done[name],
                own,
                geometry_assumed=own is None and store.geometry is None and "index" not in kinds,
                size_assumed=own is None
                and (queue_file_size or store.queue_file_size) is None
                and "queue" not in kinds,
            ):
                note(f"WARNING: {store.path}: {text}")
    wrong = {name: str(failed[name]) for name in plan.stores if name in failed}
    jobs.report_failed(wrong)
    if as_json:
        for name, rebuilt in done.items():
            shown = {"store": str(plan.stores[name])} | asdict(rebuilt)
            option.write_json(shown | {"geometry": list(rebuilt.geometry)})
        for name, reason in wrong.items():
            option.write_json({"store": str(plan.stores[name]), "error": reason})
    else:
        for name, rebuilt in done.items():
            folder = plan.folders[name]
            show_rebuilt(rebuilt, f"{output.rstrip('/')}/{folder}" if folder else output, store=name)
    if wrong or any(rebuilt.findings for rebuilt in done.values()):
        raise typer.Exit(option.FINDINGS)


def query(
    job: jobs.Job,
    *,
    topic: str | None = None,
    key: str | None = None,
    unique_key: str | None = None,
    time: str | None = None,
    scan: bool = False,
    as_json: bool = False,
) -> None:
    """Find messages by key, ID or time in many stores: which broker has them.

    Keys are looked up in the index files; only a store without any has its log read. Every message is found, as with
    `rocketspec query --all`.

    Example: `rocketspec spark query a/store b/store --topic T --key K`
    """
    from rocket_spark import Asked, query_stores

    at = None if time is None else option.read_time(time, "--time")
    asked = Asked(topic, key, unique_key, at, scan)
    asked.check()
    named, failed, options = job.each()
    with job.session() as (spark, report):
        found = query_stores(spark, named, asked, progress=report, **options)
    from rocket_columnar.formats import iso

    from rocketspec._search import plain

    for store, row in found:
        if as_json:
            option.write_json({"store": store, **plain(row)})
            continue
        shown = plain(row)
        keys = " ".join(word for word in (row["uniq_key"], row["keys"]) if word)
        say(
            f"{store}: {one_line(row['topic'])} queue {row['queue_id']} offset {row['queue_offset']:,}, "
            f"physical offset {row['phy_offset']:,}, stored {iso(row['store_timestamp'])}, keys {one_line(keys)}, "
            f"offset ID {shown['offset_id']}"
        )
    jobs.report_failed(failed)
    if not as_json:
        where = counted(len({store for store, _ in found}), "store")
        read = len(named) - len(failed)
        typer.echo(f"{counted(len(found), 'message')} in {where} of {read:,} searched")
    if not found:
        note(
            "nothing found"
            + ("" if scan or at is not None else " (--scan reads the logs instead of the index)")
        )
    if failed or not found:
        raise typer.Exit(option.FINDINGS)


def digest(job: jobs.Job, *, as_json: bool = False) -> None:
    """Print the digest of each store, and the replicas that differ.

    Stores are replicas of each other if a file of their commit logs begins with the same record. Each one that differs is
    compared with the first of those whose content most have, file by file.

    Example: `rocketspec spark digest ~/master/store ~/slave/store`
    """
    from rocket_spark import differing, digest_stores

    named, failed, options = job.each()
    with job.session() as (spark, report):
        found = digest_stores(spark, named, progress=report, **options)
    pairs = differing(found)
    rows = ({"store": store, "digest": own.digest} for store, own in found.items())
    option.print_rows(rows, (f"{own.digest}  {store}" for store, own in found.items()), as_json=as_json)
    for pair in pairs:
        if as_json:
            option.write_json(
                {"differ": [pair.one, pair.other], "files": [list(file) for file in pair.files]}
            )
            continue
        say(f"{pair.one} and {pair.other} differ in {counted(len(pair.files), 'file')}:")
        for kind, name, one, other in pair.files:
            lacks = "" if one and other else f", which {pair.one if other else pair.other} lacks"
            say(f"  {kind} {name}{lacks}")
    jobs.report_failed(failed)
    if not as_json:
        typer.echo(f"{counted(len(found), 'store')}: {_replicas(len(pairs))}")
    if pairs or failed:
        raise typer.Exit(option.FINDINGS)


def _replicas(count: int) -> str:
    return f"{counted(count, 'replica')} that {'differs' if count == 1 else 'differ'}"


GROUP: Final = typer.Typer(
    help="The same jobs on Spark, from a laptop's local[*] to a cluster.", no_args_is_help=True
)
for verb in (decode, audit, rebuild, query, digest):
    GROUP.command(verb.__name__)(jobs.on_spark(verb))
