"""The verb `spark decode`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from rocketspec import _options as option
from rocketspec._tables import columns
from rocketspec._terminal import note, say_all, skipped
from rocketspec.verbs.spark import job_options as jobs

if TYPE_CHECKING:
    from rocket_spark import DecodeSummary


def decode(
    stores: jobs.Stores = None,
    *,
    output: Annotated[
        str,
        typer.Option(
            "-o",
            "--output",
            metavar="OUT",
            help="Output directory, s3:// or hdfs://: OUT/TABLE/part-*.parquet.",
        ),
    ],
    master: jobs.Master = None,
    remote: jobs.Remote = None,
    conf: jobs.Conf = None,
    storage: jobs.Storage = None,
    commitlog: jobs.CommitLogs = None,
    broker_conf: jobs.BrokerConfs = None,
    table: option.TableNames = None,
    geometry: option.GeometryText = None,
    overwrite: jobs.Overwrite = False,
    fail_fast: jobs.FailFast = False,
    timestamps: option.Timestamps = "millis",
    key_list: Annotated[
        bool, typer.Option("--key-list", help="Add a column key_list to commit_log: the keys as a list.")
    ] = False,
    partition_by: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Folders by topic, or by date (UTC) of store_timestamp; repeatable."
        ),
    ] = None,
    as_json: option.AsJson = False,
) -> None:
    """Decode stores into Parquet on Spark; the engine runs inside the tasks.

    STORE may be a file, a directory of one kind, or a whole store. With several stores, each is written to
    OUT/TABLE/store=NAME/. OUT is complete when it contains _SUCCESS. Stores that cannot be
    decoded are listed; the others are decoded.

    Example: `rocketspec spark decode ~/store -o tables`
    """
    given = option.read_geometry(geometry)
    from rocket_spark import DecodeOptions, plan_decode, run_decode

    options = DecodeOptions(
        fail_fast=fail_fast,
        utc=option.in_utc(timestamps),
        key_list=key_list,
        partition_by=tuple(partition_by or ()),
    )
    settings = jobs.storage_options(storage)
    with jobs.one_line():
        plan = plan_decode(
            [store for store, _ in jobs.named_stores(stores, commitlog, broker_conf, settings)],
            output,
            table or None,
            given,
            overwrite=overwrite,
            storage=settings,
            options=options,
            on_skip=skipped,
        )
    with jobs.spark_session(master, remote, conf) as (spark, report):
        summary = run_decode(spark, plan, progress=report)
    for gap in summary.gaps:
        note(gap)
    failed = {store.store: store.reason for store in summary.status if store.status == "failed"}
    jobs.report_failed(failed)
    if summary.nulled:
        note(f"{option.counted(summary.nulled, 'time')} out of range written as null")
    if as_json:
        option.write_json(asdict(summary))
    else:
        say_all(_lines(summary, output))
    if summary.gaps or failed:
        raise typer.Exit(option.FINDINGS)


def _lines(summary: DecodeSummary, out: str) -> Iterator[str]:
    rows = [
        (table.table, f"{table.rows:,} rows", option.counted(table.parts, "part"), f"{table.size:,} bytes")
        for table in summary.tables
    ]
    yield from columns(rows, right={1, 2, 3})
    stores = "" if summary.stores == 1 else f"{option.counted(summary.stores, 'store')}, "
    yield f"{stores}{summary.files:,} files, {summary.size:,} bytes decoded to {out}"
