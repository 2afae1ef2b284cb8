"""The summary on a terminal: counts per family, the smallest input of what failed, the verdict last."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from rocket_conformance.report._summary import conclusion, family_counts
from rocket_conformance.verdicts import FAILING, VERDICTS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from rich.console import Console

    from rocket_conformance.report._lines import CaseLine, Report

__all__ = ["describe_divergence", "print_summary"]

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
    failed.sort(key=lambda line: (not line.divergence, "/prop-" in line.id, line.id))
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
        ops: list[Mapping[str, Any]] = json.loads(path.read_bytes())["ops"]
        for place, op in enumerate(ops[:_MOST_OPS]):
            fields = " ".join(f"{name}={json.dumps(value)}" for name, value in op.items() if name != "op")
            console.print(Text(f"  {place:>3} {op['op']} {fields}", style="dim"), soft_wrap=True)
        if len(ops) > _MOST_OPS:
            console.print(Text(f"      and {len(ops) - _MOST_OPS} more operations", style="dim"))
    console.print(Text(f"  replay: {path}", style="dim"), soft_wrap=True)


def describe_divergence(divergence: tuple[Mapping[str, Any], ...]) -> list[str]:
    """One line of text for each difference."""
    lines: list[str] = []
    for item in divergence:
        where = f"operation {item['op']}" if item["op"] is not None else f"file {item['file']}"
        at = "" if item["offset"] is None else f" at byte {item['offset']}"
        want, got = (_short(item[name]) for name in ("expected", "actual"))
        lines.append(
            f"{item['clause']}: {where}, {item['field']}{at}: {item['kind']}, expected {want}, actual {got}"
        )
    return lines


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= 200 else text[:197] + "..."
