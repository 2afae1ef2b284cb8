"""The summary on a terminal: counts per family, a line for each failing clause, what is proved, the verdict last."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.table import Table
from rich.text import Text
from rocket_spec.printable import printable

from rocket_conformance.judging import FAILING
from rocket_conformance.report.conclusion import (
    FailingClause,
    causes_of,
    conclusions,
    failing_clauses,
    family_table,
    tone_of,
)
from rocket_conformance.report.lines import CaseLine, Report
from rocket_conformance.report.wording import (
    cause_lines,
    clause_line,
    describe_divergence,
    describe_operations,
)

if TYPE_CHECKING:
    from rich.console import Console

_MOST_OPS: Final = 12
_LONGEST_DETAIL: Final = 600
_MOST_NAMED: Final = 8
"""Failing clauses that the verdict names; of more it gives the number, and each has its own line."""


def print_summary(report: Report, console: Console, *, folder: Path | None = None) -> None:
    """Prints the summary.

    Args:
        report: what to show.
        console: where to.
        folder: the report's folder, whose replay files hold the inputs; None leaves them out.
    """
    console.print(_table(report))
    failing = [item for item in failing_clauses(report) if not item.known]
    if failing:
        console.print()
    for item in failing:
        console.print(
            Text(clause_line(item)),
            no_wrap=True,
            overflow="ellipsis" if console.is_terminal else "ignore",
            crop=False,
        )
    failed = sum(line.verdict in FAILING for line in report.cases)
    for text in cause_lines(causes_of(report), failed):
        console.print(Text(text, style="bold"), soft_wrap=True)
    if failing:
        _print_example(_example(report, failing), console, folder)
    for line in report.cases:
        if line.verdict == "disputed":
            console.print(Text(f"\ndisputed {line.id}: {printable(line.detail)}"))
    if report.footer is not None:
        for text in report.footer["stale"]:
            console.print(Text(f"stale baseline line: {text}"), soft_wrap=True)
    style = {"good": "bold green", "bad": "bold red", "unclear": "bold yellow"}[tone_of(report)]
    console.print()
    for text in conclusions(report, named=len(failing) <= _MOST_NAMED):
        console.print(Text(text, style=style), soft_wrap=True)


def _example(report: Report, failing: Sequence[FailingClause]) -> CaseLine:
    """The example of the first clause; if that differs first elsewhere, the smallest case of the first cause."""
    names = {cause["cases"][0] for cause in causes_of(report)[:1]} if failing[0].elsewhere else set[str]()
    return next((line for line in report.cases if line.id in names), failing[0].cases[0])


def _table(report: Report) -> Table:
    shown, rows = family_table(report)
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    table.add_column("clauses")
    for verdict in shown:
        table.add_column(verdict.replace("_", " "), justify="right")
    for name, counts in rows.items():
        table.add_row(name, *counts)
    return table


def _print_example(line: CaseLine, console: Console, folder: Path | None) -> None:
    """A case: its first differences and its input."""
    console.print(Text(f"\nfor example, {line.verdict} {line.id}"))
    if line.detail:
        console.print(Text(f"  {printable(line.detail, limit=_LONGEST_DETAIL, lines=True)}"), soft_wrap=True)
    for text in describe_divergence(line.divergence[:2]):
        console.print(Text(f"  {text}"), soft_wrap=True)
    if folder is None or line.replay is None:
        return
    path = folder / line.replay
    if line.divergence and path.is_file():
        for text in describe_operations(json.loads(path.read_bytes()), most=_MOST_OPS):
            console.print(Text(f"  {text}", style="dim"), soft_wrap=True)
    console.print(Text(printable(f"  replay: {path}"), style="dim"), soft_wrap=True)
