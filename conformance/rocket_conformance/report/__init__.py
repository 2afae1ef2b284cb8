"""Reports: JSON Lines first, everything else is rendered from them."""

from rocket_conformance.report.conclusion import (
    FamilyVerdict,
    broken_clause,
    causes_of,
    conclusion,
    conclusions,
    family_counts,
    family_verdicts,
)
from rocket_conformance.report.junit import render_junit
from rocket_conformance.report.lines import (
    CaseLine,
    Report,
    ReportWriter,
    coverage_of,
    header_line,
    read_report,
    suite_version,
)
from rocket_conformance.report.markdown import render_markdown
from rocket_conformance.report.terminal import print_summary
from rocket_conformance.report.wording import (
    cause_lines,
    cause_title,
    describe_divergence,
    describe_operations,
    failure_text,
)

__all__ = [
    "CaseLine",
    "FamilyVerdict",
    "Report",
    "ReportWriter",
    "broken_clause",
    "cause_lines",
    "cause_title",
    "causes_of",
    "conclusion",
    "conclusions",
    "coverage_of",
    "describe_divergence",
    "describe_operations",
    "failure_text",
    "family_counts",
    "family_verdicts",
    "header_line",
    "print_summary",
    "read_report",
    "render_junit",
    "render_markdown",
    "suite_version",
]
