"""A run's verdict as a badge: JSON for shields.io's endpoint, and an SVG that needs no service."""

import json
from pathlib import Path
from typing import Final
from xml.sax.saxutils import escape

from rocket_spec.outputs import write_whole
from rocket_spec.printable import printable

from rocket_conformance.judging import FAILING
from rocket_conformance.report.conclusion import known_text, narrowed_by, partial_count
from rocket_conformance.report.lines import Report

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
