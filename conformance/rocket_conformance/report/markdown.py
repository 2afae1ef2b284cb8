"""A summary in Markdown, for a pull request or a job's page."""

from collections.abc import Mapping
from typing import Any

from rocket_spec.printable import printable

from rocket_conformance.judging import FAILING
from rocket_conformance.report.conclusion import causes_of, conclusions, failing_clauses, family_table
from rocket_conformance.report.lines import Report
from rocket_conformance.report.wording import cause_lines, clause_line


def render_markdown(report: Report) -> str:
    """The verdict, counts per family of clauses, the failing clauses, and every case that failed."""
    name, version = (report.header["implementation"][field] for field in ("name", "version"))
    lines = [
        f"# {_cell(f'{name} {version}'.rstrip())}",
        "",
        *(f"**{text}**\n" for text in conclusions(report, named=False)),
        (
            f"Suite {report.header['suite']}, protocol {report.header['protocol']}, seed {report.header['seed']}, "
            f"{report.header['examples']} lists per property, {report.header['started']}."
        ),
        "",
    ]
    shown, rows = family_table(report)
    lines += ["| clauses | " + " | ".join(shown) + " |", "|---|" + "---:|" * len(shown)]
    lines += [f"| {name} | " + " | ".join(counts) + " |" for name, counts in rows.items()]
    clauses = failing_clauses(report)
    lines += ["", *(f"- {_cell(clause_line(item), 400)}" for item in clauses)]
    count = sum(len(item.cases) for item in clauses)
    lines += ["", *(f"- {_cell(text, 400)}" for text in cause_lines(causes_of(report), count))]
    failed = [line for line in report.cases if line.verdict in FAILING or line.verdict == "disputed"]
    if failed:
        lines += [
            "",
            "| case | verdict | where | expected | actual | replay |",
            "|---|---|---|---|---|---|",
        ]
    for line in failed:
        first: Mapping[str, Any] = line.divergence[0] if line.divergence else {}
        where = first.get("field", line.detail)
        if first.get("op") is not None:
            where = f"operation {first['op']}, {where}"
        cells = [
            line.id,
            line.verdict + (" (known)" if line.baselined else ""),
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
