"""The verb `conform`: tests an implementation against the clauses."""

from __future__ import annotations

import contextlib
from pathlib import Path  # noqa: TC003  typer reads the annotation
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rocket_conformance.report import CaseLine, Report
    from rocket_conformance.runner import Options
    from rocket_conformance.transport import Transport

__all__ = ["register"]

_FAMILIES = ("index", "service", "queue", "log", "checkpoint")
_ADAPTER_FAILED = 3
_THOROUGH = 2_000

HELP = """Test an implementation against the clauses of RocketMQ 4.9.3.

It is the COMMAND of an adapter, which speaks JSON lines on stdin and stdout;
without one it is the bundled engine, with --rocketmq the real jar of a version.

\b
Examples:
  rocketspec conform
  rocketspec conform --report out -- python3 my_adapter.py
  rocketspec conform --select 'IDX-PUT-*' -- ./target/release/adapter
  rocketspec conform --rocketmq 4.7.0 --report out
  rocketspec conform --store /data/broker-a/store --report out
  rocketspec conform --baseline known.txt --require index -- ./adapter

\b
Exit codes:
  0 conformant            4 incomplete: skipped, unsupported, cut short
  1 not conformant        5 nothing ran
  2 usage                 6 the baseline is stale
  3 adapter not started   7 reference and real jar disagree (130 interrupted)
"""


def register(app: typer.Typer) -> None:
    """Adds `conform` to the command."""
    app.command("conform", help=HELP)(conform)


def conform(
    command: Annotated[
        list[str] | None, typer.Argument(help="The adapter's command, after --.", show_default=False)
    ] = None,
    *,
    store: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Judge a store that any broker wrote, without an adapter."),
    ] = None,
    geometry: Annotated[
        str | None,
        typer.Option(metavar="SLOTS,ENTRIES", help="Geometry of the index files of --store; else inferred."),
    ] = None,
    workload: Annotated[
        Path | None,
        typer.Option(metavar="MANIFEST", help="What `rocketspec workload` sent to the broker of --store."),
    ] = None,
    rocketmq: Annotated[
        str | None, typer.Option(metavar="VERSION", help="Test the real RocketMQ store of this version.")
    ] = None,
    jars: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Take its jars from here, not from Maven.")
    ] = None,
    oracle: Annotated[
        bool, typer.Option("--oracle", help="Run each case on the real 4.9.3 jar too.")
    ] = False,
    report: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write report.jsonl, .html, .md, junit.xml and replay/ here."),
    ] = None,
    baseline: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Known failures: CASE-OR-GLOB verdict reason.")
    ] = None,
    select: Annotated[
        list[str] | None, typer.Option(metavar="GLOB", help="Only cases whose id matches; repeatable.")
    ] = None,
    level: Annotated[str, typer.Option(help="must: leave out what is only OBSERVED.")] = "observed",
    require: Annotated[
        str, typer.Option(metavar="FAMILIES", help="Families that must be declared, as index,queue.")
    ] = "",
    examples: Annotated[int, typer.Option(min=1, help="Operation lists per property.")] = 100,
    seed: Annotated[int, typer.Option(help="Seed of the lists.")] = 0,
    thorough: Annotated[bool, typer.Option("--thorough", help=f"{_THOROUGH:,} lists per property.")] = False,
    jobs: Annotated[int, typer.Option(min=1, help="Number of adapter processes to run in parallel.")] = 1,
    case_timeout: Annotated[float, typer.Option(min=0.1, help="Seconds that a case may take.")] = 10.0,
    restarts: Annotated[
        int,
        typer.Option(
            min=1,
            help="Crashes and hangs allowed in a family of clauses; then its remaining cases are skipped.",
        ),
    ] = 10,
    fail_fast: Annotated[
        bool, typer.Option("--fail-fast", help="Stop at the first failure that is not in the baseline.")
    ] = False,
    check_schema: Annotated[
        bool, typer.Option("--check-schema", help="Validate each message by its JSON Schema.")
    ] = False,
    scratch: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Cases' files go here; else TMPDIR, memory where there is room."),
    ] = None,
) -> None:
    """Runs the suite and ends with its exit code."""
    from rocket_conformance.baseline import Baseline, read_baseline
    from rocket_conformance.runner import Options
    from rocket_conformance.signals import stop_on_signals
    from rocket_spec.errors import UsageError

    from rocketspec._implementation import open_implementation

    if level not in {"must", "observed"}:
        raise UsageError(f"--level is must or observed, not {level!r}")
    families = [name for name in require.split(",") if name]
    for name in families:
        if name not in _FAMILIES:
            raise UsageError(f"--require takes {', '.join(_FAMILIES)}, not {name!r}")
    if jars is not None and rocketmq is None and not oracle:
        raise UsageError("--jars goes with --rocketmq or --oracle")
    known = Baseline() if baseline is None else read_baseline(baseline)
    if store is not None:
        from rocket_spec.layout import parse_geometry

        from rocketspec.verbs.conform_store import conform_store

        if command or rocketmq or oracle:
            raise UsageError("--store and COMMAND, --rocketmq or --oracle are mutually exclusive")
        given = None if geometry is None else parse_geometry(geometry)
        code = conform_store(
            store,
            geometry=given,
            workload=workload,
            level=level,
            require=families,
            baseline=known,
            folder=report,
        )
        raise typer.Exit(code)
    options = Options(
        select=tuple(select or ()),
        level="must" if level == "must" else "observed",
        examples=_THOROUGH if thorough else examples,
        seed=seed,
        require=families,
        baseline=known,
        restarts=restarts,
        fail_fast=fail_fast,
        command=command or (["--rocketmq", rocketmq] if rocketmq else []),
        scratch=scratch,
    )
    with stop_on_signals(), _adapter_errors(), contextlib.ExitStack() as stack:
        opened = stack.enter_context(
            open_implementation(
                command, rocketmq, jars, case_timeout=case_timeout, check_schema=check_schema, jobs=jobs
            )
        )
        witness = stack.enter_context(_open_oracle(jars)) if oracle else None
        result = _run(opened, options, witness, report)
    raise typer.Exit(_show(result, report))


@contextlib.contextmanager
def _adapter_errors() -> Iterator[None]:
    """An adapter that would not start is exit 3 and one line."""
    from rocket_conformance.transport import AdapterError

    try:
        yield
    except AdapterError as error:
        typer.echo(f"rocketspec: {error}", err=True)
        raise typer.Exit(_ADAPTER_FAILED) from None


@contextlib.contextmanager
def _open_oracle(jars: Path | None) -> Iterator[Transport]:
    from rocket_conformance.rocketmq_jar import ORACLE_VERSION
    from rocket_conformance.session import open_jar

    with open_jar(ORACLE_VERSION, jars=jars) as opened:
        yield opened


def _run(opened: Transport, options: Options, witness: Transport | None, folder: Path | None) -> Report:
    from rich.console import Console
    from rocket_conformance.runner import run

    console = Console(stderr=True)
    if not console.is_terminal:
        return run(opened, options, oracle=witness, report=folder)
    with _progress(console, opened.hello.name) as step:
        return run(opened, options, oracle=witness, report=folder, on_case=step)


@contextlib.contextmanager
def _progress(console: object, name: str) -> Iterator[Callable[[CaseLine, int], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    assert isinstance(console, Console)  # noqa: S101 - rich is imported late
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(name, total=None)

        def step(_line: CaseLine, total: int) -> None:
            progress.update(task, total=total, advance=1)

        yield step


def _show(result: Report, folder: Path | None) -> int:
    from rich.console import Console
    from rocket_conformance.report import write_renderings
    from rocket_conformance.report.terminal import print_summary

    if folder is not None:
        write_renderings(result, folder)
    console = Console(highlight=False)
    implementation = result.header["implementation"]
    console.print(
        f"{implementation['name']} {implementation['version']}".rstrip(), markup=False, style="bold"
    )
    if folder is not None:
        console.print(f"report: {folder / 'report.html'}", markup=False, soft_wrap=True)
    print_summary(result, console, folder=folder)
    return result.exit_code
