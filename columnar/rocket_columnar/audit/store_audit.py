"""Cross-checks index files, consume queues, commit log and checkpoint of a store.

Nothing is written. The log is read first, up to its end at that time; what a broker appends meanwhile is
not a finding.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Final, TypeAlias

from rocket_spec.layout import Geometry

from rocket_columnar.audit.batch_check import check_batches
from rocket_columnar.audit.file_survey import IndexSurvey, QueueSurvey, survey_file
from rocket_columnar.audit.plan import Level, Plan, Range, make_plan, relisted
from rocket_columnar.audit.range_check import check_range
from rocket_columnar.audit.range_result import RangeResult
from rocket_columnar.audit.read_ahead import ReadAhead
from rocket_columnar.audit.report import findings, quick_findings
from rocket_columnar.audit.rows import Surveys
from rocket_columnar.audit.timer_check import check_timers
from rocket_columnar.findings import Finding
from rocket_columnar.store import Sign, StoreFile, WorkDone, in_order, size_of

_Survey: TypeAlias = "QueueSurvey | IndexSurvey | None"

_AHEAD: Final = 8  # ranges
_FILES: Final = 64  # that a task surveys at most: a task for each of 20,000 files costs more than the files
_TASKS: Final = 8  # of each thread at least, so that large files are shared out


def audit(
    store: Path | str,
    level: Level = "default",
    *,
    geometry: Geometry | None = None,
    threads: int | None = None,
    commitlog: Sequence[Path | str] = (),
    release: str | None = None,
    on_progress: Callable[[int, int], None] | None = None,
    on_signs: Callable[[tuple[Sign, ...]], None] = lambda _: None,
) -> Iterator[Finding]:
    """The findings on a store, file by file; none for a healthy one.

    Args:
        store: the directory of a store.
        level: how much is checked; see `make_plan`.
        geometry: of the index files; by default inferred.
        commitlog: further directories of the commit log, as for `find_files`.
        threads: number of threads; by default the number of processors, at most 4.
        release: that wrote the store; by default 4.9.3, or 5.x as the files show.
        on_progress: called with the bytes of files that were read, and those of all; not at the level "quick".
        on_signs: called with the signs that 5.x wrote to the store, before the first finding; findings that its rules
            explain are left out.

    Raises:
        UsageError: an unknown level, no store, or a geometry that does not fit.
        OSError: the store cannot be read.
    """
    plan = make_plan(Path(store), level, geometry=geometry, commitlog=commitlog, release=release)
    if level == "quick" or not plan.logs:  # without a log nothing that points into it can be judged
        on_signs(plan.signs)
        return quick_findings(plan)
    work = _Work(plan, on_progress, on_signs)
    return _audit(plan, min(os.cpu_count() or 1, 4) if threads is None else max(threads, 1), work)


class _Work(WorkDone):
    """The bytes of a plan's files and ranges, of which those that are done are reported; and who takes the signs of 5.x."""

    def __init__(
        self,
        plan: Plan,
        report: Callable[[int, int], None] | None,
        on_signs: Callable[[tuple[Sign, ...]], None],
    ) -> None:
        self.on_signs = on_signs
        files = (*plan.queues, *plan.content_indexes) if report is not None else ()
        self._sizes = {file.name: size_of(file) or 0 for file in files}
        super().__init__(report, sum(self._sizes.values()) + sum(part.size for part in plan.ranges))

    def surveyed(self, files: Sequence[StoreFile]) -> None:
        """Counts files that have been read."""
        self.add(sum(self._sizes.get(file.name, 0) for file in files))


def _audit(plan: Plan, threads: int, work: _Work) -> Iterator[Finding]:
    with ThreadPoolExecutor(threads) as pool:
        yield from _findings(plan, pool, threads, work)


def _findings(plan: Plan, pool: ThreadPoolExecutor, threads: int, work: _Work) -> Iterator[Finding]:
    held = ReadAhead(len(plan.queues))
    current = plan

    def survey(files: Sequence[StoreFile]) -> list[_Survey]:
        return [survey_file(current, file, held) for file in files]

    def submitted(files: Sequence[StoreFile]) -> list[tuple[Sequence[StoreFile], Future[list[_Survey]]]]:
        few = max(1, min(_FILES, len(files) // (_TASKS * threads)))
        tasks = [files[at : at + few] for at in range(0, len(files), few)]
        return [(task, pool.submit(survey, task)) for task in tasks]

    indexes = [] if plan.live else submitted(plan.content_indexes)  # these take longest
    queues = submitted(plan.queues)
    if plan.live:
        wait(future for _, future in queues)
        current = relisted(plan)
        indexes = submitted(current.content_indexes)

    def surveyed() -> Iterator[_Survey]:
        for files, future in [*queues, *indexes]:
            yield from future.result()
            work.surveyed(files)

    seen = Surveys.of(surveyed())

    def check(part: Range) -> RangeResult:
        return check_range(current, seen, part, ahead=held)

    def results() -> Iterator[RangeResult]:
        for part, result in zip(
            plan.ranges, in_order(pool, check, plan.ranges, _AHEAD * threads), strict=True
        ):
            work.add(part.size)
            yield result

    yield from findings(current, seen, results(), work.on_signs)
    yield from check_batches(current)
    yield from check_timers(current)
