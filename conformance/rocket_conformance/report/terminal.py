"""The summary on a terminal: counts per family, the smallest input of what failed, the verdict last."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from rocket_conformance.report._summary import conclusion, family_counts
from rocket_conformance.report._text import describe_divergence, describe_operations
from rocket_conformance.verdicts import FAILING, VERDICTS

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

    from rocket_conformance.report._lines import CaseLine, Report

__all__ = ["print_summary"]

_MOST_SHOWN = 5
_MOST_OPS = 12


def print_summary(report: Report, console: Console, *, folder: Path | None = None) -> None:
    """Prints the summary.

    Args:
        report: what to show.
        console: where to.
        folder: the report's folder, whose replay files hold the inputs; None leaves them out.
    """
    console.print(_table(report))
    failed = [line for line in report.cases if line.verdict in FAILING and not line.baselined]
    failed.sort(key=lambda line: (not _own(line), "/prop-" in line.id, line.id))
    for line in failed[:_MOST_SHOWN]:
        _print_failure(line, console, folder)
    if len(failed) > _MOST_SHOWN:
        where = f"; all of them are in {folder / 'report.html'}" if folder is not None else ""
        console.print(Text(f"\nand {len(failed) - _MOST_SHOWN} more{where}"))
    for line in report.cases:
        if line.verdict == "disputed":
            console.print(Text(f"\ndisputed {line.id}: {line.detail}"))
    if report.footer is not None:
        for text in report.footer["stale"]:
            console.print(Text(f"stale baseline line: {text}"))
    style = {0: "bold green", 1: "bold red", 7: "bold red"}.get(report.exit_code, "bold yellow")
    console.print()
    console.print(Text(conclusion(report), style=style), soft_wrap=True)


def _own(line: CaseLine) -> bool:
    """Whether it breaks the clause that it is named after: those tell the most."""
    return bool(line.divergence) and line.id.startswith(f"{line.divergence[0]['clause']}/")


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


def _print_failure(line: CaseLine, console: Console, folder: Path | None) -> None:
    console.print()
    console.print(Text.assemble((line.verdict, "red"), " ", (line.id, "bold")), soft_wrap=True)
    if line.detail:
        console.print(Text(f"  {line.detail[:600]}"), soft_wrap=True)
    for text in describe_divergence(line.divergence[:2]):
        console.print(Text(f"  {text}"), soft_wrap=True)
    if folder is None or line.replay is None:
        return
    path = folder / line.replay
    if line.divergence and path.is_file():
        for text in describe_operations(json.loads(path.read_bytes()), most=_MOST_OPS):
            console.print(Text(f"  {text}", style="dim"), soft_wrap=True)
    console.print(Text(f"  replay: {path}", style="dim"), soft_wrap=True)
