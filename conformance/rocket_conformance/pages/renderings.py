"""Writes pages and every other rendering of a report, whole or not at all."""

from pathlib import Path

from rocket_spec.errors import UsageError
from rocket_spec.outputs import write_whole

from rocket_conformance.pages.report_page import render_report
from rocket_conformance.report import Report, render_junit, render_markdown

_DOCTYPE = b"<!doctype html>"


def write_renderings(report: Report, folder: Path) -> None:
    """Writes report.html, report.md and junit.xml."""
    write_whole(folder / "report.html", render_report(report, folder))
    write_whole(folder / "report.md", render_markdown(report))
    write_whole(folder / "junit.xml", render_junit(report))


def write_page(path: Path, page: str) -> None:
    """Writes a page under a name that the user gave.

    Raises:
        UsageError: when something is there that is no page: a log file is not overwritten by a slip of the hand.
        OSError: when it can't be written.
    """
    if path.exists():
        if not path.is_file():
            raise UsageError(f"{path}: is no file; expected the name of a page to write")
        with path.open("rb") as file:
            if file.read(len(_DOCTYPE)).lower() != _DOCTYPE:
                raise UsageError(f"{path}: is there and is no HTML page; choose another name")
    write_whole(path, page)
