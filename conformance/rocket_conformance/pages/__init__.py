"""The HTML page of a report: one file that needs no other."""
# pyright: reportUnusedImport=false

from rocket_conformance.pages.report_page import render_report, write_renderings
