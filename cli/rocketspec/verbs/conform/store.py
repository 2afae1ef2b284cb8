"""`conform --store`: the verdict on a store that any broker wrote, without an adapter."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rocket_conformance.report import Baseline, Report
    from rocket_spec.layout import Geometry
from rocket_spec.profiles import GROUND, Profile


def conform_store(
    store: Path,
    *,
    geometry: Geometry | None,
    commitlog: Sequence[str],
    workload: Path | None,
    release: Profile,
    level: str,
    require: Sequence[str],
    baseline: Baseline,
    folder: Path | None,
) -> tuple[Report, list[str]]:
    """Judges a store: its report, which is written to `folder` if one is given, and its summary in lines."""
    from rocket_conformance.store_verdict import Observations, judge_store, store_report, verdict_lines
    from rocket_conformance.workload import read_manifest

    from rocketspec._settings import note_release

    with suppress(ModuleNotFoundError):  # the base install has no engine to read with
        if release.version == GROUND:
            note_release(store, [Path(folder) for folder in commitlog])
    manifest = None if workload is None else read_manifest(workload)
    seen = Observations(profile=release)
    judged = judge_store(store, geometry=geometry, manifest=manifest, commitlog=commitlog, seen=seen)
    report = store_report(judged, level=level, require=require, baseline=baseline, folder=folder)
    return report, verdict_lines(judged, report)
