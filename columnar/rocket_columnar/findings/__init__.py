"""Findings: their form and codes, and those on files."""

from rocket_columnar.findings.files import (
    check_log_files,
    check_names,
    gap_findings,
    hidden_codes,
    is_cut,
    is_usual_end,
    lacks_zeros,
    unread_findings,
)
from rocket_columnar.findings.forms import CODES, Finding, Remedy, Severity, finding, strange
