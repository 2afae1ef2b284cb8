"""Audits of stores. `audit` does everything; the other names are its parts, for threads and other machines."""

from rocket_columnar.audit.causes import Cause, find_causes
from rocket_columnar.audit.checkpoint_check import read_checkpoint
from rocket_columnar.audit.file_survey import IndexSurvey, QueueSurvey, survey_index
from rocket_columnar.audit.parts import Surveys, check_range, findings, plan_audit, survey_file
from rocket_columnar.audit.plan import LEVELS, Level, Plan, Range, make_plan, plan_files, relisted
from rocket_columnar.audit.range_check import Scanned, entries_of, read_frames, scan_range
from rocket_columnar.audit.range_records import Frames
from rocket_columnar.audit.range_result import Blocks, RangeResult
from rocket_columnar.audit.read_ahead import ReadAhead
from rocket_columnar.audit.report import ON_THE_WAY, quick_findings
from rocket_columnar.audit.store_audit import audit
from rocket_columnar.findings import CODES, Finding, Severity

__all__ = [
    "CODES",
    "LEVELS",
    "ON_THE_WAY",
    "Blocks",
    "Cause",
    "Finding",
    "Frames",
    "IndexSurvey",
    "Level",
    "Plan",
    "QueueSurvey",
    "Range",
    "RangeResult",
    "ReadAhead",
    "Scanned",
    "Severity",
    "Surveys",
    "audit",
    "check_range",
    "entries_of",
    "find_causes",
    "findings",
    "make_plan",
    "plan_audit",
    "plan_files",
    "quick_findings",
    "read_checkpoint",
    "read_frames",
    "relisted",
    "scan_range",
    "survey_file",
    "survey_index",
]
