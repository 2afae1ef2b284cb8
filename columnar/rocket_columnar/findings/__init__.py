"""Findings: their form and codes, and those on files."""

from rocket_columnar.findings.forms import (
    CODES,
    Finding,
    Remedy,
    Severity,
    check_log_files,
    check_names,
    finding,
    gap_findings,
    hidden_codes,
    is_cut,
    is_usual_end,
    lacks_zeros,
    strange,
    unread_findings,
)
