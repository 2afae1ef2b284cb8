"""The page of one report: the verdict by part and level, then the causes, then everything else."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any, Final

from rocket_spec.clauses import clauses
from rocket_spec.printable import printable

from rocket_conformance.pages.counterexample import counterexample_of
from rocket_conformance.pages.layout import render_page
from rocket_conformance.report import (
    cause_lines,
    cause_title,
    causes_of,
    conclusions,
    describe_divergence,
    family_verdicts,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from rocket_conformance.report import CaseLine, Report

__all__ = ["render_report"]

_LONGEST: Final = 160
_COLUMNS: Final = (
    {"field": "passed", "name": "passed", "tone": "good"},
    {"field": "failed", "name": "failed", "tone": "bad"},
    {"field": "known", "name": "known failures", "tone": "unclear"},
    {"field": "left_out", "name": "left out", "tone": "unclear"},
    {"field": "not_applicable", "name": "not applicable", "tone": "soft"},
)
_OTHERS: Final = {
    "disputed": "Disputed: reference and real jar disagree",
    "skipped": "Skipped",
    "unsupported": "Unsupported",
    "pass": "Passed",
    "not_applicable": "Not applicable",
}


def render_report(report: Report, folder: Path | None = None) -> str:
    """The page.

    Args:
        report: what to show.
        folder: the report's folder, whose replay files hold the counterexamples; None leaves them out.
    """
    implementation = report.header["implementation"]
    geometry = implementation["geometry"]
    families = family_verdicts(report)
    return render_page(
        "report.html.j2",
        {
            "header": report.header,
            "name": printable(
                f"{implementation['name']} {implementation['version']}".strip(), limit=_LONGEST
            ),
            "language": printable(implementation["language"], limit=_LONGEST),
            "command": printable(shlex.join(report.header["command"]), limit=_LONGEST),
            "geometry": geometry
            if geometry == "any"
            else ", ".join(f"{s} slots, {n} entries" for s, n in geometry),
            "features": printable(", ".join(implementation["features"]) or "none"),
            "conclusions": [printable(text) for text in conclusions(report)],
            "tone": tone_of(report),
            "cut_off": report.footer is None,
            "stale": (report.footer or {}).get("stale", []),
            "families": [row._asdict() for row in families],
            "columns": [
                column for column in _COLUMNS if any(getattr(row, column["field"]) for row in families)
            ],
            "causes": list(_causes(report, folder)),
            "others": list(_others(report)),
        },
    )


def tone_of(report: Report) -> str:
    """The style of the verdict: good, bad or unclear."""
    if report.exit_code == 0:
        return "good"
    return "bad" if report.exit_code in {1, 7} else "unclear"


def _causes(report: Report, folder: Path | None) -> Iterator[Mapping[str, Any]]:
    lines = {line.id: line for line in report.cases}
    known = clauses()
    for number, cause in enumerate(causes_of(report), 1):
        cases = [lines[name] for name in cause["cases"]]
        clause = known.get(cause["clause"])
        yield {
            "number": number,
            "clause": cause["clause"],
            "level": cause["level"],
            "title": cause_title(cause),
            "text": clause.summary if clause is not None else "",
            "source": clause.source if clause is not None else "",
            "lines": cause_lines(cause)[clause is not None :],
            "known": all(line.baselined for line in cases),
            "carried": len(cases) - cause["own"],
            "example": counterexample_of(cases[0], folder, report.header["command"]),
            "cases": [_case(line) for line in cases],
        }


def _case(line: CaseLine) -> Mapping[str, Any]:
    first = describe_divergence(line.divergence[:1])
    return {
        "id": line.id,
        "verdict": line.verdict,
        "known": line.baselined,
        "first": printable(first[0] if first else line.detail, limit=_LONGEST),
        "detail": printable(line.detail, limit=_LONGEST),
    }


def _others(report: Report) -> Iterator[tuple[str, list[Mapping[str, Any]]]]:
    """The cases that did not fail, by verdict; what does not apply comes last."""
    for verdict, title in _OTHERS.items():
        cases = [
            _case(line) for line in sorted(report.cases, key=lambda line: line.id) if line.verdict == verdict
        ]
        if cases:
            yield title, cases
