"""Reports: JSON Lines first, everything else is rendered from them."""

from rocket_conformance.report.conclusion import causes_of, conclusion, conclusions, family_counts
from rocket_conformance.report.lines import (
    CaseLine,
    Report,
    ReportWriter,
    coverage_of,
    header_line,
    read_report,
    suite_version,
)
from rocket_conformance.report.renderings import write_renderings
from rocket_conformance.report.wording import describe_divergence, failure_text

__all__ = [
    "CaseLine",
    "Report",
    "ReportWriter",
    "causes_of",
    "conclusion",
    "conclusions",
    "coverage_of",
    "describe_divergence",
    "failure_text",
    "family_counts",
    "header_line",
    "read_report",
    "suite_version",
    "write_renderings",
]
