"""Distinct byte strings by number, found by a compiled loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rocket_columnar import kernels
from rocket_columnar.kernels import SLACK

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Interned"]


class Interned:
    """The distinct items seen so far, in the order in which they came.

    Attributes:
        items: all of them.
        table: where a compiled loop finds their numbers; see `_compiled_bytes.find`.
        pool: their bytes, one behind the other.
        bounds: where each begins in the pool, and the last ends.
    """

    def __init__(self) -> None:
        self.items: list[bytes] = []
        self.table = np.full(1 << 10, -1, np.int32)
        self.pool = np.empty(1 << 12, np.uint8)
        self.bounds = np.zeros(1 << 8, np.int64)
        self._used = 0

    def __len__(self) -> int:
        return self._used

    def add(self, item: bytes) -> int:
        """The number of one item, which joins where it is new."""
        window = np.frombuffer(item + bytes(SLACK), np.uint8)
        return int(self.numbers(window, np.zeros(1, np.int32), np.full(1, len(item), np.int32))[0])

    def numbers(
        self, window: NDArray[np.uint8], starts: NDArray[np.int32], lengths: NDArray[np.int32]
    ) -> NDArray[np.int32]:
        """The number of each item of a window, as an index into `items`, which new ones join."""
        numbers = np.empty(len(starts), np.int32)
        done = 0
        while True:
            done, self._used = kernels.intern_strings(
                window, starts, lengths, done, self.table, self.pool, self.bounds, self._used, numbers
            )
            if done == len(starts):
                break
            self._grow(int(lengths[done]))
        for number in range(len(self.items), self._used):
            self.items.append(self.pool[self.bounds[number] : self.bounds[number + 1]].tobytes())
        return numbers

    def _grow(self, length: int) -> None:
        """Room for twice as many items, and for one of `length` bytes; all are put in again."""
        pool, bounds, used = self.pool, self.bounds, self._used
        self.pool = np.empty(2 * len(pool) + length, np.uint8)
        self.bounds = np.zeros(2 * len(bounds), np.int64)
        self.table = np.full(4 * len(self.bounds), -1, np.int32)
        starts = bounds[:used].astype(np.int32)
        lengths = np.diff(bounds[: used + 1]).astype(np.int32)
        again = np.empty(used, np.int32)
        _, self._used = kernels.intern_strings(
            pool, starts, lengths, 0, self.table, self.pool, self.bounds, 0, again
        )
