"""Units that are read before the ranges of the log need them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rocket_spec.layout import QUEUE_UNIT

from rocket_columnar.store import Reader

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_HELD: Final = 64 << 20  # bytes kept, at most
_FEW: Final = 256  # files up to which nothing is read ahead


class ReadAhead:
    """Units that are read ahead, together with those that a range needs, since the next ranges will need them.

    If there are many queues, each has few units in a range; so a file is not opened again for each range. At most
    `_HELD` bytes are kept, whatever the number of files.
    """

    def __init__(self, files: int) -> None:
        self.rows = _HELD // (files * QUEUE_UNIT.size) if files > _FEW else 0
        self._held: dict[str, tuple[int, NDArray[np.uint8]]] = {}

    def take(self, name: str, first: int, rows: NDArray[np.uint8]) -> bool:
        """Fills the rows of a file from number `first` on, if they have been read ahead; otherwise returns False."""
        begin, held = self._held.get(name, (0, rows[:0]))
        at = (first - begin) * QUEUE_UNIT.size
        if at < 0 or at + rows.size > held.size:
            return False
        rows[:] = held[at : at + rows.size]
        return True

    def keep(self, name: str, rows: NDArray[np.uint8]) -> None:
        """Holds the first rows of a file, which has been read for another purpose."""
        if self.rows:
            most = self.rows * QUEUE_UNIT.size
            self._held[name] = 0, rows if rows.size <= most else rows[:most].copy()

    def read(self, reader: Reader, name: str, first: int, count: int, rows: NDArray[np.uint8]) -> None:
        """Fills the rows of an open file, which has `count`, and keeps those after them."""
        stop = min(first + self.rows, count, reader.size // QUEUE_UNIT.size)
        held = reader.read(first * QUEUE_UNIT.size, max((stop - first) * QUEUE_UNIT.size, rows.size))
        rows[:] = held[: rows.size]
        self._held[name] = first, held
