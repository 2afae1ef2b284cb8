"""A summary in Markdown, for a pull request or a job's page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rocket_spec.printable import printable

from rocket_conformance.report.conclusion import causes_of, conclusions, family_counts
from rocket_conformance.report.wording import cause_lines, cause_title
from rocket_conformance.verdicts import FAILING, VERDICTS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rocket_conformance.report.lines import Report

__all__ = ["render_markdown"]


def render_markdown(report: Report) -> str:
    """The verdict, counts per family of clauses, the causes, and every case that failed."""
    name, version = (report.header["implementation"][field] for field in ("name", "version"))
    lines = [
        f"# {_cell(f'{name} {version}'.rstrip())}",
        "",
        *(f"**{text}**\n" for text in conclusions(report)),
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
    for number, cause in enumerate(causes_of(report), 1):
        lines += ["", f"**Cause {number}**: {_cell(cause_title(cause), 400)}", ""]
        lines += [f"- {_cell(text, 400)}" for text in cause_lines(cause)]
        lines.append(f"- for example {cause['cases'][0]}")
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


def _cell(value: object, limit: int = 120) -> str:
    """A text in a table or a list: escaped for a terminal and for Markdown, and cut."""
    text = printable(str(value), limit=limit)
    return "".join(f"\\{char}" if char in "\\|<>[]*_`" else char for char in text)
