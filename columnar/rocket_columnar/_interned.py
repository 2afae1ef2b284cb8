"""Distinct byte strings by number, found by a compiled loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rocket_columnar import _compiled_log

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Interned"]


class Interned:
    """The distinct items seen so far, in the order in which they came."""

    def __init__(self) -> None:
        self.items: list[bytes] = []
        self._used = 0
        self._pool = np.empty(1 << 12, np.uint8)
        self._bounds = np.zeros(1 << 8, np.int64)
        self._table = np.full(1 << 10, -1, np.int32)

    def __len__(self) -> int:
        return self._used

    def numbers(
        self, window: NDArray[np.uint8], starts: NDArray[np.int32], lengths: NDArray[np.int32]
    ) -> NDArray[np.int32]:
        """The number of each item, as an index into `items`, which new ones join."""
        numbers = np.empty(len(starts), np.int32)
        done = 0
        while True:
            done, self._used = _compiled_log.intern(
                window,
                starts,
                lengths,
                done,
                self._table,
                self._pool,
                self._bounds,
                self._used,
                numbers,
            )
            if done == len(starts):
                break
            self._grow(int(lengths[done]))
        for number in range(len(self.items), self._used):
            self.items.append(self._pool[self._bounds[number] : self._bounds[number + 1]].tobytes())
        return numbers

    def _grow(self, length: int) -> None:
        """Room for twice as many items, and for one of `length` bytes; all are put in again."""
        pool, bounds, used = self._pool, self._bounds, self._used
        self._pool = np.empty(2 * len(pool) + length, np.uint8)
        self._bounds = np.zeros(2 * len(bounds), np.int64)
        self._table = np.full(4 * len(self._bounds), -1, np.int32)
        starts = bounds[:used].astype(np.int32)
        lengths = np.diff(bounds[: used + 1]).astype(np.int32)
        again = np.empty(used, np.int32)
        _, self._used = _compiled_log.intern(
            pool, starts, lengths, 0, self._table, self._pool, self._bounds, 0, again
        )
