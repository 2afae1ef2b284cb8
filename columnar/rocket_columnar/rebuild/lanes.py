"""Work on a pool's threads: the most urgent first, and some of it in order."""

from __future__ import annotations

from collections import deque
from concurrent.futures import Executor, Future
from heapq import heappop, heappush
from itertools import count
from threading import Condition, Lock
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Lane", "Ranks"]

_WAITING: Final = 3

_Piece = TypeVar("_Piece")


class Ranks:
    """Work that waits for a pool's threads, by rank: a free thread takes the oldest of the lowest rank."""

    def __init__(self, pool: Executor) -> None:
        self._pool = pool
        self._lock = Lock()
        self._waiting: list[tuple[int, int, Callable[[], None]]] = []
        self._numbers = count()

    def rank(self, rank: int) -> Executor:
        """Where work of a rank is submitted."""
        return _Rank(self, rank)

    def add(self, rank: int, work: Callable[[], None]) -> None:
        """Has a thread do it."""
        with self._lock:
            heappush(self._waiting, (rank, next(self._numbers), work))
        self._pool.submit(self._run)

    def _run(self) -> None:
        with self._lock:
            _, _, work = heappop(self._waiting)
        work()


class _Rank(Executor):
    def __init__(self, ranks: Ranks, rank: int) -> None:
        self._ranks = ranks
        self._rank = rank

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()

        def work() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(fn(*args, **kwargs))
            except BaseException as error:  # noqa: BLE001 - raised where the result is taken
                future.set_exception(error)

        self._ranks.add(self._rank, work)
        return future


class Lane(Generic[_Piece]):
    """Pieces of work in their order, one at a time; a thread that has done one takes the next one that waits.

    Args:
        pool: whose threads do the work.
        work: does a piece.
    """

    def __init__(self, pool: Executor, work: Callable[[_Piece], None]) -> None:
        self._pool = pool
        self._work = work
        self._pieces: deque[_Piece] = deque()
        self._changed = Condition()
        self._busy = False
        self._error: BaseException | None = None

    def put(self, piece: _Piece) -> None:
        """Adds a piece; waits while others wait. Raises what an earlier piece raised."""
        with self._changed:
            self._changed.wait_for(lambda: len(self._pieces) < _WAITING or self._error is not None)
            self._raise()
            self._pieces.append(piece)
            if not self._busy:
                self._busy = True
                self._pool.submit(self._run)

    def finish(self) -> None:
        """Waits until all pieces are done. Raises what a piece raised."""
        with self._changed:
            self._changed.wait_for(lambda: not self._busy)
            self._raise()

    def _raise(self) -> None:
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.notify()
                if not self._pieces or self._error is not None:
                    self._busy = False
                    return
                piece = self._pieces.popleft()
            try:
                self._work(piece)
            except BaseException as error:  # noqa: BLE001 - raised where the next piece comes from
                self._error = error
