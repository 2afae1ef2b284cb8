"""Writes every rendering of a report into its folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocket_conformance.pages.report_page import render_report
from rocket_conformance.report import render_junit, render_markdown

if TYPE_CHECKING:
    from pathlib import Path

    from rocket_conformance.report import Report

__all__ = ["write_renderings"]


def write_renderings(report: Report, folder: Path) -> None:
    """Writes report.html, report.md and junit.xml."""
    (folder / "report.html").write_text(render_report(report, folder), encoding="utf-8")
    (folder / "report.md").write_text(render_markdown(report), encoding="utf-8")
    (folder / "junit.xml").write_bytes(render_junit(report))
