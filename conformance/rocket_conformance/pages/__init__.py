"""The HTML page of a report: one file that needs no other."""

from rocket_conformance.pages.renderings import write_renderings
from rocket_conformance.pages.report_page import render_report

__all__ = ["render_report", "write_renderings"]
