"""A report in other forms: Markdown for a pull request, JUnit XML for dashboards, and a badge."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree as ET
from xml.sax.saxutils import escape

from rocket_spec.outputs import write_whole
from rocket_spec.printable import printable

from rocket_conformance.judging import FAILING
from rocket_conformance.report.conclusion import (
    Account,
    account_of,
    family_table,
    known_text,
    narrowed_by,
    partial_count,
)
from rocket_conformance.report.lines import CaseLine, Report, describe_divergence

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
    for item in account.items:
        example = [f"{item.example.clauses[0]}/{item.first}"] if item.first else []
        follows = "may follow: " if item.kind == "follows" else ""
        lines += [f"- {follows}{_cell(item.title, 400)}"]
        lines += [*(f"  {_cell(text, 400)}" for text in (*item.notes, *example)), ""]
    shown, rows = family_table(report)
    lines += ["| clauses | " + " | ".join(shown) + " |", "|---|" + "---:|" * len(shown)]
    lines += [f"| {name} | " + " | ".join(counts) + " |" for name, counts in rows.items()]
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
