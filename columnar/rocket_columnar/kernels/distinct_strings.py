"""Distinct byte strings by number, found by a compiled loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rocket_columnar.kernels.log_records import Items, StringTable, intern_strings
from rocket_columnar.kernels.raw_bytes import SLACK

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["DistinctStrings"]


class DistinctStrings:
    """The distinct items seen so far, in the order in which they came.

    Attributes:
        items: all of them.
        strings: the same as a compiled loop looks them up.
    """

    def __init__(self) -> None:
        self.items: list[bytes] = []
        self.strings = StringTable(
            np.full(1 << 10, -1, np.int32), np.empty(1 << 12, np.uint8), np.zeros(1 << 8, np.int64)
        )
        self._used = 0

    def __len__(self) -> int:
        return self._used

    def add(self, item: bytes) -> int:
        """The number of one item, which is added if it is new."""
        window = np.frombuffer(item + bytes(SLACK), np.uint8)
        return int(self.numbers(window, np.zeros(1, np.int32), np.full(1, len(item), np.int32))[0])

    def numbers(
        self, window: NDArray[np.uint8], starts: NDArray[np.int32], lengths: NDArray[np.int32]
    ) -> NDArray[np.int32]:
        """The number of each item of a window, as an index into `items`; new ones are added."""
        numbers = np.empty(len(starts), np.int32)
        done, items = 0, Items(starts, lengths)
        while True:
            done, self._used = intern_strings(window, items, done, self.strings, self._used, numbers)
            if done == len(starts):
                break
            self._grow(int(lengths[done]))
        pool, bounds = self.strings.pool, self.strings.bounds
        for number in range(len(self.items), self._used):
            self.items.append(pool[bounds[number] : bounds[number + 1]].tobytes())
        return numbers

    def _grow(self, length: int) -> None:
        """Makes room for twice as many items, and for one of `length` bytes."""
        _, pool, bounds = self.strings
        room, used = 2 * len(bounds), self._used
        self.strings = StringTable(
            np.full(4 * room, -1, np.int32),
            np.empty(2 * len(pool) + length, np.uint8),
            np.zeros(room, np.int64),
        )
        items = Items(bounds[:used].astype(np.int32), np.diff(bounds[: used + 1]).astype(np.int32))
        _, self._used = intern_strings(pool, items, 0, self.strings, 0, np.empty(used, np.int32))
