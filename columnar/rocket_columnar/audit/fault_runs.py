"""Faults of units and entries, as runs of neighbours: small enough to be passed from range to range."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rocket_spec.layout import QUEUE_UNIT

from rocket_columnar.store import Reader

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


# Units that are read before the ranges of the log need them.


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


MOST: Final = 1000
"""Findings of one kind in one file that are reported one by one; of more, only how many."""


class Mark(NamedTuple):
    """A run of units or entries with the same fault.

    Attributes:
        first: number of the first, in its file.
        length: how many.
        values: of the first, for its finding.
    """

    first: int
    length: int
    values: tuple[int, ...]


@dataclass(slots=True)
class Marks:
    """Marks by fault and file: at most `MOST` for each pair, and the number of further ones."""

    runs: dict[tuple[str, str], list[Mark]] = field(default_factory=dict)
    more: dict[tuple[str, str], int] = field(default_factory=dict)

    def add(
        self, what: str, file: str, numbers: NDArray[np.int64], values: Callable[[int], tuple[int, ...]]
    ) -> None:
        """Marks ascending numbers of a file; `values` takes a place in `numbers`."""
        if not numbers.size:
            return
        starts = np.flatnonzero(np.diff(numbers, prepend=numbers[0] - 2) != 1)
        lengths = np.diff(np.append(starts, numbers.size))
        held = self.runs.setdefault((what, file), [])
        room = max(MOST - len(held), 0)
        for start, length in zip(starts[:room].tolist(), lengths[:room].tolist(), strict=True):
            held.append(Mark(int(numbers[start]), length, values(start)))
        if starts.size > room:
            self.more[what, file] = self.more.get((what, file), 0) + int(starts.size) - room

    @staticmethod
    def joined(parts: Iterable[Marks]) -> Marks:
        """All marks together, with neighbouring runs joined."""
        every = Marks()
        for part in parts:
            for key, marks in part.runs.items():
                every.runs.setdefault(key, []).extend(marks)
            for key, count in part.more.items():
                every.more[key] = every.more.get(key, 0) + count
        for key, marks in every.runs.items():
            glued: list[Mark] = []
            for mark in sorted(marks):
                if glued and glued[-1].first + glued[-1].length == mark.first:
                    glued[-1] = glued[-1]._replace(length=glued[-1].length + mark.length)
                else:
                    glued.append(mark)
            every.runs[key] = glued
        return every


def values_at(places: NDArray[np.int64], *columns: NDArray[Any]) -> Callable[[int], tuple[int, ...]]:
    """The values of the rows at some places, for `Marks.add`."""
    return lambda number: tuple(int(column[places[number]]) for column in columns)


def runs_of(numbers: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Runs of neighbouring ascending numbers as (place of the first, length); numbers may repeat."""
    if not numbers.size:
        return []
    starts = np.flatnonzero(np.diff(numbers, prepend=numbers[0] - 2) > 1)
    return list(zip(starts.tolist(), np.diff(np.append(starts, numbers.size)).tolist(), strict=True))
