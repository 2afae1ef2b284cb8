"""HTML pages: one report, two reports compared, many implementations side by side. Each is one file that needs no other."""

from rocket_conformance.pages.comparison_page import render_comparison
from rocket_conformance.pages.diff_page import render_diff
from rocket_conformance.pages.renderings import write_page, write_renderings
from rocket_conformance.pages.report_page import render_report

__all__ = ["render_comparison", "render_diff", "render_report", "write_page", "write_renderings"]
