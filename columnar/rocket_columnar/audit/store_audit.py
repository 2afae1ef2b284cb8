"""Cross-checks index files, consume queues, commit log and checkpoint of a store.

Nothing is written. The log is read first, up to its end at that time; what a broker appends meanwhile is
not a finding.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Final, TypeAlias

from rocket_spec.deviations import Audited

from rocket_columnar.audit.file_check import check_batches
from rocket_columnar.audit.file_survey import IndexSurvey, QueueSurvey, Surveys, survey_file
from rocket_columnar.audit.range_check import check_range
from rocket_columnar.audit.ranges import Level, Plan, Range, RangeResult, ReadAhead, plan_audit
from rocket_columnar.audit.report import findings, quick_findings
from rocket_columnar.facts import Store
from rocket_columnar.findings import Finding
from rocket_columnar.store import Sign, StoreFile, WorkDone, files_kept_open, in_order, size_of

_Survey: TypeAlias = "QueueSurvey | IndexSurvey | None"

_AHEAD: Final = 8  # ranges
_FILES: Final = 64  # that a task surveys at most: a task for each of 20,000 files costs more than the files
_TASKS: Final = 8  # of each thread at least, so that large files are shared out


def audit(
    store: Store | Path | str,
    level: Level = "default",
    *,
    threads: int | None = None,
    on_progress: Callable[[int, int], None] | None = None,
    on_signs: Callable[[tuple[Sign, ...]], None] = lambda _: None,
    on_held: Callable[[Counter[str]], None] = lambda _: None,
    **known: Any,
) -> Iterator[Finding]:
    """The findings on a store, or its directory with what is `known` as for `Store`, file by file; none for a healthy one.

    Levels and errors are those of `plan_audit`. `threads` are by default the number of processors, at most 4. `on_progress` is called with
    the bytes of files that were read, and those of all; not at the level "quick". `on_signs` is called with the signs that 5.x wrote to the
    store, before the first finding; findings that its rules explain are left out. `on_held` is called at last with the number of places where
    each clause held; not at the level "quick".
    """
    plan = plan_audit(store, level, **known)
    if level == "quick" or not plan.store.logs:  # without a log nothing that points into it can be judged
        on_signs(plan.store.signs)
        return quick_findings(plan)
    work = _Work(plan, on_progress, on_signs, on_held)
    return _audit(plan, min(os.cpu_count() or 1, 4) if threads is None else max(threads, 1), work)


def audited(store: Store) -> Audited:
    """The findings on a store, and what held; errors as of `audit`."""
    held, signs = Counter[str](), set[str]()

    def look() -> tuple[Finding, ...]:
        held.clear()
        return tuple(
            audit(
                store,
                "exact",
                on_held=held.update,
                on_signs=lambda found: signs.update(sign.kind for sign in found),
            )
        )

    return Audited(store.looked_at(look), held, frozenset(signs))


class _Work(WorkDone):
    """Progress of an audit in bytes, and the callbacks for signs of 5.x and for what held."""

    def __init__(
        self,
        plan: Plan,
        report: Callable[[int, int], None] | None,
        on_signs: Callable[[tuple[Sign, ...]], None],
        on_held: Callable[[Counter[str]], None],
    ) -> None:
        self.on_signs, self.on_held = on_signs, on_held
        files = (*plan.store.queues, *plan.store.content_indexes) if report is not None else ()
        self._sizes = {file.name: size_of(file) or 0 for file in files}
        super().__init__(report, sum(self._sizes.values()) + sum(part.size for part in plan.ranges))

    def surveyed(self, files: Sequence[StoreFile]) -> None:
        """Counts files that have been read."""
        self.add(sum(self._sizes.get(file.name, 0) for file in files))


def _audit(plan: Plan, threads: int, work: _Work) -> Iterator[Finding]:
    with nullcontext() if plan.store.live else files_kept_open(), ThreadPoolExecutor(threads) as pool:
        yield from _findings(plan, pool, threads, work)


def _findings(plan: Plan, pool: ThreadPoolExecutor, threads: int, work: _Work) -> Iterator[Finding]:
    held = ReadAhead(len(plan.store.queues))
    current = plan

    def survey(files: Sequence[StoreFile]) -> list[_Survey]:
        return [survey_file(current.store, file, held) for file in files]

    def submitted(files: Sequence[StoreFile]) -> list[tuple[Sequence[StoreFile], Future[list[_Survey]]]]:
        few = max(1, min(_FILES, len(files) // (_TASKS * threads)))
        tasks = [files[at : at + few] for at in range(0, len(files), few)]
        return [(task, pool.submit(survey, task)) for task in tasks]

    indexes = [] if plan.store.live else submitted(plan.store.content_indexes)  # these take longest
    queues = submitted(plan.store.queues)
    if plan.store.live:
        wait(future for _, future in queues)
        current = plan.relisted()
        indexes = submitted(current.store.content_indexes)

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

    yield from findings(current, seen, results(), work.on_signs, work.on_held)
    yield from check_batches(current.store)
