"""The verb `audit`: a store's files cross-checked."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rocket_spec.errors import UsageError

from rocketspec._options import (
    FINDINGS,
    CommitLogPaths,
    DeepLevel,
    Force,
    GeometryText,
    JsonLines,
    QuickLevel,
    StorePath,
    exit_codes,
    read_geometry,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocket_columnar.audit import Level
    from rocket_spec.layout import Geometry

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Adds `audit` to the command."""
    app.command(
        "audit", epilog=exit_codes("there are errors or warnings, or a start would delete or lose something")
    )(audit)


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
    max_findings: Annotated[
        int, typer.Option("--max-findings", metavar="N", min=1, help="Print at most N findings.")
    ] = 50,
    report: Annotated[
        Path | None, typer.Option("--report", metavar="DIR", help="Also write a page, DIR/audit.html.")
    ] = None,
    force: Force = False,
    as_json: JsonLines = False,
) -> None:
    """Cross-check index files, consume queues, commit log and checkpoint of a store.

    Findings are printed by cause, the worst first: place, what was found and expected, what it means, the number of
    findings that follow from it, and commands that cure it. The store of a running broker can be audited: entries that
    are only late, torn at the end of a file or repeated after a recovery are notes.

    Example: `rocketspec audit ~/store --deep --json`
    """
    if quick and deep:
        raise UsageError("--quick and --deep are mutually exclusive")
    if restart and (quick or deep):
        raise UsageError("--restart cannot be combined with --quick or --deep")

    from rocket_columnar.audit import audit as engine
    from rocket_columnar.audit import find_causes
    from rocket_columnar.store import while_listed

    from rocketspec._store import has_files
    from rocketspec._terminal import progress
    from rocketspec.verbs.audit.findings_view import print_causes, summary

    given = read_geometry(geometry)
    if restart:
        _restart(store, given, commitlog or (), as_json=as_json)
        return
    if report is not None:
        from rocketspec.verbs.audit.report_page import check_directory, write_page

        check_directory(report, store, force=force)
    level: Level = "quick" if quick else "deep" if deep else "default"
    with progress("auditing"):
        findings = while_listed(lambda: list(engine(store, level, geometry=given, commitlog=commitlog or ())))
    causes = find_causes(findings, has_index=has_files(store, "index"), has_queues=has_files(store, "queue"))
    if report is not None:
        page = write_page(
            report,
            store,
            causes,
            summary=summary(Counter(finding.severity for cause in causes for finding in cause.findings)),
            geometry=given,
        )
    counts = print_causes(causes, path=str(store), as_json=as_json, most=max_findings)
    if not as_json:
        typer.echo(f"{store}: {summary(counts)}")
        if report is not None:
            typer.echo(f"page: {page}")
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
