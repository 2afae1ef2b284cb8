"""The part of a file that a scan reads, piece after piece, into reused memory."""

from __future__ import annotations

from collections import deque
from concurrent.futures import wait
from typing import TYPE_CHECKING, Any

import numpy as np

from rocket_columnar.kernels import SLACK

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

    from numpy.typing import NDArray

    from rocket_columnar.store import Reader

__all__ = ["Window"]


class Window:
    """Consecutive bytes of a file, from `begin` up to `end`; the first one is at `first` of `data`.

    The rest of one piece is put before the next one, so that no byte is read twice and a record may begin in one and
    end in the other. With a `pool`, the next piece is read while this one is scanned, and work that was lent the piece
    before may still be reading that one.
    """

    def __init__(self, piece: int, pool: ThreadPoolExecutor | None = None, *, lends: bool = False) -> None:
        """A window of pieces of `piece` bytes.

        Each memory more is more for the processor's cache, so there is a third one only where `lend` will be called.
        """
        self._piece = piece
        self._pool = pool
        pieces = 1 if pool is None else 2 + lends
        self.data, *spares = (np.empty(2 * piece + SLACK, np.uint8) for _ in range(pieces))
        self._borrower: Future[Any] | None = None
        self._spares: deque[tuple[NDArray[np.uint8], Future[Any] | None]] = deque(
            (spare, None) for spare in spares
        )
        self._ahead: tuple[NDArray[np.uint8], Future[None]] | None = None
        self._reader: Reader | None = None
        self.first = 0
        self.begin = 0
        self.end = 0

    def lend(self, borrower: Future[Any]) -> None:
        """Leaves `data` as it is until that work is done."""
        self._borrower = borrower

    def move(self, reader: Reader, position: int, stop: int) -> bool:
        """Moves the window to `position` and reads further; returns whether there was more.

        Records at or after `stop` are ignored. For another file or another position, everything is read again.
        """
        if reader is not self._reader or not self.begin <= position <= self.end:
            self.drop()
            self._reader, self.begin, self.end = reader, position, position
        elif (
            self.end == reader.size
            or self.end - position > self._piece
            or (position == self.begin < self.end)
        ):
            return False
        left = self.end - position
        kept = self.data[self.first + position - self.begin :][:left]
        length = min(self._piece, reader.size - self.end)
        if self._ahead is not None:
            (data, read), self._ahead = self._ahead, None
            self._spares.append((self.data, self._borrower))
            self.data, self._borrower = data, None
            read.result()
        else:
            kept = kept.copy()
            _finish(self._borrower)
            reader.read_into(self.end, self.data[self._piece :][:length])
        self.data[self._piece - left : self._piece] = kept
        self.first, self.begin, self.end = self._piece - left, position, self.end + length
        if self._pool is not None and self.end < min(stop, reader.size):
            data, borrower = self._spares.popleft()
            _finish(borrower)
            room = data[self._piece :][: min(self._piece, reader.size - self.end)]
            self._ahead = data, self._pool.submit(reader.read_into, self.end, room)
        return True

    def holds(self, reader: Reader, position: int) -> bool:
        """Whether the window contains that byte of the file."""
        return reader is self._reader and self.begin <= position < self.end

    def drop(self) -> None:
        """Drops the content, and waits for the read ahead, whose errors are ignored."""
        if self._ahead is not None:
            data, read = self._ahead
            _finish(read)
            self._spares.append((data, None))
        self._ahead = self._reader = None


def _finish(work: Future[Any] | None) -> None:
    """Waits for it; its errors are those of whoever asks for its result."""
    if work is not None:
        wait([work])
