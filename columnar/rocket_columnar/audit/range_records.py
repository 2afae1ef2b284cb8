"""The records of one range of the log, found by their physical offsets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from rocket_columnar.audit.matching import call, find

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocket_columnar.log import Requests, TopicNames

__all__ = ["Frames"]

_CELL: Final = 6  # log2 of the bytes that hold the beginning of one record at most


class Frames:
    """The records of a range."""

    def __init__(self, every: Requests, names: TopicNames, low: int, *, compiled: bool) -> None:
        self.all = every
        self.names = names
        self._low = low
        self._compiled = compiled
        self._cells: NDArray[np.int32] | None = None

    def key_start(self) -> NDArray[np.int64]:
        """Where each record's keys begin, and after the last one's."""
        starts = np.zeros(self.all.phy_offset.size + 1, np.int64)
        np.cumsum(self.all.key_count, out=starts[1:])
        return starts

    def find(self, offsets: NDArray[np.int64]) -> NDArray[np.int64]:
        """The place of the record at each offset, -1 where none begins there."""
        known = self.all.phy_offset
        if not known.size:
            return np.full(offsets.size, -1, np.int64)
        if self._compiled:
            if self._cells is None:
                cells = (known - self._low) >> _CELL
                self._cells = np.full(int(cells[-1]) + 1, -1, np.int32)
                self._cells[cells] = np.arange(known.size, dtype=np.int32)
            places = np.empty(offsets.size, np.int64)
            call(find, offsets, self._low, self._cells, known, places, compiled=True)
            return places
        places = np.searchsorted(known, offsets)
        places[places == known.size] = 0
        places[known[places] != offsets] = -1
        return places
