"""How findings are shown: as JSON lines, or as text by cause, with each cure once."""

from __future__ import annotations

import shlex
from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING, Final

import typer

from rocketspec._options import counted, write_json
from rocketspec._terminal import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rocket_columnar.audit import Cause
    from rocket_columnar.findings import Finding

__all__ = ["print_causes", "summary"]

_STYLES: Final = {"error": "red", "warning": "yellow", "note": "blue"}


def summary(counts: Counter[str]) -> str:
    """Numbers of findings by severity, in words."""
    return ", ".join(counted(counts[name], name) for name in _STYLES if counts[name]) or "no findings"


def print_causes(
    causes: Sequence[Cause], *, path: str, as_json: bool, most: int | None = None, **extra: str
) -> Counter[str]:
    """Prints findings by cause; returns their number by severity.

    Args:
        causes: of one store.
        path: of the store, for the commands that cure.
        as_json: one JSON object per finding instead of text.
        most: greatest number of findings that are printed as text.
        extra: members that each JSON object begins with.
    """
    counts: Counter[str] = Counter(finding.severity for cause in causes for finding in cause.findings)
    if as_json:
        for cause in causes:
            for finding in cause.findings:
                write_json({**extra, **asdict(finding), "cure": _of_store(finding.cure, path)})
        return counts
    left = counts.total() if most is None else most
    hidden = 0
    for cause in causes:
        shown = cause.roots[: max(left, 0)]
        left -= len(shown)
        hidden += len(cause.roots) - len(shown)
        if shown:
            for line in _lines(cause, shown, path):
                typer.echo(line)
    if hidden:
        typer.echo(f"and {counted(hidden, 'more finding')}; --max-findings N shows more, --json shows all")
    return counts


def _of_store(text: str, store: str) -> str:
    return text.replace("STORE", shlex.quote(store))


def _lines(cause: Cause, shown: Sequence[Finding], store: str) -> Iterator[str]:
    if cause.title:
        yield typer.style(f"{cause.severity:7}", fg=_STYLES[cause.severity]) + f" {cause.title}"
    for finding in shown:
        place = one_line(finding.file) + ("" if finding.offset is None else f" at byte {finding.offset:,}")
        clause = f" ({finding.clause})" if finding.clause else ""
        severity = (
            " " * 7 if cause.title else typer.style(f"{finding.severity:7}", fg=_STYLES[finding.severity])
        )
        yield f"{severity} {finding.code}{clause}  {place}"
        yield f"        {one_line(finding.message)}"
    if cause.consequences:
        parts = ", ".join(f"{number:,} {code}" for code, number in cause.counts().most_common())
        follows = (
            "1 finding follows"
            if len(cause.consequences) == 1
            else f"{len(cause.consequences):,} findings follow"
        )
        yield f"        {follows} from it: {parts}"
    yield f"        cure: {cause.cure}"
    for command in cause.commands:
        yield f"          {_of_store(command, store)}"
