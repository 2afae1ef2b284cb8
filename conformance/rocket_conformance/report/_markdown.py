"""A summary in Markdown, for a pull request or a job's page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rocket_conformance.report._summary import conclusion, family_counts
from rocket_conformance.verdicts import FAILING, VERDICTS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rocket_conformance.report._lines import Report

__all__ = ["render_markdown"]


def render_markdown(report: Report) -> str:
    """The verdict, counts per family of clauses, and what failed."""
    implementation = report.header["implementation"]
    lines = [
        f"# {implementation['name']} {implementation['version']}".rstrip(),
        "",
        f"**{conclusion(report)}**",
        "",
        (
            f"Suite {report.header['suite']}, protocol {report.header['protocol']}, seed {report.header['seed']}, "
            f"{report.header['examples']} lists per property, {report.header['started']}."
        ),
        "",
    ]
    counts = family_counts(report)
    shown = [verdict for verdict in VERDICTS if any(verdict in family for family in counts.values())]
    lines += ["| clauses | " + " | ".join(shown) + " |", "|---|" + "---:|" * len(shown)]
    lines += [
        f"| {name} | " + " | ".join(str(family.get(verdict, "")) for verdict in shown) + " |"
        for name, family in counts.items()
    ]
    failed = [line for line in report.cases if line.verdict in FAILING or line.verdict == "disputed"]
    if failed:
        lines += [
            "",
            "| case | verdict | clause | where | expected | actual | replay |",
            "|---|---|---|---|---|---|---|",
        ]
    for line in failed:
        first: Mapping[str, Any] = line.divergence[0] if line.divergence else {}
        where = first.get("field", line.detail)
        if first.get("op") is not None:
            where = f"operation {first['op']}, {where}"
        cells = [
            line.id,
            line.verdict + (" (known)" if line.baselined else ""),
            first.get("clause", ""),
            where,
            first.get("expected", ""),
            first.get("actual", ""),
            line.replay or "",
        ]
        lines.append("| " + " | ".join(_cell(cell) for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def _cell(value: object) -> str:
    text = str(value).replace("|", "\\|").replace("\n", " ")
    return text if len(text) <= 120 else text[:117] + "..."
