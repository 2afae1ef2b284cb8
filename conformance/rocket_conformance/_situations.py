"""The clause that a difference in queue, index service, commit log or checkpoint most likely breaks.

A list that was drawn is about no clause in particular. What the reference was about to do at the place that
differs - append, leave out, roll, stop - says which one it turns on.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import rocket_reference

from rocket_conformance._log_situations import likely_of_log
from rocket_conformance._queue_situations import QueueWatch
from rocket_conformance._regions import kind_of
from rocket_conformance._service_situations import ServiceWatch
from rocket_conformance.expect import fill_directory
from rocket_conformance.reference_adapter import run_operations

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from rocket_conformance.cases import Case
    from rocket_conformance.compare import Difference
    from rocket_conformance.protocol import Op

__all__ = ["Situations", "gather_situations"]


class _Library:
    """The reference, whose queues and services it remembers as they are made."""

    def __init__(self) -> None:
        self.queue: rocket_reference.ConsumeQueue | None = None
        self.service: rocket_reference.IndexService | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(rocket_reference, name)

    def ConsumeQueue(self, *given: Any, **named: Any) -> rocket_reference.ConsumeQueue:  # noqa: N802 - a class there
        self.queue = rocket_reference.ConsumeQueue(*given, **named)
        return self.queue

    def IndexService(self, *given: Any, **named: Any) -> rocket_reference.IndexService:  # noqa: N802 - a class there
        self.service = rocket_reference.IndexService(*given, **named)
        return self.service


class Situations:
    """What is known of a case's operations on queue and service."""

    def __init__(self, directory: Path) -> None:
        self._library = _Library()
        self._queue = QueueWatch(directory)
        self._service = ServiceWatch(directory)

    @property
    def library(self) -> Any:
        """The reference to run the case with."""
        return self._library

    @property
    def clauses(self) -> frozenset[str]:
        """The clauses that the operations on queue and service turn on."""
        return frozenset((*self._queue.clauses.values(), *self._service.clauses.values()))

    def before(self, place: int, op: Op, _index: object) -> None:
        """Surveys at queue and service before an operation."""
        self._queue.before(place, op, self._library.queue)
        self._service.before(place, op, self._library.service)

    def likely(self, case: Case, difference: Difference, found: Sequence[Difference]) -> str | None:
        """The clause that a difference most likely breaks; None when nothing points to one."""
        kind: str
        if difference.op is None:
            kind = kind_of(difference.file or "", case.ops)
        else:
            kind = case.ops[difference.op]["op"].partition(".")[0]
        if kind in {"queue", "tags"}:
            return self._queue.likely(case, difference, found)
        if kind == "service":
            return self._service.likely(case, difference, found)
        return likely_of_log(case, difference, found) if kind == "log" else None


def gather_situations(case: Case, directory: Path) -> Situations:
    """Runs the case on the reference once more, in `directory`, which is made and removed."""
    situations = Situations(directory)
    end: Callable[[int, Op, object], None] = situations.before
    fill_directory(directory, case.files)
    try:
        run_operations((*case.ops, {"op": "queue.bounds"}), directory, library=situations.library, watch=end)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    return situations
