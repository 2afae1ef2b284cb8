"""An audit cut into parts that need not know of each other: for threads, for other machines, for bounded memory.

Five steps, of which the second and the fourth are many independent calls::

    plan = plan_audit(store)                                # lists files, reads the log's end
    seen = [survey_file(plan, file) for file in plan.queues]       # each consume-queue file by itself
    plan = relisted(plan)                                   # a broker may have rolled its index
    seen += [survey_file(plan, file) for file in plan.content_indexes]    # each index file by itself
    surveys = Surveys.of(seen)                                  # small: where units and entries point to
    results = (check_range(plan, surveys, part) for part in plan.ranges)  # each range of the log
    for one in findings(plan, surveys, results): ...          # a generator, in one place

Everything handed over - `Plan`, `Surveys`, `Range`, `RangeResult` - can be pickled, and is small: surveys hold 16 bytes
for each 256 units or 1,024 entries, results hold runs of damage and not rows. A range holds 32 MB of log at most, which
bounds what a call of `check_range` keeps. Files are opened by `StoreFile.open`, so that a plan made by `plan_files` may
be of files that are elsewhere.

A range begins at the first record that verifies at or after its first byte, and ends where the first one after it
begins. `findings` sees to it that neighbours agree on that; where they don't, it checks the range again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rocket_columnar.audit.file_survey import IndexSurvey, QueueSurvey, survey_index, survey_queue
from rocket_columnar.audit.plan import LEVELS, Level, Plan, Range, make_plan, plan_files, relisted
from rocket_columnar.audit.range_check import Scanned, scan_range
from rocket_columnar.audit.range_check import check_range as _check_range
from rocket_columnar.audit.range_result import Blocks, RangeResult
from rocket_columnar.audit.read_ahead import ReadAhead
from rocket_columnar.audit.report import combined, quick_findings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rocket_columnar.findings import Finding
    from rocket_columnar.store import StoreFile

__all__ = [
    "LEVELS",
    "IndexSurvey",
    "Level",
    "Plan",
    "QueueSurvey",
    "Range",
    "RangeResult",
    "ReadAhead",
    "Scanned",
    "Surveys",
    "check_range",
    "findings",
    "plan_audit",
    "plan_files",
    "quick_findings",
    "relisted",
    "scan_range",
    "survey_file",
]

plan_audit = make_plan


@dataclass(frozen=True, slots=True)
class Surveys:
    """What all consume-queue and index files hold.

    Attributes:
        queues: blocks of the consume-queue files.
        indexes: blocks of the index files.
    """

    queues: Blocks
    indexes: Blocks

    @classmethod
    def of(cls, surveys: Iterable[QueueSurvey | IndexSurvey | None]) -> Surveys:
        """The surveys of a plan's files, in their order; None for a file that no longer existed."""
        there = [survey for survey in surveys if survey is not None]
        return cls(
            Blocks.of([survey for survey in there if isinstance(survey, QueueSurvey)]),
            Blocks.of([survey for survey in there if isinstance(survey, IndexSurvey)]),
        )


def survey_file(
    plan: Plan, file: StoreFile, ahead: ReadAhead | None = None
) -> QueueSurvey | IndexSurvey | None:
    """The content of one file of the plan's queues or content indexes; None if it no longer exists.

    Args:
        plan: of the store.
        file: one of its files.
        ahead: that of `check_range`, if ranges are checked in this process: it keeps the first units of many queues, so
            that their files are not opened again.

    Raises:
        OSError: the file cannot be read.
    """
    try:
        if file.kind == "queue":
            return survey_queue(file, compiled=plan.large, ahead=ahead)
        assert plan.geometry is not None  # noqa: S101 - else no index file's content is checked
        last = file.name == plan.indexes[-1][0].name
        return survey_index(file, plan.geometry, live=plan.live, last=last, compiled=plan.large)
    except FileNotFoundError:
        return None


def check_range(
    plan: Plan,
    surveys: Surveys,
    part: Range,
    *,
    start: int | None = None,
    scanned: Scanned | None = None,
    ahead: ReadAhead | None = None,
) -> RangeResult:
    """Holds one range of the log against the units and entries that point into it.

    Args:
        plan: of the store.
        surveys: at its files.
        part: one of the plan's ranges.
        start: physical offset at which the range before ended, if known.
        scanned: what `scan_range` gave for it, if the log was read while other threads surveyed the files.
        ahead: one for all ranges of a plan that are checked in this process, so that the files of many queues are not
            opened for each range again.

    Raises:
        OSError: a file cannot be read.
    """
    return _check_range(
        plan, surveys.queues, surveys.indexes, part, start=start, scanned=scanned, ahead=ahead
    )


def findings(plan: Plan, surveys: Surveys, results: Iterable[RangeResult]) -> Iterator[Finding]:
    """All findings of an audit, from the results of all ranges, in the order of the ranges.

    Raises:
        OSError: a file cannot be read.
    """

    def again(part: Range, start: int) -> RangeResult:
        return check_range(plan, surveys, part, start=start)

    return combined(plan, surveys.queues.files, surveys.indexes.files, results, again)
