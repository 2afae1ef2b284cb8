"""The verbs `spark decode` and, later, the other jobs: the same work on Spark."""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Final, NoReturn

import typer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rocket_spark import DecodeSummary

_UNREADABLE: Final = 3

_FINDINGS: Final = 1


def _note(text: str) -> None:
    typer.echo(f"rocketspec: {text}", err=True)


def _fail(message: str) -> NoReturn:
    _note(message)
    raise typer.Exit(_UNREADABLE)


@contextmanager
def _progress() -> Iterator[Callable[[int, int], None] | None]:
    """A bar on a terminal, nothing elsewhere."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting Spark", total=None)
        yield lambda done, total: bar.update(task, description="tasks", completed=done, total=total)


def _print_summary(summary: DecodeSummary, out: Path) -> None:
    width = max((len(table.table) for table in summary.tables), default=0)
    for table in summary.tables:
        parts = "1 part" if table.parts == 1 else f"{table.parts:,} parts"
        typer.echo(f"{table.table:<{width}}  {table.rows:>14,} rows  {parts:>9}  {table.size:>15,} bytes")
    typer.echo(f"{summary.files:,} files, {summary.size:,} bytes decoded to {out}")


def _decode(
    store: Annotated[
        Path, typer.Argument(metavar="STORE", help="A file, a directory of one kind, or a whole store.")
    ],
    *,
    output: Annotated[
        Path,
        typer.Option("-o", "--output", metavar="OUT", help="Directory to make: OUT/TABLE/part-*.parquet."),
    ],
    master: Annotated[str, typer.Option(metavar="URL", help="Spark master.")] = "local[*]",
    table: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this table; repeat for several.")
    ] = None,
    geometry: Annotated[
        str | None,
        typer.Option(metavar="S,N", help="Hash slots and entries of the index files [default: inferred]."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as one JSON object.")] = False,
) -> None:
    """Decode a store into Parquet on Spark; the engine runs inside the tasks.

    Example: `rocketspec spark decode ~/store -o tables --master 'local[4]'`
    """
    from rocket_columnar.geometry import parse_geometry

    given = None if geometry is None else parse_geometry(geometry)
    try:
        from rocket_spark import SparkUnavailableError, local_session, plan_decode, run_plan
    except ModuleNotFoundError as error:
        if error.name != "pyspark":
            raise
        _fail("PySpark is not installed: pip install rocketspec[spark]")
    plan = plan_decode(
        store,
        output,
        table or None,
        given,
        on_skip=lambda name, reason: _note(f"{name}: skipped, {reason}"),
    )
    with _progress() as progress, TemporaryDirectory(prefix="rocketspec-spark-") as scratch:
        try:
            spark = local_session(master, log=Path(scratch) / "stderr")
        except SparkUnavailableError as error:
            _fail(str(error))
        try:
            summary = run_plan(spark, plan, progress=progress)
        finally:
            spark.stop()
    for gap in summary.gaps:
        _note(gap)
    if as_json:
        typer.echo(json.dumps(asdict(summary)))
    else:
        _print_summary(summary, output)
    if summary.gaps:
        raise typer.Exit(_FINDINGS)


def register(app: typer.Typer) -> None:
    """Adds the group `spark` to the command."""
    group = typer.Typer(
        help="The same jobs on Spark, from a laptop's local[*] to a cluster.", no_args_is_help=True
    )
    group.command("decode")(_decode)
    app.add_typer(group, name="spark")
    group.callback()(lambda: None)
