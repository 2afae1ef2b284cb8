"""A report for people: the summary on a terminal, Markdown for a pull request, JUnit XML for dashboards, and a badge."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from xml.etree import ElementTree as ET
from xml.sax.saxutils import escape

from rich.table import Table
from rich.text import Text
from rocket_spec.outputs import write_whole
from rocket_spec.printable import printable

from rocket_conformance.judging import FAILING
from rocket_conformance.report.conclusion import (
    Account,
    Item,
    account_of,
    describe_divergence,
    describe_operations,
    family_table,
    happened,
    known_text,
    narrowed_by,
    partial_count,
    tone_of,
)
from rocket_conformance.report.lines import CaseLine, Report

if TYPE_CHECKING:
    from rich.console import Console

# --- terminal -----------------------------------------------------------------------------------------

_MOST_OPS: Final = 12

_MOST_SHOWN: Final = 4
"""Number of items that are shown with an example; the others get a line each."""

_MOST_NAMED: Final = 8
"""Maximum number of failing clauses that the verdict names; of more it gives the number."""


def print_summary(report: Report, console: Console, *, folder: Path | None = None) -> None:
    """Prints the summary.

    Args:
        report: what to show.
        console: where to.
        folder: the report's folder, whose replay files hold the inputs; None leaves them out.
    """
    shown, rows = family_table(report)
    aside = [name for name, row in rows.items() if shown[-1] == "not_applicable" and not any(row[:-1])]
    console.print(_table(shown, {name: row for name, row in rows.items() if name not in aside}))
    account = account_of(report, most_named=_MOST_NAMED)
    _print_items([item for item in account.items if not item.known], console, folder)
    for line in report.cases:
        if line.verdict == "disputed":
            console.print(Text(f"\ndisputed {line.id}: {printable(line.detail)}"))
    if report.footer is not None:
        for text in report.footer["stale"]:
            console.print(Text(f"stale baseline line: {text}"), soft_wrap=True)
    console.print()
    if aside:
        heads = {_head(name) for name in rows if name not in aside}  # of which other clauses apply
        counts: Counter[str] = Counter()
        for name in aside:
            counts[name if _head(name) in heads else _head(name)] += int(rows[name][-1])
        listed = ", ".join(f"{name} ({count})" for name, count in counts.items())
        console.print(Text(f"not applicable, by clauses and cases: {listed}", style="dim"), soft_wrap=True)
    triples: Mapping[str, Sequence[int]] = (report.footer or {}).get("triples", {})
    if triples:
        sent = ", ".join(f"{family} {seen:,} of {count:,}" for family, (seen, count) in triples.items())
        console.print(Text(f"triples of moves sent: {sent}", style="dim"))
    if aside or triples:
        console.print()
    style = {"good": "bold green", "bad": "bold red", "unclear": "bold yellow"}[tone_of(report)]
    for text in account.verdict:
        console.print(Text(text, style=style), soft_wrap=True)


def _head(family: str) -> str:
    return family.partition("-")[0]


def _table(shown: Sequence[str], rows: Mapping[str, Sequence[str]]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    table.add_column("clauses")
    for verdict in shown:
        table.add_column(verdict.replace("_", " "), justify="right")
    for name, counts in rows.items():
        table.add_row(name, *counts)
    return table


def _print_items(items: Sequence[Item], console: Console, folder: Path | None) -> None:
    """Prints the failures, causes first; failures that may follow are one line."""
    for place, item in enumerate(items):
        if item.kind == "follows":
            break
        console.print(
            Text(f"\n{item.title}" if place < _MOST_SHOWN else item.title, style="bold"), soft_wrap=True
        )
        if place < _MOST_SHOWN:
            _print_item(item, console, folder)
        else:
            for text in filter(None, (item.caught if item.kind == "clause" else "", item.first)):
                console.print(Text(f"  {text}"), soft_wrap=True)
    if follow := [item for item in items if item.kind == "follows"]:
        listed = ", ".join(f"{item.clause} ({len(item.cases)})" for item in follow)
        console.print(Text(f"\nmay follow from the above, by clause and cases: {listed}"), soft_wrap=True)


def _print_item(item: Item, console: Console, folder: Path | None) -> None:
    """Prints an item's cost, and its example: the first differences and the input."""
    line = item.example
    for text in item.notes:
        console.print(Text(f"  {text}"), soft_wrap=True)
    console.print(Text(f"  for example, {line.verdict} {line.id}"))
    for text in filter(None, happened(line)):
        console.print(Text(f"    {text}"), soft_wrap=True)
    for text in describe_divergence(line.divergence[:2]):
        console.print(Text(f"    {text}"), soft_wrap=True)
    if folder is None or line.replay is None:
        return
    path = folder / line.replay
    if line.divergence and path.is_file():
        for text in describe_operations(json.loads(path.read_bytes()), most=_MOST_OPS):
            console.print(Text(f"    {text}", style="dim"), soft_wrap=True)
    console.print(Text(printable(f"  replay: {path}"), style="dim"), soft_wrap=True)


# --- markdown -----------------------------------------------------------------------------------------


def render_markdown(report: Report) -> str:
    """The verdict, counts per family of clauses, what to mend in order, and every case that failed."""
    name, version = (report.header["implementation"][field] for field in ("name", "version"))
    account = account_of(report, most_named=0)
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
        example = [f"{item.example.clauses[0]}/{item.first}"] if item.first else []
        follows = "may follow: " if item.kind == "follows" else ""
        lines += [
            "",
            f"- {follows}{_cell(item.title, 400)}",
            *(f"  {_cell(text, 400)}" for text in (*item.notes, *example)),
        ]
    failed = [line for line in report.cases if line.verdict in FAILING or line.verdict == "disputed"]
    if failed:
        lines += ["", "| case | verdict | where | expected | actual | replay |", "|---|---|---|---|---|---|"]
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
    text = printable(str(value), limit=limit)
    return "".join(f"\\{char}" if char in "\\|<>[]*_`" else char for char in text)


# --- junit --------------------------------------------------------------------------------------------


def render_junit(report: Report) -> bytes:
    """One test suite per family of clauses, one test case per case."""
    root = ET.Element("testsuites", _counts(report.cases), name="rocketspec")
    account = account_of(report)
    verdict = printable("; ".join(account.verdict))
    suites: dict[str, list[CaseLine]] = {}
    for line in report.cases:
        suites.setdefault(line.clauses[0].rpartition("-")[0], []).append(line)
    for family, lines in sorted(suites.items()):
        suite = ET.SubElement(root, "testsuite", _counts(lines), name=family)
        properties = ET.SubElement(suite, "properties")
        for item in account.items:
            if item.clause.rpartition("-")[0] == family:
                ET.SubElement(properties, "property", name=item.kind, value=printable(item.title))
        ET.SubElement(properties, "property", name="verdict", value=verdict)
        for line in lines:
            _case(suite, line, account)
    ET.indent(root)
    document: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return document


def _counts(lines: Sequence[CaseLine]) -> dict[str, str]:
    """The counts of a suite, or of all of them; known failures count as skipped."""
    failures = sum(_failed(line) for line in lines)
    errors = sum(line.verdict == "disputed" for line in lines)
    passed = sum(line.verdict == "pass" for line in lines)
    return {
        "tests": str(len(lines)),
        "failures": str(failures),
        "errors": str(errors),
        "skipped": str(len(lines) - failures - errors - passed),
        "time": f"{sum(line.millis for line in lines) / 1000:.3f}",
    }


def _failed(line: CaseLine) -> bool:
    return line.verdict in FAILING and not line.baselined


def _case(suite: ET.Element, line: CaseLine, account: Account) -> None:
    clause, _, slug = line.id.partition("/")
    case = ET.SubElement(suite, "testcase", classname=clause, name=slug, time=f"{line.millis / 1000:.3f}")
    differences = describe_divergence(line.divergence)
    message = (differences or [printable(line.detail or line.verdict, lines=True)])[0]
    if _failed(line):
        element = ET.SubElement(case, "failure", type=line.verdict, message=message)
        texts = [printable(line.detail, lines=True)] if line.detail and differences else []
        texts += differences
        texts += [item.title for item in account.items_of(line.id) if item.kind == "cause"]
        texts += [printable(line.description, limit=None)] if line.description else []
        if line.replay is not None:
            texts.append(f"replay: {line.replay}")
        element.text = "\n".join(texts)
    elif line.verdict == "disputed":
        ET.SubElement(case, "error", type=line.verdict, message=message)
    elif line.verdict != "pass":
        known = "known failure, " if line.baselined else ""
        ET.SubElement(case, "skipped", message=f"{known}{line.verdict}: {message}")


# --- badges -------------------------------------------------------------------------------------------

_HEX: Final = {"brightgreen": "#4c1", "red": "#e05d44", "yellow": "#dfb317", "lightgrey": "#9f9f9f"}
_LONGEST: Final = 80

_CHARACTER: Final = 6.6
"""Width of a character, in pixels, on average."""


def badge(report: Report) -> dict[str, object]:
    """The badge in the schema of shields.io's endpoint."""
    message, color = _message(report)
    return {
        "schemaVersion": 1,
        "label": f"RocketMQ {report.profile} store",
        "message": printable(message, limit=_LONGEST),
        "color": color,
        "isError": color == "red",
    }


def _message(report: Report) -> tuple[str, str]:
    failed = sum(line.verdict in FAILING and not line.baselined for line in report.cases)
    applicable = sum(line.verdict != "not_applicable" for line in report.cases)
    if report.exit_code == 0 and narrowed_by(report):
        return f"partial run: {partial_count(report)}", "lightgrey"
    if report.exit_code == 0 and (known := known_text(report)):
        return f"conformant but for {known}", "yellow"
    if report.exit_code == 0:
        return f"conformant: {', '.join(report.footer['families']) if report.footer else ''}", "brightgreen"
    if report.exit_code == 1:
        return f"{failed} of {applicable} cases fail", "red"
    if report.exit_code in {4, 6}:
        return {4: "incomplete", 6: "baseline is stale"}[report.exit_code], "yellow"
    return "no verdict", "lightgrey"


def badge_svg(report: Report) -> str:
    """The badge as a picture of its own."""
    found = badge(report)
    return badge_picture(str(found["label"]), str(found["message"]), str(found["color"]))


def badge_picture(label: str, message: str, color: str) -> str:
    """A badge as SVG; `color` is one of `brightgreen`, `red`, `yellow` and `lightgrey`."""
    left, right = (round(len(text) * _CHARACTER) + 10 for text in (label, message))
    width = left + right
    title = escape(f"{label}: {message}")
    return f"""<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img" aria-label="{title.replace('"', "&quot;")}">
<title>{title}</title>
<rect width="{left}" height="20" fill="#555"/>
<rect x="{left}" width="{right}" height="20" fill="{_HEX[color]}"/>
<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">
<text x="{left / 2:g}" y="14">{escape(label)}</text>
<text x="{left + right / 2:g}" y="14">{escape(message)}</text>
</g>
</svg>
"""


def write_badges(report: Report, folder: Path) -> None:
    """Writes badge.json and badge.svg."""
    write_whole(folder / "badge.json", json.dumps(badge(report)) + "\n")
    write_whole(folder / "badge.svg", badge_svg(report))
