"""The verb `spark decode`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

import typer
from rocket_spec.errors import UsageError
from rocket_spec.printable import counted

from rocketspec import _options as option
from rocketspec._tables import columns
from rocketspec._terminal import note, say, say_all, skipped
from rocketspec.verbs.spark import job_options as jobs

if TYPE_CHECKING:
    from rocket_spark import DecodeSummary, Increment


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
    if as_json:
        option.write_json(asdict(summary))
    else:
        say_all(_lines(summary, output))
    if summary.gaps or problems or failed:
        raise typer.Exit(option.FINDINGS)


def _show_increment(done: Increment, out: str, *, as_json: bool) -> None:
    """Prints what a run appended; exits with 1 if a store could not be read."""
    jobs.report_failed(done.unreadable)
    if as_json:
        option.write_json(asdict(done))
    else:
        for table, count in done.rows.items():
            say(f"{table}: {counted(count, 'row')} appended to {out}/{table}")
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
