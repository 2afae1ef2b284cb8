"""The summary on a terminal: counts per family, what to mend in order, the verdict last."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.table import Table
from rich.text import Text
from rocket_spec.printable import printable

from rocket_conformance.report.conclusion import Item, account_of, family_table, tone_of
from rocket_conformance.report.lines import Report
from rocket_conformance.report.wording import describe_divergence, describe_operations, happened

if TYPE_CHECKING:
    from rich.console import Console


_MOST_OPS: Final = 12

_MOST_SHOWN: Final = 4
"""Number of items that are shown with an example; the others get a line each."""

_MOST_NAMED: Final = 8
"""Maximum number of failing clauses that the verdict names; of more it gives the number."""


def print_summary(report: Report, console: Console, *, folder: Path | None = None) -> None:
    """Prints the summary.

    Args:
        report: what to show.
        console: where to.
        folder: the report's folder, whose replay files hold the inputs; None leaves them out.
    """
    console.print(_table(report))
    triples: Mapping[str, Sequence[int]] = (report.footer or {}).get("triples", {})
    if triples:
        sent = ", ".join(f"{family} {seen:,} of {count:,}" for family, (seen, count) in triples.items())
        console.print(Text(f"triples of moves sent: {sent}", style="dim"))
    account = account_of(report, most_named=_MOST_NAMED)
    _print_items([item for item in account.items if not item.known], console, folder)
    for line in report.cases:
        if line.verdict == "disputed":
            console.print(Text(f"\ndisputed {line.id}: {printable(line.detail)}"))
    if report.footer is not None:
        for text in report.footer["stale"]:
            console.print(Text(f"stale baseline line: {text}"), soft_wrap=True)
    style = {"good": "bold green", "bad": "bold red", "unclear": "bold yellow"}[tone_of(report)]
    console.print()
    for text in account.verdict:
        console.print(Text(text, style=style), soft_wrap=True)


def _table(report: Report) -> Table:
    shown, rows = family_table(report)
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    table.add_column("clauses")
    for verdict in shown:
        table.add_column(verdict.replace("_", " "), justify="right")
    for name, counts in rows.items():
        table.add_row(name, *counts)
    return table


def _print_items(items: Sequence[Item], console: Console, folder: Path | None) -> None:
    """Prints the failures, causes first; failures that may follow are one line."""
    for place, item in enumerate(items):
        if item.kind == "follows":
            break
        console.print(
            Text(f"\n{item.title}" if place < _MOST_SHOWN else item.title, style="bold"), soft_wrap=True
        )
        if place < _MOST_SHOWN:
            _print_item(item, console, folder)
        else:
            for text in filter(None, (item.caught if item.kind == "clause" else "", item.first)):
                console.print(Text(f"  {text}"), soft_wrap=True)
    if follow := [item for item in items if item.kind == "follows"]:
        listed = ", ".join(f"{item.clause} ({len(item.cases)})" for item in follow)
        console.print(Text(f"\nmay follow from the above, by clause and cases: {listed}"), soft_wrap=True)


def _print_item(item: Item, console: Console, folder: Path | None) -> None:
    """Prints an item's cost, and its example: the first differences and the input."""
    line = item.example
    for text in item.notes:
        console.print(Text(f"  {text}"), soft_wrap=True)
    console.print(Text(f"  for example, {line.verdict} {line.id}"))
    for text in filter(None, happened(line)):
        console.print(Text(f"    {text}"), soft_wrap=True)
    for text in describe_divergence(line.divergence[:2]):
        console.print(Text(f"    {text}"), soft_wrap=True)
    if folder is None or line.replay is None:
        return
    path = folder / line.replay
    if line.divergence and path.is_file():
        for text in describe_operations(json.loads(path.read_bytes()), most=_MOST_OPS):
            console.print(Text(f"    {text}", style="dim"), soft_wrap=True)
    console.print(Text(printable(f"  replay: {path}"), style="dim"), soft_wrap=True)
