"""Index files, consume queues, commit log and checkpoint of a store, held against each other.

Nothing is written. The log is read first, up to the end that it has then; what a broker appends meanwhile is
no finding. The parts of an audit, for other machines, are in `audit_ranges`.
"""

from __future__ import annotations

import os
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rocket_columnar import audit_ranges
from rocket_columnar._audit_combine import quick_findings
from rocket_columnar._audit_finding import CODES, Finding, Severity
from rocket_columnar._audit_plan import LEVELS, Level, Plan, make_plan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from rocket_spec.layout import Geometry

__all__ = ["CODES", "LEVELS", "Finding", "Level", "Severity", "audit"]


def audit(
    store: Path | str,
    level: Level = "default",
    *,
    geometry: Geometry | None = None,
    threads: int | None = None,
) -> Iterator[Finding]:
    """What is wrong with a store, file by file: nothing for a healthy one.

    Args:
        store: the directory of a store.
        level: "quick" looks at names, sizes, headers, checkpoint and continuity; "default" holds every unit and
            entry against the log's records, and the records against them; "deep" also checks the bodies'
            checksums and asks every key of every index file by 4.9.3's own select.
        geometry: of the index files; else it is inferred.
        threads: that work on a large store; by default as many as there are processors, at most 4.

    Raises:
        UsageError: an unknown level, no store, or a geometry that does not fit.
        OSError: the store cannot be read.
    """
    plan = make_plan(Path(store), level, geometry=geometry)
    if level == "quick":
        return quick_findings(plan)
    return _audit(plan, min(os.cpu_count() or 1, 4) if threads is None else threads)


def _audit(plan: Plan, threads: int) -> Iterator[Finding]:
    if not plan.large or threads < 2:
        yield from _findings(plan, map)
        return
    with ThreadPoolExecutor(threads) as pool:

        def each(work: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
            """As `map`, a few items ahead."""
            ahead = deque[Any]()
            for item in items:
                ahead.append(pool.submit(work, item))
                if len(ahead) > threads:
                    yield ahead.popleft().result()
            while ahead:
                yield ahead.popleft().result()

        yield from _findings(plan, each)


def _findings(plan: Plan, each: Callable[..., Iterable[Any]]) -> Iterator[Finding]:
    looks = list(each(lambda file: audit_ranges.look(plan, file), plan.queues))
    current = audit_ranges.relisted(plan) if plan.live else plan
    looks += each(lambda file: audit_ranges.look(current, file), current.content_indexes)
    seen = audit_ranges.Looks.of(looks)
    results = each(lambda part: audit_ranges.check_range(current, seen, part), current.ranges)
    yield from audit_ranges.findings(current, seen, results)
