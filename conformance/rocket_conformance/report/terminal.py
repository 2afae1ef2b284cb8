"""The summary on a terminal: counts per family, the causes with their smallest inputs, the verdict last."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from rich.table import Table
from rich.text import Text
from rocket_spec.printable import printable

from rocket_conformance.report.conclusion import causes_of, conclusions, family_counts
from rocket_conformance.report.wording import (
    cause_lines,
    cause_title,
    describe_divergence,
    describe_operations,
)
from rocket_conformance.verdicts import VERDICTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from rich.console import Console

    from rocket_conformance.report.lines import CaseLine, Report

__all__ = ["print_summary"]

_MOST_CAUSES: Final = 5
_MOST_OPS: Final = 12
_LONGEST_DETAIL: Final = 600


def print_summary(report: Report, console: Console, *, folder: Path | None = None) -> None:
    """Prints the summary.

    Args:
        report: what to show.
        console: where to.
        folder: the report's folder, whose replay files hold the inputs; None leaves them out.
    """
    console.print(_table(report))
    lines = {line.id: line for line in report.cases}
    new = [cause for cause in causes_of(report) if not all(lines[name].baselined for name in cause["cases"])]
    for number, cause in enumerate(new[:_MOST_CAUSES], 1):
        console.print()
        console.print(
            Text.assemble((f"cause {number}: ", "red"), (cause_title(cause), "bold")), soft_wrap=True
        )
        for text in (*cause_lines(cause), *_example(cause, lines)):
            console.print(Text(f"  {text}"), soft_wrap=True)
        for text in _input(lines[cause["cases"][0]], folder):
            console.print(Text(f"  {text}", style="dim"), soft_wrap=True)
    if len(new) > _MOST_CAUSES:
        where = f"; all of them are in {folder / 'report.html'}" if folder is not None else ""
        console.print(Text(f"\nand {len(new) - _MOST_CAUSES} more causes{where}"))
    for line in report.cases:
        if line.verdict == "disputed":
            console.print(Text(f"\ndisputed {line.id}: {printable(line.detail)}"))
    if report.footer is not None:
        for text in report.footer["stale"]:
            console.print(Text(f"stale baseline line: {text}"))
    style = {0: "bold green", 1: "bold red", 7: "bold red"}.get(report.exit_code, "bold yellow")
    console.print()
    for text in conclusions(report):
        console.print(Text(text, style=style), soft_wrap=True)


def _table(report: Report) -> Table:
    counts = family_counts(report)
    shown = [verdict for verdict in VERDICTS if any(verdict in family for family in counts.values())]
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    table.add_column("clauses")
    for verdict in shown:
        table.add_column(verdict.replace("_", " "), justify="right")
    for name, family in counts.items():
        table.add_row(name, *(str(family.get(verdict, "")) for verdict in shown))
    return table


def _example(cause: Mapping[str, Any], lines: Mapping[str, CaseLine]) -> Iterator[str]:
    """The most telling case, and its first differences."""
    line = lines[cause["cases"][0]]
    yield f"for example: {line.verdict} {line.id}"
    if line.detail:
        yield f"  {printable(line.detail, limit=_LONGEST_DETAIL, lines=True)}"
    for text in describe_divergence(line.divergence[:2]):
        yield f"  {text}"


def _input(line: CaseLine, folder: Path | None) -> Iterator[str]:
    if folder is None or line.replay is None:
        return
    path = folder / line.replay
    if line.divergence and path.is_file():
        yield from describe_operations(json.loads(path.read_bytes()), most=_MOST_OPS)
    yield f"replay: {path}"
