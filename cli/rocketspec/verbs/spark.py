"""The verbs `spark decode`, `spark audit` and `spark rebuild`: the same jobs on Spark, for many stores at once."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from dataclasses import asdict
from enum import StrEnum
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Final, NoReturn

import typer
from rocket_spec.errors import UsageError

from rocketspec._options import (
    FINDINGS,
    UNREADABLE,
    AsJson,
    DeepLevel,
    GeometryText,
    JsonLines,
    OnlyMissing,
    QueueFileSize,
    QuickLevel,
    RebuildGeometry,
    TableNames,
    counted,
    exit_codes,
    read_geometry,
    write_json,
)
from rocketspec._terminal import note, progress, skipped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession
    from rocket_columnar.audit import Level
    from rocket_columnar.findings import Finding
    from rocket_columnar.rebuild import Rebuilt
    from rocket_spark import DecodeSummary
    from rocket_spark.tasks import Failures, Progress

__all__ = ["register"]


class Timestamps(StrEnum):
    """How times are written."""

    MILLIS = "millis"
    UTC = "utc"


Stores = Annotated[
    list[str],
    typer.Argument(
        metavar="STORE", help="One or more stores, as the workers see them: a path, s3:// or hdfs://."
    ),
]
Master = Annotated[
    str | None,
    typer.Option(metavar="URL", help="Spark master. \\[default: that of spark-submit, else local[*]]"),
]
Remote = Annotated[
    str | None,
    typer.Option(metavar="URL", help="A Spark Connect server (sc://host:port) instead of a master."),
]
Storage = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUE",
        help="Option of S3 or HDFS (s3.endpoint, hdfs.webhdfs, ...); repeatable.",
    ),
]
Conf = Annotated[list[str] | None, typer.Option(metavar="NAME=VALUE", help="Spark property; repeatable.")]
Overwrite = Annotated[
    bool,
    typer.Option(
        "--overwrite", help="Replace the output of an earlier job after everything has been written."
    ),
]

FailFast = Annotated[
    bool, typer.Option("--fail-fast", help="Fail at the first store that cannot be processed; write nothing.")
]
Resume = Annotated[
    bool,
    typer.Option(
        "--resume",
        help="Keep finished work when the job fails or is killed, and start from the work that an earlier run kept.",
    ),
]


def _fail(message: str) -> NoReturn:
    note(message)
    raise typer.Exit(UNREADABLE)


@contextmanager
def _session(
    master: str | None, remote: str | None, conf: list[str] | None, *, only_jobs: bool = True
) -> Iterator[tuple[SparkSession, Progress]]:
    """A session for one job, and where its progress goes; stopped at the end."""
    from rocket_spark import JobError, SparkUnavailableError, open_session

    settings = _settings("--conf", conf)
    with (
        progress("starting Spark", unit="tasks") as step,
        TemporaryDirectory(prefix="rocketspec-spark-") as scratch,
    ):
        try:
            spark = open_session(
                master, remote=remote, conf=settings, log=Path(scratch) / "stderr", only_jobs=only_jobs
            )
        except SparkUnavailableError as error:
            _fail(str(error))
        try:
            yield spark, lambda what, done, total: step(done, total, what)
        except JobError as error:
            _fail(str(error))
        finally:
            spark.stop()


@contextmanager
def _one_line() -> Iterator[None]:
    """Ends with the one line of a job that cannot begin."""
    from rocket_spark import JobError

    try:
        yield
    except JobError as error:
        _fail(str(error))


def _note_failed(failed: dict[str, str]) -> None:
    """Lists the stores that failed, each with its reason."""
    for name, reason in failed.items():
        note(f"{name}: failed: {reason}")


def _settings(option: str, given: list[str] | None) -> dict[str, str]:
    settings = {}
    for text in given or ():
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise UsageError(f"{option} {text}: expected NAME=VALUE")
        settings[name] = value
    return settings


def _storage(given: list[str] | None) -> dict[str, str]:
    from rocket_spark.files import check_settings

    settings = _settings("--storage", given)
    check_settings(settings)
    return settings


def _told(stores: int) -> str:
    return "" if stores == 1 else f"{counted(stores, 'store')}, "


def _print_decoded(summary: DecodeSummary, out: str) -> None:
    width = max((len(table.table) for table in summary.tables), default=0)
    for table in summary.tables:
        parts = counted(table.parts, "part")
        typer.echo(f"{table.table:<{width}}  {table.rows:>14,} rows  {parts:>9}  {table.size:>15,} bytes")
    typer.echo(f"{_told(summary.stores)}{summary.files:,} files, {summary.size:,} bytes decoded to {out}")


def _decode(
    stores: Stores,
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
    master: Master = None,
    remote: Remote = None,
    conf: Conf = None,
    storage: Storage = None,
    table: TableNames = None,
    geometry: GeometryText = None,
    overwrite: Overwrite = False,
    append: Annotated[
        bool,
        typer.Option(
            "--append", help="Only decode what is new since the last run with --append; add it to OUT."
        ),
    ] = False,
    drop_expired: Annotated[
        bool,
        typer.Option("--drop-expired", help="With --append, remove rows of files that the broker deleted."),
    ] = False,
    resume: Resume = False,
    fail_fast: FailFast = False,
    timestamps: Annotated[
        Timestamps,
        typer.Option(help="millis: int64 as stored. utc: timestamp[ms, UTC]; out of range becomes null."),
    ] = Timestamps.MILLIS,
    key_list: Annotated[
        bool, typer.Option("--key-list", help="Add a column key_list to commit_log: the keys as a list.")
    ] = False,
    partition_by: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Folders by topic, or by date (UTC) of store_timestamp; repeatable."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Decode stores into Parquet on Spark; the engine runs inside the tasks.

    STORE may be a file, a directory of one kind, or a whole store. With several stores, each is written to
    OUT/TABLE/store=NAME/. OUT is complete, with a manifest and _SUCCESS, or it is not written. Stores that cannot be
    decoded are listed; the others are decoded.

    Example: `rocketspec spark decode ~/store -o tables --master 'local[4]'`
    """
    given = read_geometry(geometry)
    from rocket_spark import DecodeOptions, plan_decode, run_decode

    options = DecodeOptions(
        resume=resume,
        append=append,
        drop_expired=drop_expired,
        fail_fast=fail_fast,
        utc=timestamps is Timestamps.UTC,
        key_list=key_list,
        partition_by=tuple(partition_by or ()),
    )
    with _one_line():
        plan = plan_decode(
            stores,
            output,
            table or None,
            given,
            overwrite=overwrite,
            storage=_storage(storage),
            options=options,
            on_skip=skipped,
        )
    with _session(master, remote, conf) as (spark, report):
        summary = run_decode(spark, plan, progress=report)
    for gap in summary.gaps:
        note(gap)
    failed = {store.store: store.reason for store in summary.status if store.status == "failed"}
    _note_failed(failed)
    if summary.nulled:
        note(f"{counted(summary.nulled, 'time')} out of range written as null")
    if as_json:
        write_json(asdict(summary))
    else:
        _print_decoded(summary, output)
    if summary.gaps or failed:
        raise typer.Exit(FINDINGS)


def _print_rebuilt(done: dict[str, Rebuilt], out: str) -> None:
    for name, rebuilt in done.items():
        for found in rebuilt.findings:
            place = found.file if found.offset is None else f"{found.file} at byte {found.offset:,}"
            where = f"{name}: {place}" if name else place
            note(f"{found.code} {where}: {found.message}")
        slots, entries = rebuilt.geometry
        place = f"{out.rstrip('/')}/{name}" if name else out
        typer.echo(
            f"{place}: {len(rebuilt.files):,} files from {rebuilt.records:,} records; index files of {slots:,} slots "
            f"and {entries:,} entries, consume-queue files of {rebuilt.queue_file_size:,} bytes"
        )


def _rebuild(
    stores: Stores,
    *,
    output: Annotated[
        str,
        typer.Option(
            "-o",
            "--output",
            metavar="OUT",
            help="Output directory, s3:// or hdfs://, outside the stores.",
        ),
    ],
    master: Master = None,
    remote: Remote = None,
    conf: Conf = None,
    storage: Storage = None,
    geometry: RebuildGeometry = None,
    queue_file_size: QueueFileSize = None,
    only_missing: OnlyMissing = False,
    overwrite: Overwrite = False,
    fail_fast: FailFast = False,
    as_json: JsonLines = False,
) -> None:
    """Rebuild index files and consume queues from commit logs, on Spark.

    The files equal those of `rocketspec rebuild` byte for byte: OUT/index, OUT/consumequeue and OUT/consumequeue_ext.
    With several stores, each is written to OUT/NAME. Whatever had to be left out, and stores that cannot be rebuilt, are
    reported on stderr.

    Example: `rocketspec spark rebuild ~/store -o ~/rebuilt --master 'local[4]'`
    """
    given = read_geometry(geometry)
    from rocket_spark import plan_rebuilds, run_rebuild

    failed: Failures = {}
    with _one_line():
        job = plan_rebuilds(
            stores,
            output,
            geometry=given,
            queue_file_size=queue_file_size,
            only_missing=only_missing,
            overwrite=overwrite,
            storage=_storage(storage),
            failed=None if fail_fast else failed,
        )
    for name, unused in job.unused.items():
        for reason in unused:
            note(
                f"{name}: not used for the geometry: {reason}"
                if name
                else f"not used for the geometry: {reason}"
            )
    with _session(master, remote, conf) as (spark, report):
        done = run_rebuild(spark, job, failed=None if fail_fast else failed, progress=report)
    wrong = {name: str(failed[name]) for name in job.stores if name in failed}
    _note_failed(wrong)
    if as_json:
        for name, rebuilt in done.items():
            shown = {"store": str(job.stores[name])} | asdict(rebuilt)
            write_json(shown | {"geometry": list(rebuilt.geometry)})
        for name, reason in wrong.items():
            write_json({"store": str(job.stores[name]), "error": reason})
    else:
        _print_rebuilt(done, output)
    if wrong or any(rebuilt.findings for rebuilt in done.values()):
        raise typer.Exit(FINDINGS)


def _audit(
    stores: Stores,
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
    if len(stores) == 1 and "://" not in stores[0]:
        Path(stores[0]).stat()  # the system's own reason, before Spark starts
    from rocket_spark import audit_stores, cross_check_stores

    far = _storage(storage)
    level: Level = "quick" if quick else "deep" if deep else "default"
    checked = None
    failed: Failures = {}
    with _session(master, remote, conf, only_jobs=not cross_check) as (spark, report):
        audited = audit_stores(
            spark,
            stores,
            level,
            geometry=given,
            storage=far,
            failed=None if fail_fast else failed,
            progress=report,
        )
        found = list(audited)
        if cross_check:
            checked = cross_check_stores(
                spark, stores, found, geometry=given, storage=far, failed=failed.keys()
            )
    counts = _print_audited(found, as_json=as_json)
    wrong = {name: str(error) for name, error in failed.items()}
    _note_failed(wrong)
    if as_json:
        for name, reason in wrong.items():
            write_json({"store": name, "error": reason})
    else:
        told = ", ".join(counted(counts[name], name) for name in ("error", "warning", "note") if counts[name])
        typer.echo(f"{counted(len(stores) - len(wrong), 'store')} audited: {told or 'no findings'}")
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


_VERBS: Final[dict[str, tuple[Callable[..., None], str]]] = {
    "decode": (_decode, "part of the input could not be decoded"),
    "audit": (_audit, "there are errors or warnings, or the results of --cross-check differ"),
    "rebuild": (_rebuild, "something had to be left out"),
}
"""The verbs, and when each exits with 1."""


def register(app: typer.Typer) -> None:
    """Adds the group `spark` to the command."""
    group = typer.Typer(
        help="The same jobs on Spark, from a laptop's local[*] to a cluster.", no_args_is_help=True
    )
    for name, (verb, findings) in _VERBS.items():
        group.command(name, epilog=exit_codes(findings))(verb)
    app.add_typer(group, name="spark")
    group.callback()(lambda: None)
