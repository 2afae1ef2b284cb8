"""Findings: their form and codes, and those on the files of a commit log."""

from rocket_columnar.findings.forms import CODES, Finding, Severity, finding
from rocket_columnar.findings.log_files import check_log_files, gap_finding

__all__ = ["CODES", "Finding", "Severity", "check_log_files", "finding", "gap_finding"]
