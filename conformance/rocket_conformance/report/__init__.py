"""Reports: JSON Lines first, everything else is rendered from them."""

from rocket_conformance.report._lines import (
    CaseLine,
    Report,
    ReportWriter,
    coverage_of,
    header_line,
    read_report,
    suite_version,
)
from rocket_conformance.report._render import write_renderings
from rocket_conformance.report._summary import conclusion, family_counts
from rocket_conformance.report._text import describe_divergence, failure_text

__all__ = [
    "CaseLine",
    "Report",
    "ReportWriter",
    "conclusion",
    "coverage_of",
    "describe_divergence",
    "failure_text",
    "family_counts",
    "header_line",
    "read_report",
    "suite_version",
    "write_renderings",
]
