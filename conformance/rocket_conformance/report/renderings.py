"""Writes every rendering of a report into its folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from rocket_conformance.report.lines import Report

__all__ = ["write_renderings"]


def write_renderings(report: Report, folder: Path) -> None:
    """Writes report.html, report.md and junit.xml."""
    from rocket_conformance.report.junit import render_junit  # noqa: PLC0415
    from rocket_conformance.report.markdown import render_markdown  # noqa: PLC0415
    from rocket_conformance.report.page import render_html  # noqa: PLC0415 - jinja2 only where used

    (folder / "report.html").write_text(render_html(report, folder), encoding="utf-8")
    (folder / "report.md").write_text(render_markdown(report), encoding="utf-8")
    (folder / "junit.xml").write_bytes(render_junit(report))
