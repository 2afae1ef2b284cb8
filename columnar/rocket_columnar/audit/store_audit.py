"""Index files, consume queues, commit log and checkpoint of a store, compared with each other.

Nothing is written. The log is read first, up to the end that it has then; what a broker appends meanwhile is
no finding. The parts of an audit, for other machines, are in `audit_ranges`.
"""

from __future__ import annotations

import os
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rocket_columnar.audit import parts
from rocket_columnar.audit.plan import LEVELS, Level, Plan, make_plan
from rocket_columnar.audit.report import quick_findings
from rocket_columnar.findings import CODES, Finding, Severity
from rocket_columnar.store import WorkDone, size_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from rocket_spec.layout import Geometry

    from rocket_columnar.audit.file_survey import IndexSurvey, QueueSurvey
    from rocket_columnar.audit.plan import Range
    from rocket_columnar.audit.range_result import RangeResult
    from rocket_columnar.store import StoreFile

__all__ = ["CODES", "LEVELS", "Finding", "Level", "Severity", "audit"]

_AHEAD: Final = 8  # ranges


def audit(
    store: Path | str,
    level: Level = "default",
    *,
    geometry: Geometry | None = None,
    threads: int | None = None,
    commitlog: Sequence[Path | str] = (),
    on_progress: Callable[[int, int], None] | None = None,
) -> Iterator[Finding]:
    """What is wrong with a store, file by file: nothing for a healthy one.

    Args:
        store: the directory of a store.
        level: "quick" looks at names, sizes, headers, checkpoint and continuity; "default" holds every unit and
            entry against the log's records, and the records against them; "deep" also checks the bodies'
            checksums and asks every key of every index file by 4.9.3's own select.
        geometry: of the index files; else it is inferred.
        threads: that work on a large store; by default as many as there are processors, at most 4.
        commitlog: further directories of the commit log, as for `find_files`.
        on_progress: called with the bytes of files that were read, and those of all; not at the level "quick".

    Raises:
        UsageError: an unknown level, no store, or a geometry that does not fit.
        OSError: the store cannot be read.
    """
    plan = make_plan(Path(store), level, geometry=geometry, commitlog=commitlog)
    if level == "quick" or not plan.logs:  # without a log nothing that points into it can be judged
        return quick_findings(plan)
    sizes = (size_of(file) or 0 for file in (*plan.queues, *plan.content_indexes))
    work = WorkDone(on_progress, sum(sizes) + sum(map(_length, plan.ranges)))
    return _audit(plan, min(os.cpu_count() or 1, 4) if threads is None else threads, work)


def _length(part: Range) -> int:
    """Bytes of the log in a range."""
    return 0 if part.log is None else part.end - part.begin


def _audit(plan: Plan, threads: int, work: WorkDone) -> Iterator[Finding]:
    if not plan.large or threads < 2:
        yield from _findings(plan, work)
        return
    with ThreadPoolExecutor(threads) as pool:
        yield from _threaded(plan, pool, threads, work)


def _findings(plan: Plan, work: WorkDone) -> Iterator[Finding]:
    def survey(plan: Plan, file: StoreFile) -> QueueSurvey | IndexSurvey | None:
        found = parts.survey_file(plan, file)
        work.add(size_of(file) or 0)
        return found

    def check(part: Range) -> RangeResult:
        result = parts.check_range(current, seen, part, ahead=held)
        work.add(_length(part))
        return result

    surveys = [survey(plan, file) for file in plan.queues]
    current = parts.relisted(plan) if plan.live else plan
    surveys += [survey(current, file) for file in current.content_indexes]
    seen = parts.Surveys.of(surveys)
    held = parts.ReadAhead(len(plan.queues))
    yield from parts.findings(current, seen, map(check, current.ranges))


def _threaded(plan: Plan, pool: ThreadPoolExecutor, threads: int, work: WorkDone) -> Iterator[Finding]:
    """As `_findings`; threads that have nothing left to look at scan the first ranges meanwhile."""

    def submitted(files: Iterable[StoreFile]) -> list[Future[QueueSurvey | IndexSurvey | None]]:
        return [pool.submit(parts.survey_file, current, file) for file in files]

    current = plan
    indexes = [] if plan.live else submitted(plan.content_indexes)  # these take longest
    queues = submitted(plan.queues)
    if plan.live:
        wait(queues)
        current = parts.relisted(plan)
        indexes = submitted(current.content_indexes)
    scans = {part: pool.submit(parts.scan_range, plan, part) for part in plan.ranges[:_AHEAD]}
    files = [*plan.queues, *current.content_indexes]

    def surveyed() -> Iterator[QueueSurvey | IndexSurvey | None]:
        for file, survey in zip(files, [*queues, *indexes], strict=True):
            yield survey.result()
            work.add(size_of(file) or 0)

    seen = parts.Surveys.of(surveyed())

    held = parts.ReadAhead(len(plan.queues))

    def check(part: Range) -> RangeResult:
        scan = scans.pop(part, None)
        scanned = scan.result() if scan else None
        return parts.check_range(current, seen, part, scanned=scanned, ahead=held)

    most = _AHEAD * threads
    yield from parts.findings(current, seen, _in_order(pool, check, plan.ranges, most, work))


def _in_order(
    pool: ThreadPoolExecutor,
    check: Callable[[Range], RangeResult],
    ranges: Sequence[Range],
    most: int,
    work: WorkDone,
) -> Iterator[RangeResult]:
    """The result of each range, of which `most` are checked ahead."""
    ahead: deque[tuple[Range, Future[RangeResult]]] = deque()

    def oldest() -> RangeResult:
        part, future = ahead.popleft()
        result = future.result()
        work.add(_length(part))
        return result

    for part in ranges:
        ahead.append((part, pool.submit(check, part)))
        if len(ahead) > most:
            yield oldest()
    while ahead:
        yield oldest()
