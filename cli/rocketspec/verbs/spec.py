"""The verb `spec`: the clauses of SPEC.md, and the cases and mutants of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

import typer
from rocket_spec.printable import counted

from rocketspec._options import print_rows, write_json
from rocketspec._tables import columns

if TYPE_CHECKING:
    from rocket_conformance.mutants import ClauseCoverage
    from rocket_spec.clauses import Clause
    from rocket_spec.profiles import Profile


_COUNTS: Final = ("directed", "seeded", "properties", "mutants")


GROUP: Final = typer.Typer(help="The clauses of the specification.", no_args_is_help=True)


@GROUP.command("list")
def list_clauses(
    level: str | None = None,
    family: str | None = None,
    json: bool = False,
) -> None:
    """List the clauses: ID, level, evidence and first sentence.

    Example: `rocketspec spec list --family IDX-PUT --level must`
    """
    from rocket_spec.clauses import clauses

    _check_family(family)
    chosen = [
        clause
        for clause in clauses().values()
        if clause.level == _level(level, clause.level) and _in_family(clause, family)
    ]
    head = ("clause", "level", "evidence", "summary")
    rows = [(clause.id, clause.level, clause.evidence, clause.summary) for clause in chosen]
    lines = [*columns([head, *rows]), "", counted(len(chosen), "clause")]
    print_rows(map(_as_json, chosen), lines, as_json=json)
    if not chosen:
        raise typer.Exit(1)


@GROUP.command("show")
def show_clause(
    clause_id: str,
    rocketmq_profile: str | None = None,
    json: bool = False,
) -> None:
    """Show one clause: level, text, example and its place in the Java source.

    Example: `rocketspec spec show CQ-MIN-1 --rocketmq-profile 5.5.1`
    """
    from rocket_spec.clauses import clauses
    from rocket_spec.profiles import profile

    known = clauses()
    clause = known.get(clause_id.upper())
    if clause is None:
        raise _unknown("clause", clause_id, list(known))
    release = None if rocketmq_profile is None else profile(rocketmq_profile)
    if json:
        shown = _as_json(clause)
        if release is not None:
            found = [asdict(difference) for difference in release.of(clause.id)]
            shown["profile"] = {"release": release.version, "differences": found}
        write_json(shown)
        return
    _print_clause(clause, release)


@GROUP.command("coverage")
def show_coverage(family: str | None = None, json: bool = False) -> None:
    """Show the evidence of each clause: directed cases, properties, mutants. Exits with 1 if any is missing.

    Example: `rocketspec spec coverage --family IDX-SVC`
    """
    from rocket_conformance.mutants import coverage
    from rocket_spec.clauses import clauses

    _check_family(family)
    rows = [row for row in coverage() if _in_family(clauses()[row.id], family)]
    shown = ({**asdict(row), "shown": row.shown} for row in rows)
    print_rows(shown, _coverage_lines(rows), as_json=json)
    if not all(row.shown for row in rows if row.level != "UNSPECIFIED"):
        raise typer.Exit(1)


def _check_family(family: str | None) -> None:
    from rocket_spec.clauses import clauses

    if family is not None and not any(_in_family(clause, family) for clause in clauses().values()):
        raise _unknown("family", family, sorted({clause.family for clause in clauses().values()}))


def _level(asked: str | None, own: str) -> str:
    """The level that a clause must have: `asked`, or its own if that is None."""
    from rocket_spec.clauses import LEVELS
    from rocket_spec.errors import UsageError

    if asked is None:
        return own
    if asked.upper() not in LEVELS:
        raise UsageError(f"unknown level {asked!r}; expected {', '.join(LEVELS).lower()}")
    return asked.upper()


def _in_family(clause: Clause, family: str | None) -> bool:
    return family is None or f"{clause.family}-".startswith(f"{family.upper()}-")


def _unknown(what: str, name: str, known: list[str]) -> Exception:
    """The error for an unknown name, with similar ones."""
    from difflib import get_close_matches

    from rocket_spec.errors import UsageError

    near = get_close_matches(name.upper(), known, n=4, cutoff=0.6)
    hint = f"did you mean {', '.join(near)}?" if near else "see `rocketspec spec list`"
    return UsageError(f"unknown {what} {name!r}; {hint}")


def _as_json(clause: Clause) -> dict[str, Any]:
    names = ("id", "family", "level", "since", "evidence", "golden", "source", "summary", "text")
    return {name: getattr(clause, name) for name in names}


def _coverage_lines(rows: Sequence[ClauseCoverage]) -> Iterator[str]:
    """The table of clauses with their evidence, and its sums."""
    table: list[tuple[str, ...]] = [("clause", "level", "evidence", *_COUNTS)]
    for row in rows:
        evidence = row.evidence if row.shown or row.level == "UNSPECIFIED" else f"{row.evidence} (missing)"
        counts = (str(getattr(row, name) or "") for name in _COUNTS)
        table.append((row.id, row.level, evidence, *counts))
    yield from columns(table, right=range(3, 3 + len(_COUNTS)))
    asked = [row for row in rows if row.level != "UNSPECIFIED"]
    by_cases = [row for row in asked if row.evidence == "case"]
    misread = [row for row in by_cases if row.mutants]
    yield ""
    for name, chosen, among in (
        ("with evidence", [row for row in asked if row.shown], asked),
        ("by cases", by_cases, asked),
        ("by golden tests", [row for row in asked if row.evidence == "golden"], asked),
        ("misread by a mutant, of those by cases", misread, by_cases),
    ):
        share = f" ({100 * len(chosen) / len(among):.0f} %)" if among else ""
        yield f"{name}: {len(chosen)} of {len(among)} clauses{share}"
    totals = [sum(getattr(row, name) for row in rows) for name in _COUNTS]
    yield "{:,} directed cases, {:,} seeded ones, {:,} properties, {:,} mutants".format(*totals)


def _print_clause(clause: Clause, release: Profile | None) -> None:
    from rich.console import Console
    from rich.markdown import Markdown

    shown = clause.golden if clause.golden is not None else clause.evidence
    console = Console()
    console.print(f"[bold]{clause.id}[/bold]  {clause.level} · since {clause.since}", highlight=False)
    console.print(Markdown(f"\n{clause.text}\n"))
    console.print(f"\nSource: {clause.source}\nEvidence: {shown}", highlight=False, markup=False)
    if release is None:
        return
    found = release.of(clause.id)
    if not found:
        console.print(f"\n{release.version}: no known difference", highlight=False)
    for difference in found:
        releases = " to ".join(dict.fromkeys((difference.first, difference.last)))
        console.print(f"\n[bold]{release.version} instead[/bold] ({releases})", highlight=False)
        console.print(Markdown(f"\n{difference.text}\n"))
        source = f"\nSource at {difference.at}: {difference.source}\nEvidence: {difference.evidence}"
        console.print(source, highlight=False, markup=False)
