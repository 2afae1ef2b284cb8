"""The verb `audit`: a store's files cross-checked."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rocket_spec.errors import UsageError

from rocketspec._options import (
    FINDINGS,
    BrokerConfFile,
    CommitLogPaths,
    DeepLevel,
    Force,
    GentleReading,
    GeometryText,
    JsonLines,
    QuickLevel,
    RateLimit,
    StorePath,
    be_gentle,
    exit_codes,
)

if TYPE_CHECKING:
    from rocket_columnar.audit import Level

    from rocketspec._settings import Settings

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Adds `audit` to the command."""
    app.command(
        "audit", epilog=exit_codes("there are errors or warnings, or a start would delete or lose something")
    )(audit)


def audit(
    store: StorePath = None,
    *,
    quick: QuickLevel = False,
    deep: DeepLevel = False,
    restart: Annotated[
        bool, typer.Option("--restart", help="Show what a start of 4.9.3 would delete, truncate and lose.")
    ] = False,
    commitlog: CommitLogPaths = None,
    geometry: GeometryText = None,
    broker_conf: BrokerConfFile = None,
    gentle: GentleReading = False,
    rate: RateLimit = None,
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

    from rocketspec._settings import infers_geometry, mismatches, read_settings
    from rocketspec._store import has_files, last_log
    from rocketspec._terminal import progress
    from rocketspec.verbs.audit.findings_view import Places, print_causes, summary

    threads = be_gentle(gentle=gentle, rate=rate)
    settings = read_settings(store, commitlog, geometry, broker_conf)
    path = settings.store
    if restart:
        _restart(settings, as_json=as_json)
        return
    if report is not None:
        from rocketspec.verbs.audit.report_page import check_directory, write_page

        check_directory(report, path, force=force)
    level: Level = "quick" if quick else "deep" if deep else "default"
    with progress("auditing", unit="bytes") as step:
        findings = while_listed(
            lambda: list(
                engine(
                    path,
                    level,
                    geometry=settings.geometry,
                    threads=threads,
                    commitlog=settings.commitlog,
                    on_progress=step,
                )
            )
        )
    if settings.conf is not None and not settings.conf.index_enabled:
        findings = [finding for finding in findings if finding.code != "index.missing_key"]
    causes = find_causes(
        [*mismatches(settings), *findings],
        has_index=has_files(path, "index"),
        has_queues=has_files(path, "queue"),
        last_log=last_log(path, settings.commitlog),
        knows_geometry=settings.geometry is not None or infers_geometry(path),
    )
    places = Places.of(settings)
    if report is not None:
        page = write_page(
            report,
            settings,
            causes,
            summary=summary(Counter(finding.severity for cause in causes for finding in cause.findings)),
            places=places,
        )
    counts = print_causes(causes, places, as_json=as_json, most=max_findings)
    if not as_json:
        typer.echo(f"{path}: {summary(counts)}")
        if report is not None:
            typer.echo(f"page: {page}")
    if counts["error"] or counts["warning"]:
        raise typer.Exit(FINDINGS)


def _restart(settings: Settings, *, as_json: bool) -> None:
    from rocket_columnar.restart import restarts
    from rocket_columnar.store import while_listed

    from rocketspec._settings import warn
    from rocketspec._terminal import progress
    from rocketspec.verbs.audit.findings_view import Places
    from rocketspec.verbs.audit.restart_view import show

    warn(settings)
    with progress("reading", unit="bytes") as step:
        usual, safe = while_listed(
            lambda: restarts(
                settings.store,
                geometry=settings.geometry,
                commitlog=settings.commitlog,
                on_progress=step,
            )
        )
    index_safe = settings.conf is not None and settings.conf.index_safe
    show(usual, safe, Places.of(settings), as_json=as_json, index_safe=index_safe)
    plan = safe if index_safe else usual
    if plan.deletions or plan.lost_units or len(plan.lost) or plan.refused:
        raise typer.Exit(FINDINGS)
