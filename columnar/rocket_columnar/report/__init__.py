"""Reports on stores: the findings of an audit by cause, what to do about each, and what a start would do then."""

from rocket_columnar.report.causes import FindingGroup
from rocket_columnar.report.configured import log_folders, mismatches, rebuild_warnings
from rocket_columnar.report.cures import REPAIRED, REPAIRED_LATER, LogChoices, Shell, gone_with, messages_in
from rocket_columnar.report.store_report import AuditReport, audit, report_on
