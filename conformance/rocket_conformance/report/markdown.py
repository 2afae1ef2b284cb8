"""A summary in Markdown, for a pull request or a job's page."""

from collections.abc import Mapping
from typing import Any

from rocket_spec.printable import printable

from rocket_conformance.judging import FAILING
from rocket_conformance.report.account import account_of
from rocket_conformance.report.conclusion import family_table
from rocket_conformance.report.lines import Report


def render_markdown(report: Report) -> str:
    """The verdict, counts per family of clauses, what to mend in order, and every case that failed."""
    name, version = (report.header["implementation"][field] for field in ("name", "version"))
    account = account_of(report, named=False)
    lines = [
        f"# {_cell(f'{name} {version}'.rstrip())}",
        "",
        *(f"**{text}**\n" for text in account.verdict),
        (
            f"Suite {report.header['suite']}, protocol {report.header['protocol']}, seed {report.header['seed']}, "
            f"{report.header['examples']} lists per property, {report.header['started']}."
        ),
        "",
    ]
    shown, rows = family_table(report)
    lines += ["| clauses | " + " | ".join(shown) + " |", "|---|" + "---:|" * len(shown)]
    lines += [f"| {name} | " + " | ".join(counts) + " |" for name, counts in rows.items()]
    for item in account.items:
        example = [f"`{item.example.id}`, {_cell(item.first, 400)}"] if item.first else []
        follows = "may follow: " if item.kind == "follows" else ""
        lines += [
            "",
            f"- {follows}{_cell(item.title, 400)}",
            *(f"  {_cell(text, 400)}" for text in (*item.notes, *example)),
        ]
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
