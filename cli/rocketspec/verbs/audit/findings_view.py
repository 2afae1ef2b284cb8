"""Prints findings: as JSON lines, or as text grouped by cause, with each cure once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

import typer

from rocketspec._options import counted, write_json
from rocketspec._terminal import fitted, one_line

if TYPE_CHECKING:
    from rocket_columnar.findings import Finding
    from rocket_columnar.report import Cause, Report


_STYLES: Final = {"error": "red", "warning": "yellow", "note": "blue"}
_HANG: Final = 8
_COMMAND: Final = " " * 10


def summary(counts: Counter[str]) -> str:
    """Numbers of findings by severity, in words."""
    return ", ".join(counted(counts[name], name) for name in _STYLES if counts[name]) or "no findings"


def print_causes(report: Report, *, as_json: bool, most: int | None = None, **extra: str) -> Counter[str]:
    """Prints findings by cause; returns their number by severity.

    Args:
        report: on one store.
        as_json: one JSON object per finding instead of text.
        most: greatest number of findings that are printed as text.
        extra: members that each JSON object begins with.
    """
    counts = report.counts
    if as_json:
        for finding in report:
            write_json({**extra, **finding.row()})
        return counts
    left = counts.total() if most is None else most
    hidden = 0
    for cause in report.causes:
        shown = cause.roots[: max(left, 0)]
        left -= len(shown)
        hidden += len(cause.roots) - len(shown)
        if shown:
            for line in _lines(cause, shown):
                typer.echo(_styled(line))
    if hidden:
        typer.echo(f"and {counted(hidden, 'more finding')}; --max-findings N shows more, --json shows all")
    return counts


def _styled(line: str) -> str:
    """A line for the terminal, with its severity in colour; a command stays whole."""
    if line.startswith(_COMMAND):
        return line
    shown, (severity, _, _) = fitted(line, hang=_HANG), line.partition(" ")
    return typer.style(severity, fg=_STYLES[severity]) + shown.removeprefix(severity) if severity else shown


def _lines(cause: Cause, shown: Sequence[Finding]) -> Iterator[str]:
    if cause.title:
        yield f"{cause.severity:7} {one_line(cause.title)}"
    for finding in shown:
        place = one_line(finding.file) + ("" if finding.offset is None else f" at byte {finding.offset:,}")
        clause = f" ({finding.clause})" if finding.clause else ""
        severity = "" if cause.title else finding.severity
        yield f"{severity:7} {finding.code}{clause}  {place}"
        yield f"        {one_line(finding.message)}"
    if cause.consequences:
        parts = ", ".join(f"{number:,} {code}" for code, number in cause.counts().most_common())
        follows = counted(len(cause.consequences), "finding follows", "findings follow")
        yield f"        {follows} from it: {parts}"
    if cause.cure:
        yield f"        cure: {one_line(cause.cure)}"
    for command in cause.commands:
        yield f"{_COMMAND}{command}"
    if cause.otherwise:
        yield f"        otherwise: {one_line(cause.otherwise)}"
    for command in cause.other_commands:
        yield f"{_COMMAND}{command}"
