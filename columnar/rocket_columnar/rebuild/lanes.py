"""Work that must be done in order, on a pool's threads."""

from __future__ import annotations

from collections import deque
from threading import Condition
from typing import TYPE_CHECKING, Final, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Executor

__all__ = ["Lane"]

_WAITING: Final = 3

_Piece = TypeVar("_Piece")


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
