"""The page of two reports of one implementation: what broke, what was fixed, with the new counterexamples."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from rocket_spec.printable import printable

from rocket_conformance.pages.counterexample import counterexample_of
from rocket_conformance.pages.layout import render_page
from rocket_conformance.report import Change, Report, ReportDiff, clause_title, conclusions, failing_clauses

_MOST_INPUTS: Final = 100
"""Changes of a kind that are shown with their input."""


def render_diff(diff: ReportDiff, old: Report, new: Report, folder: Path | None = None) -> str:
    """The page.

    Args:
        diff: what changed from `old` to `new`.
        old: the earlier report.
        new: the later report.
        folder: the folder of `new`, whose replay files hold the counterexamples; None leaves them out.
    """
    return render_page(
        "diff.html.j2",
        {
            "runs": [_run(name, report) for name, report in (("old", old), ("new", new))],
            "tone": "bad" if diff.broken else "good",
            "summary": f"{len(diff.broken)} broken, {len(diff.fixed)} fixed, {len(diff.changed)} changed, "
            f"{len(diff.added)} added, {len(diff.removed)} removed",
            "notes": [printable(note) for note in diff.notes],
            "failing": [printable(clause_title(item)) for item in failing_clauses(new)],
            "groups": list(_groups(diff, new, folder)),
        },
    )


def _run(name: str, report: Report) -> Mapping[str, Any]:
    implementation = report.header["implementation"]
    title = f"{implementation['name']} {implementation['version']}".strip()
    return {
        "name": name,
        "title": printable(title),
        "started": printable(report.header["started"]),
        "conclusion": printable(conclusions(report, named=False)[-1]),
    }


def _groups(diff: ReportDiff, new: Report, folder: Path | None) -> Iterator[Mapping[str, Any]]:
    for name in ("broken", "fixed", "changed", "added", "removed"):
        changes: tuple[Change, ...] = getattr(diff, name)
        if changes:
            yield {
                "name": name,
                "is_open": name in {"broken", "changed"},
                "cases": [
                    {
                        "id": change.id,
                        "old": change.old or "not in the report",
                        "new": change.new or "not in the report",
                        "fails": change.fails,
                        "example": counterexample_of(
                            change.line, folder if place < _MOST_INPUTS else None, new.header["command"]
                        ),
                    }
                    for place, change in enumerate(changes)
                ],
            }
