"""Long work: shared out to threads in order, and how far it is, reported to whoever shows it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


def in_order(
    pool: ThreadPoolExecutor, work: Callable[[_Item], _Result], items: Iterable[_Item], most: int
) -> Iterator[_Result]:
    """The result for each item, in their order; the pool works on `most` items ahead."""
    ahead: deque[Future[_Result]] = deque()
    try:
        for item in items:
            ahead.append(pool.submit(work, item))
            if len(ahead) > most:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()
    finally:
        for future in ahead:
            future.cancel()


class WorkDone:
    """Adds up work, in bytes or files, and reports it.

    Args:
        report: called with the work that is done and all work; None reports nothing.
        total: all work that is known.
    """

    def __init__(self, report: Callable[[int, int], None] | None, total: int = 0) -> None:
        self._report = report
        self._total = total
        self._done = 0

    def expect(self, more: int) -> None:
        """Adds to the work that is known."""
        self._total += more

    def add(self, size: int) -> None:
        """Counts work that is done."""
        self.reach(self._done + size)

    def reach(self, done: int) -> None:
        """Sets the amount of work that is done; it never falls, nor passes the total."""
        self._done = max(self._done, min(done, self._total))
        if self._report is not None:
            self._report(self._done, self._total)
