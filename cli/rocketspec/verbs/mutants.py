"""The verb `mutants`: tries the suite on wrong implementations."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rocket_conformance.mutants import Outcome

__all__ = ["register"]

HELP = """Try the suite on wrong implementations: each is one wrong reading of one clause.

Shows by which case each is noticed, the directed cases of its clause first, and
how many are: the mutant score.

\b
Examples:
  rocketspec mutants
  rocketspec mutants --select 'IDX-PUT-*' --select '*off*'
  rocketspec mutants --family CQ --alone properties --seed 4
  rocketspec conform -- python -m rocket_conformance.mutants keys-split-at-commas

\b
Exit codes:
  0 each was noticed   1 one survives   2 usage
"""


def register(app: typer.Typer) -> None:
    """Adds `mutants` to the command."""
    app.command("mutants", help=HELP)(mutants)


def mutants(
    select: Annotated[
        list[str] | None,
        typer.Option(metavar="GLOB", help="Only those whose name or clause matches; repeatable."),
    ] = None,
    *,
    family: Annotated[
        list[str] | None,
        typer.Option(metavar="F", help="Only clauses of this family: IDX, CQ-PUT, none; repeatable."),
    ] = None,
    alone: Annotated[
        str,
        typer.Option(metavar="WHAT", help="Run these alone: own, the clause's directed cases; properties."),
    ] = "",
    seed: Annotated[int, typer.Option(help="Seed of the properties' lists.")] = 0,
    examples: Annotated[int, typer.Option(min=1, help="Operation lists per property.")] = 100,
    listed: Annotated[bool, typer.Option("--list", help="Only name them and their clauses.")] = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON object a line, the score last.")] = False,
) -> None:
    """Hunts each and ends with 1 where one survives."""
    from rocket_conformance.mutants import find, hunt, own_cases, properties
    from rocket_spec.errors import UsageError

    if alone not in {"", "own", "properties"}:
        raise UsageError(f"--alone is own or properties, not {alone!r}")
    chosen = find(
        tuple(select or ()), tuple(name.upper() if name != "none" else name for name in family or ())
    )
    if listed:
        for item in chosen:
            typer.echo(f"{item.clause:<12} {item.name}")
        return
    outcomes: list[Outcome] = []
    with _progress(len(chosen)) as step:
        for item in chosen:
            among = {"own": own_cases(item.clause), "properties": properties()}.get(alone)
            outcomes.append(hunt(item, seed=seed, examples=examples, among=among))
            _show(outcomes[-1], json=json)
            step()
    _score(outcomes, json=json)
    if not all(outcome.killed for outcome in outcomes):
        raise typer.Exit(1)


def _show(outcome: Outcome, *, json: bool) -> None:
    from dataclasses import asdict
    from json import dumps

    if json:
        typer.echo(dumps({**asdict(outcome), "killed": outcome.killed}))
        return
    by = f"{outcome.killed_by or 'no case applies'} ({outcome.verdict})" if outcome.killed else "SURVIVES"
    typer.echo(f"{outcome.clause:<12} {outcome.name:<44} {by}")


def _score(outcomes: list[Outcome], *, json: bool) -> None:
    from json import dumps

    killed, total = sum(outcome.killed for outcome in outcomes), len(outcomes)
    if json:
        typer.echo(dumps({"killed": killed, "total": total, "score": killed / total}))
        return
    survivors = "".join(f"\n  survives: {item.name} ({item.clause})" for item in outcomes if not item.killed)
    typer.echo(f"\nmutant score {killed} of {total} ({100 * killed // total} %){survivors}")


@contextlib.contextmanager
def _progress(total: int) -> Iterator[Callable[[], None]]:
    """A bar on stderr where that is a terminal and the lines go elsewhere; on one terminal they are enough."""
    import sys

    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    if not console.is_terminal or sys.stdout.isatty():
        yield lambda: None
        return
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task("mutants", total=total)
        yield lambda: progress.advance(task)
