"""Audits of stores. `audit` does everything; the other names are its parts, for threads, other machines, bounded memory.

Five steps; the second and the fourth are many independent calls::

    plan = plan_audit(store)                                # lists files, reads the log's end
    seen = [survey_file(plan.store, file) for file in plan.store.queues]  # each consume-queue file by itself
    plan = plan.relisted()                                  # a broker may have rolled its index
    seen += [survey_file(plan.store, file) for file in plan.store.content_indexes]  # each index file by itself
    surveys = Surveys.of(seen)                                  # small: where units and entries point to
    results = (check_range(plan, surveys, part) for part in plan.ranges)  # each range of the log
    for one in findings(plan, surveys, results): ...          # a generator, in one place

Everything handed over - `Plan`, `Surveys`, `Range`, `RangeResult` - can be pickled, and is small: surveys hold 16 bytes
for each 256 units or 1,024 entries, results hold runs of damage and not rows. A range holds 32 MB of log at most, which
bounds what a call of `check_range` keeps. Files are opened by `StoreFile.open`, so that a `Store.of_files` may
be of files that are elsewhere.

A range begins at the first record that verifies at or after its first byte, and ends where the first one after it
begins. `findings` sees to it that neighbours agree on that; where they don't, it checks the range again.

A fault has five forms on its way to a reader: the flags of a row (`matching`), a run of rows with the same fault (`Mark`; runs of
neighbouring ranges are joined), a `Finding` with its `Deviation`, a place among the findings of a `Cause`, and what is printed.
"""

from rocket_columnar.audit.file_check import planned
from rocket_columnar.audit.file_survey import IndexSurvey, Surveys, Targets, survey_file, survey_index
from rocket_columnar.audit.range_check import check_range, entries_of, read_frames
from rocket_columnar.audit.ranges import (
    LEVELS,
    Frames,
    Level,
    Plan,
    Range,
    RangeResult,
    ReadAhead,
    plan_audit,
    ranges_of,
)
from rocket_columnar.audit.report import findings, quick_findings
from rocket_columnar.audit.store_audit import audit, audited
from rocket_columnar.findings import CODES, Finding
