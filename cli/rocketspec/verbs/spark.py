"""The verbs `spark decode`, `spark audit` and `spark rebuild`: the same jobs on Spark, for many stores at once."""

from __future__ import annotations

import json
import sys
from collections import Counter
from contextlib import contextmanager
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Final, NoReturn

import typer
from rocket_spec.errors import UsageError

from rocketspec._notes import note, skipped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession
    from rocket_columnar.audit import Level
    from rocket_columnar.findings import Finding
    from rocket_columnar.rebuild import Rebuilt
    from rocket_spark import DecodeSummary
    from rocket_spark.jobs import Progress

__all__ = ["register"]

_UNREADABLE: Final = 3

_FINDINGS: Final = 1

Stores = Annotated[
    list[str],
    typer.Argument(metavar="STORE", help="One or several, as the workers see them: paths, s3:// or hdfs://."),
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
        help="An option of S3 or HDFS (s3.endpoint, hdfs.webhdfs, ...); repeat for several.",
    ),
]
Conf = Annotated[
    list[str] | None, typer.Option(metavar="NAME=VALUE", help="A property of Spark; repeat for several.")
]
GeometryText = Annotated[
    str | None,
    typer.Option(metavar="S,N", help="Hash slots and entries of the index files; else inferred."),
]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Replace what an earlier job wrote there, once all is written.")
]


def _fail(message: str) -> NoReturn:
    note(message)
    raise typer.Exit(_UNREADABLE)


@contextmanager
def _progress() -> Iterator[Progress]:
    """A bar on a terminal, nothing elsewhere."""
    from rocket_spark.jobs import silent

    if not sys.stderr.isatty():
        yield silent
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting Spark", total=None)
        yield lambda what, done, total: bar.update(task, description=what, completed=done, total=total)


@contextmanager
def _session(
    master: str | None, remote: str | None, conf: list[str] | None, *, only_jobs: bool = True
) -> Iterator[tuple[SparkSession, Progress]]:
    """A session for one job, and where its progress goes; stopped at the end."""
    from rocket_spark import JobError, SparkUnavailableError, open_session

    settings = _settings("--conf", conf)
    with _progress() as progress, TemporaryDirectory(prefix="rocketspec-spark-") as scratch:
        try:
            spark = open_session(
                master, remote=remote, conf=settings, log=Path(scratch) / "stderr", only_jobs=only_jobs
            )
        except SparkUnavailableError as error:
            _fail(str(error))
        try:
            yield spark, progress
        except JobError as error:
            _fail(str(error))
        finally:
            spark.stop()


def _settings(option: str, given: list[str] | None) -> dict[str, str]:
    settings = {}
    for text in given or ():
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise UsageError(f"{option} {text}: say NAME=VALUE")
        settings[name] = value
    return settings


def _storage(given: list[str] | None) -> dict[str, str]:
    from rocket_spark.files import check_settings

    settings = _settings("--storage", given)
    check_settings(settings)
    return settings


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"


def _told(stores: int) -> str:
    return "" if stores == 1 else f"{_counted(stores, 'store')}, "


def _print_decoded(summary: DecodeSummary, out: str) -> None:
    width = max((len(table.table) for table in summary.tables), default=0)
    for table in summary.tables:
        parts = _counted(table.parts, "part")
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
            help="Directory, s3:// or hdfs:// to make: OUT/TABLE/part-*.parquet.",
        ),
    ],
    master: Master = None,
    remote: Remote = None,
    conf: Conf = None,
    storage: Storage = None,
    table: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this table; repeat for several.")
    ] = None,
    geometry: GeometryText = None,
    overwrite: Overwrite = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as one JSON object.")] = False,
) -> None:
    """Decode stores into Parquet on Spark; the engine runs inside the tasks.

    A store is a file, a directory of one kind, or a whole store. Of several stores each has a folder
    OUT/TABLE/store=NAME/. OUT holds all of it, a manifest and _SUCCESS at the end, or nothing.

    Example: `rocketspec spark decode ~/store -o tables --master 'local[4]'`
    """
    from rocket_columnar.index import parse_geometry

    given = None if geometry is None else parse_geometry(geometry)
    from rocket_spark import plan_decode, run_decode

    plan = plan_decode(
        stores,
        output,
        table or None,
        given,
        overwrite=overwrite,
        storage=_storage(storage),
        on_skip=skipped,
    )
    with _session(master, remote, conf) as (spark, progress):
        summary = run_decode(spark, plan, progress=progress)
    for gap in summary.gaps:
        note(gap)
    if as_json:
        typer.echo(json.dumps(asdict(summary)))
    else:
        _print_decoded(summary, output)
    if summary.gaps:
        raise typer.Exit(_FINDINGS)


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
            help="Directory, s3:// or hdfs:// to make; outside the stores.",
        ),
    ],
    master: Master = None,
    remote: Remote = None,
    conf: Conf = None,
    storage: Storage = None,
    geometry: Annotated[
        str | None,
        typer.Option(
            metavar="S,N", help="Slots and entries of the index files. \\[each store's, else the default]"
        ),
    ] = None,
    queue_file_size: Annotated[
        int | None,
        typer.Option(
            metavar="BYTES", min=1, help="Length of a consume-queue file. \\[each store's, else 6000000]"
        ),
    ] = None,
    only_missing: Annotated[
        bool, typer.Option("--only-missing", help="Only the files that a store lacks or holds otherwise.")
    ] = False,
    overwrite: Overwrite = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object for each store.")] = False,
) -> None:
    """Make index files and consume queues again from commit logs, on Spark.

    They are those of `rocketspec rebuild`, byte for byte: OUT/index, OUT/consumequeue and OUT/consumequeue_ext, of
    several stores each in OUT/NAME. What had to be left out goes to stderr and makes exit code 1.

    Example: `rocketspec spark rebuild ~/store -o ~/rebuilt --master 'local[4]'`
    """
    from rocket_columnar.index import parse_geometry

    given = None if geometry is None else parse_geometry(geometry)
    from rocket_spark import plan_rebuilds, run_rebuild

    job = plan_rebuilds(
        stores,
        output,
        geometry=given,
        queue_file_size=queue_file_size,
        only_missing=only_missing,
        overwrite=overwrite,
        storage=_storage(storage),
    )
    with _session(master, remote, conf) as (spark, progress):
        done = run_rebuild(spark, job, progress=progress)
    if as_json:
        for name, rebuilt in done.items():
            shown = {"store": str(job.stores[name])} | asdict(rebuilt) | {"geometry": list(rebuilt.geometry)}
            typer.echo(json.dumps(shown, ensure_ascii=False, separators=(",", ":")))
    else:
        _print_rebuilt(done, output)
    if any(rebuilt.findings for rebuilt in done.values()):
        raise typer.Exit(_FINDINGS)


def _audit(
    stores: Stores,
    *,
    quick: Annotated[
        bool, typer.Option("--quick", help="Only names, sizes, headers, checkpoint and continuity.")
    ] = False,
    deep: Annotated[
        bool, typer.Option("--deep", help="Also body checksums, and every key by 4.9.3's own select.")
    ] = False,
    cross_check: Annotated[
        bool,
        typer.Option(
            "--cross-check",
            help="Also judge by sort-merge joins in Spark SQL, and tell where the two differ.",
        ),
    ] = False,
    master: Master = None,
    remote: Remote = None,
    conf: Conf = None,
    storage: Storage = None,
    geometry: GeometryText = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object for each finding.")] = False,
) -> None:
    """Cross-check index files, consume queues, commit logs and checkpoints of stores, on Spark.

    The findings are those of `rocketspec audit`; of several stores each tells its store. Exit code 1 when there are
    errors or warnings, or when the two ways of --cross-check differ.

    Example: `rocketspec spark audit ~/broker-a/store ~/broker-b/store --master 'local[4]'`
    """
    from rocket_columnar.index import parse_geometry

    if quick and (deep or cross_check):
        raise UsageError("--quick goes without --deep and --cross-check")
    given = None if geometry is None else parse_geometry(geometry)
    for store in stores:
        if "://" not in store:
            Path(store).stat()  # the system's own reason, before Spark starts
    from rocket_spark import audit_stores, cross_check_stores

    far = _storage(storage)
    level: Level = "quick" if quick else "deep" if deep else "default"
    checked = None
    with _session(master, remote, conf, only_jobs=not cross_check) as (spark, progress):
        found = list(audit_stores(spark, stores, level, geometry=given, storage=far, progress=progress))
        if cross_check:
            checked = cross_check_stores(spark, stores, found, geometry=given, storage=far)
    counts = _print_audited(found, as_json=as_json)
    if not as_json:
        told = ", ".join(
            _counted(counts[name], name) for name in ("error", "warning", "note") if counts[name]
        )
        typer.echo(f"{_counted(len(stores), 'store')} audited: {told or 'no findings'}")
    if checked is not None:
        joined = f"{checked.records:,} records, {checked.units:,} units and {checked.entries:,} entries"
        note(f"cross-check by joins of {joined}: " + ("differs" if checked.disagreements else "agrees"))
        for text in checked.disagreements:
            note(text)
    if counts["error"] or counts["warning"] or (checked is not None and checked.disagreements):
        raise typer.Exit(_FINDINGS)


def _print_audited(found: list[tuple[str, Finding]], *, as_json: bool) -> Counter[str]:
    """Prints findings as `audit` does; of several stores each with its name."""
    from rocketspec.verbs.audit import print_findings

    counts: Counter[str] = Counter()
    for store, group in groupby(found, key=lambda pair: pair[0]):
        mine = [finding for _, finding in group]
        if store and as_json:
            for finding in mine:
                shown = {"store": store, **asdict(finding)}
                typer.echo(json.dumps(shown, ensure_ascii=False, separators=(",", ":")))
            counts.update(finding.severity for finding in mine)
            continue
        if store:
            typer.echo(f"{store}:")
        counts += print_findings(mine, as_json=as_json)
    return counts


_VERBS: Final[dict[str, Callable[..., None]]] = {"decode": _decode, "audit": _audit, "rebuild": _rebuild}


def register(app: typer.Typer) -> None:
    """Adds the group `spark` to the command."""
    group = typer.Typer(
        help="The same jobs on Spark, from a laptop's local[*] to a cluster.", no_args_is_help=True
    )
    for name, verb in _VERBS.items():
        group.command(name)(verb)
    app.add_typer(group, name="spark")
    group.callback()(lambda: None)
