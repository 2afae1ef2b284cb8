"""The verb `audit`: a store's files cross-checked."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rocket_spec.errors import UsageError

from rocketspec._options import (
    FINDINGS,
    CommitLogPaths,
    DeepLevel,
    GeometryText,
    JsonLines,
    QuickLevel,
    StorePath,
    counted,
    exit_codes,
    read_geometry,
    write_json,
)
from rocketspec._terminal import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from rocket_columnar.audit import Level
    from rocket_columnar.findings import Finding
    from rocket_spec.layout import Geometry

__all__ = ["print_findings", "register"]

_STYLES: Final = {"error": "red", "warning": "yellow", "note": "blue"}


def register(app: typer.Typer) -> None:
    """Adds `audit` to the command."""
    app.command(
        "audit", epilog=exit_codes("there are errors or warnings, or a start would delete or lose something")
    )(audit)


def print_findings(findings: Iterable[Finding], *, as_json: bool) -> Counter[str]:
    """Prints findings as they come, one JSON object or three short lines each; returns their number by severity."""
    counts: Counter[str] = Counter()
    for finding in findings:
        counts[finding.severity] += 1
        if as_json:
            write_json(asdict(finding))
            continue
        place = one_line(finding.file)
        place += "" if finding.offset is None else f" at byte {finding.offset:,}"
        clause = f" ({finding.clause})" if finding.clause else ""
        severity = typer.style(f"{finding.severity:7}", fg=_STYLES[finding.severity])
        typer.echo(f"{severity} {finding.code}{clause}  {place}\n        {finding.message}")
        typer.echo(f"        cure: {finding.cure}")
    return counts


def _summary(counts: Counter[str]) -> str:
    return ", ".join(counted(counts[name], name) for name in _STYLES if counts[name]) or "no findings"


def audit(
    store: StorePath,
    *,
    quick: QuickLevel = False,
    deep: DeepLevel = False,
    restart: Annotated[
        bool, typer.Option("--restart", help="Show what a start of 4.9.3 would delete, truncate and lose.")
    ] = False,
    commitlog: CommitLogPaths = None,
    geometry: GeometryText = None,
    as_json: JsonLines = False,
) -> None:
    """Cross-check index files, consume queues, commit log and checkpoint of a store.

    A finding names the place, what was found and expected, what it means and the cure. The store of a running broker
    can be audited: entries that are only late, torn at the end of a file or repeated after a recovery are notes.

    Example: `rocketspec audit ~/store --deep --json`
    """
    if quick and deep:
        raise UsageError("--quick and --deep are mutually exclusive")
    if restart and (quick or deep):
        raise UsageError("--restart cannot be combined with --quick or --deep")

    from rocket_columnar.audit import audit as engine
    from rocket_columnar.store import while_listed

    from rocketspec._terminal import progress

    given = read_geometry(geometry)
    if restart:
        _restart(store, given, commitlog or (), as_json=as_json)
        return
    level: Level = "quick" if quick else "deep" if deep else "default"
    with progress("auditing"):
        findings = while_listed(lambda: list(engine(store, level, geometry=given, commitlog=commitlog or ())))
    counts = print_findings(findings, as_json=as_json)
    if not as_json:
        typer.echo(f"{store}: {_summary(counts)}")
    if counts["error"] or counts["warning"]:
        raise typer.Exit(FINDINGS)


def _restart(store: Path, geometry: Geometry | None, commitlog: Sequence[str], *, as_json: bool) -> None:
    from rocket_columnar.restart import restarts
    from rocket_columnar.store import while_listed

    from rocketspec._terminal import progress
    from rocketspec.verbs.audit.restart_view import show

    with progress("reading"):
        usual, safe = while_listed(lambda: restarts(store, geometry=geometry, commitlog=commitlog))
    show(usual, safe, as_json=as_json)
    if usual.deletions or usual.lost_units or len(usual.lost) or usual.refused:
        raise typer.Exit(FINDINGS)
