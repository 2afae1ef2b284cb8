"""Findings: their form and codes, and those on the files of a commit log."""

from rocket_columnar.findings.forms import CODES, Finding, Remedy, Severity, finding, strange
from rocket_columnar.findings.log_files import check_log_files, gap_finding, is_usual_end
from rocket_columnar.findings.unread import hidden_codes, unread_findings
