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
from rocket_spec.errors import UsageError
from rocket_spec.layout import Geometry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rocket_spark import DecodeSummary

_UNREADABLE: Final = 3

_FINDINGS: Final = 1


def _fail(message: str) -> NoReturn:
    typer.echo(f"rocketspec: {message}", err=True)
    raise typer.Exit(_UNREADABLE)


def _geometry(text: str | None) -> Geometry | None:
    if text is None:
        return None
    try:
        hash_slot_num, index_num = (int(part) for part in text.split(","))
    except ValueError:
        raise UsageError(f"--geometry {text}: not two whole numbers S,N (hash slots, entries)") from None
    if hash_slot_num <= 0 or index_num <= 0:
        raise UsageError(f"--geometry {text}: both numbers must be positive")
    return Geometry(hash_slot_num, index_num)


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
    store: Annotated[Path, typer.Argument(help="A file, a directory of one kind, or a whole store.")],
    *,
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Directory to make: OUT/TABLE/part-*.parquet.")
    ],
    master: Annotated[str, typer.Option(help="Spark master URL.")] = "local[*]",
    table: Annotated[
        list[str] | None, typer.Option(help="Table to decode; repeat for several [default: all].")
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
    given = _geometry(geometry)
    try:
        from rocket_spark import SparkUnavailableError, local_session, plan_decode, run_plan
    except ModuleNotFoundError as error:
        if error.name != "pyspark":
            raise
        _fail("PySpark is not installed: pip install rocketspec[spark]")
    plan = plan_decode(store, output, table or None, given)
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
        typer.echo(f"rocketspec: {gap}", err=True)
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
