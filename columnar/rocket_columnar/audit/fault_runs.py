"""Faults of units and entries, as runs of neighbours: small enough to be passed from range to range."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

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
