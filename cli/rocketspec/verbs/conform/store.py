"""`conform --store`: the verdict on a store that any broker wrote, without an adapter."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rocket_conformance.baseline import Baseline
    from rocket_spec.layout import Geometry

__all__ = ["conform_store"]


def conform_store(
    store: Path,
    *,
    geometry: Geometry | None,
    workload: Path | None,
    level: str,
    require: Sequence[str],
    baseline: Baseline,
    folder: Path | None,
) -> int:
    """Judges a store, prints what it shows, writes a report if a folder is given, and returns the exit code."""
    from rocket_conformance.renderings import write_renderings
    from rocket_conformance.store_verdict import judge_store, store_report, verdict_lines
    from rocket_conformance.workload import read_manifest
    from rocket_spec.printable import printable

    manifest = None if workload is None else read_manifest(workload)
    judged = judge_store(store, geometry=geometry, manifest=manifest)
    report = store_report(judged, level=level, require=require, baseline=baseline, folder=folder)
    if folder is not None:
        write_renderings(report, folder)
        typer.echo(f"report: {folder / 'report.html'}")
    for line in verdict_lines(judged, report):
        typer.echo(printable(line))
    return report.exit_code
