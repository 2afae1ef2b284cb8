"""Writes every rendering of a report, whole or not at all."""

from pathlib import Path

from rocket_spec.outputs import write_whole

from rocket_conformance.pages.report_page import render_report
from rocket_conformance.report import Report, render_junit, render_markdown


def write_renderings(report: Report, folder: Path) -> None:
    """Writes report.html, report.md and junit.xml."""
    write_whole(folder / "report.html", render_report(report, folder))
    write_whole(folder / "report.md", render_markdown(report))
    write_whole(folder / "junit.xml", render_junit(report))
