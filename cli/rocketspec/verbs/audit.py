"""The verb `audit`: a store's files held against each other."""

from __future__ import annotations

import json
import sys
from collections import Counter
from dataclasses import asdict
from pathlib import Path  # noqa: TC003  typer reads the annotation
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rocket_spec.errors import UsageError

from rocketspec._notes import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rocket_columnar.audit import Level
    from rocket_columnar.findings import Finding
    from rocket_spec.layout import Geometry

__all__ = ["print_findings", "register"]

_FINDINGS: Final = 1
_REFUSED: Final = ("log.gap", "queue.size")  # of what lies among a store's files and is none
_STYLES: Final = {"error": "red", "warning": "yellow", "note": "blue"}


def register(app: typer.Typer) -> None:
    """Adds `audit` to the command."""
    app.command("audit")(audit)


def print_findings(findings: Iterable[Finding], *, as_json: bool) -> Counter[str]:
    """Prints findings as they come, one JSON object or three short lines each; how many there are by severity."""
    counts: Counter[str] = Counter()
    for finding in findings:
        counts[finding.severity] += 1
        if as_json:
            sys.stdout.write(json.dumps(asdict(finding), ensure_ascii=False, separators=(",", ":")) + "\n")
            continue
        place = one_line(finding.file)
        place += "" if finding.offset is None else f" at byte {finding.offset:,}"
        clause = f" ({finding.clause})" if finding.clause else ""
        severity = typer.style(f"{finding.severity:7}", fg=_STYLES[finding.severity])
        typer.echo(f"{severity} {finding.code}{clause}  {place}\n        {finding.message}")
        typer.echo(f"        cure: {finding.cure}")
    return counts


def _summary(counts: Counter[str]) -> str:
    told = [f"{counts[name]:,} {name}{'s' * (counts[name] != 1)}" for name in _STYLES if counts[name]]
    return ", ".join(told) or "no findings"


def audit(
    store: Annotated[Path, typer.Argument(metavar="STORE", help="The directory of a store.")],
    *,
    quick: Annotated[
        bool, typer.Option("--quick", help="Only names, sizes, headers, checkpoint and continuity.")
    ] = False,
    deep: Annotated[
        bool, typer.Option("--deep", help="Also body checksums, and every key by 4.9.3's own select.")
    ] = False,
    restart: Annotated[
        bool, typer.Option("--restart", help="Tell what a start of 4.9.3 would delete, cut off and lose.")
    ] = False,
    geometry: Annotated[
        str | None, typer.Option(metavar="S,N", help="Slots and entries of the index files. \\[inferred]")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object for each finding.")] = False,
) -> None:
    """Cross-check index files, consume queues, commit log and checkpoint of a store.

    Each finding names what was found and expected, where, what it means and what cures it. A store that a broker
    is writing can be audited: what is only late, torn at the end or double after a recovery is a note. Exit code 1
    when there are errors or warnings; with --restart, when a start would delete or lose something.

    Example: `rocketspec audit ~/store --deep --json`
    """
    if quick and deep:
        raise UsageError("--quick and --deep: say one of them")
    if restart and (quick or deep):
        raise UsageError("--restart goes without --quick and --deep")

    from rocket_columnar.audit import audit as engine
    from rocket_columnar.index import parse_geometry
    from rocket_columnar.store import while_listed

    from rocketspec.verbs._waiting import waiting

    given = None if geometry is None else parse_geometry(geometry)
    if restart:
        _restart(store, given, as_json=as_json)
        return
    level: Level = "quick" if quick else "deep" if deep else "default"
    with waiting("auditing"):
        findings = while_listed(lambda: list(engine(store, level, geometry=given)))
    counts = print_findings(findings, as_json=as_json)
    if not as_json:
        typer.echo(f"{store}: {_summary(counts)}")
    if counts["error"] or counts["warning"]:
        raise typer.Exit(_FINDINGS)


def _restart(store: Path, geometry: Geometry | None, *, as_json: bool) -> None:
    from dataclasses import replace
    from functools import partial

    from rocket_columnar.audit import plan_audit
    from rocket_columnar.restart import restart as engine
    from rocket_columnar.store import while_listed

    from rocketspec.verbs import _restart_view
    from rocketspec.verbs._waiting import waiting

    with waiting("reading"):
        usual, safe = (
            while_listed(partial(engine, store, index_safe=value, geometry=geometry))
            for value in (False, True)
        )
        plan = while_listed(lambda: plan_audit(store, "quick", geometry=geometry))
        for found in plan.findings:
            if found.code in _REFUSED:
                usual = replace(usual, refused=f"{found.file}: {found.message}")
    _restart_view.show(usual, safe, as_json=as_json)
    if usual.deletions or usual.lost_units or len(usual.lost) or usual.refused:
        raise typer.Exit(_FINDINGS)
