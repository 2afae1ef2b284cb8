"""The verb `mutants`: runs the suite on wrong implementations."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import typer

from rocketspec._options import FINDINGS, write_json
from rocketspec._terminal import progress

if TYPE_CHECKING:
    from rocket_conformance.mutants import Outcome


def mutants(
    select: list[str] | None = None,
    *,
    family: list[str] | None = None,
    alone: str = "",
    seed: int = 0,
    examples: int = 100,
    listed: bool = False,
    json: bool = False,
) -> None:
    """Run the suite on wrong implementations: each is one wrong reading of one clause.

    Shows which case detects each of them, trying the directed cases of its clause first, and the share that is detected: the
    mutant score.

    Examples:
      rocketspec mutants
      rocketspec mutants --select 'IDX-PUT-*' --select '*off*'
      rocketspec mutants --family CQ --alone properties

    Exit codes:
      0 all detected   1 some survive   2 usage
    """
    from rocket_conformance.mutants import find, hunt, own_cases, properties
    from rocket_spec.errors import UsageError

    if alone not in {"", "own", "properties"}:
        raise UsageError(f"--alone {alone!r}: expected own or properties")
    chosen = find(
        tuple(select or ()), tuple(name.upper() if name != "none" else name for name in family or ())
    )
    if listed:
        for item in chosen:
            typer.echo(f"{item.clause:<12} {item.name}")
        return
    outcomes: list[Outcome] = []
    with progress("mutants", unit="mutants", shown=not sys.stdout.isatty()) as step:
        for number, item in enumerate(chosen, start=1):
            among = {"own": own_cases(item.clause), "properties": properties()}.get(alone)
            outcomes.append(hunt(item, seed=seed, examples=examples, among=among))
            _show(outcomes[-1], json=json)
            step(number, len(chosen))
    _score(outcomes, json=json)
    if not all(outcome.killed for outcome in outcomes):
        raise typer.Exit(FINDINGS)


def _show(outcome: Outcome, *, json: bool) -> None:
    from dataclasses import asdict

    if json:
        write_json({**asdict(outcome), "killed": outcome.killed})
        return
    by = f"{outcome.killed_by or 'no case applies'} ({outcome.verdict})" if outcome.killed else "SURVIVES"
    typer.echo(f"{outcome.clause:<12} {outcome.name:<44} {by}")


def _score(outcomes: list[Outcome], *, json: bool) -> None:
    killed, total = sum(outcome.killed for outcome in outcomes), len(outcomes)
    if json:
        write_json({"killed": killed, "total": total, "score": killed / total})
        return
    survivors = "".join(f"\n  survives: {item.name} ({item.clause})" for item in outcomes if not item.killed)
    typer.echo(f"\nmutant score {killed} of {total} ({100 * killed // total} %){survivors}")
