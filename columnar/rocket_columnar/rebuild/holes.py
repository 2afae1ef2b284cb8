"""Gaps between the records of a commit log: as findings, and as the holes in which records are lost."""

from bisect import bisect_left, insort
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray
from rocket_spec.layout import RECORD_FIXED_V4

from rocket_columnar.findings import Finding, gap_finding
from rocket_columnar.log import Gap, Lives, Requests
from rocket_columnar.store import StoreFile, read_at

_BLANK: Final = 8  # bytes at the start of the blank record that ends a file

_FILES: Final = 64
"""Log files that one hole stands for, at most: names can claim any distance."""


@dataclass(slots=True)
class Holes:
    """The ranges of a log whose records are lost.

    Attributes:
        most: bytes of records in one range, at most.
        ranges: physical offsets where they begin and end.
        records: the most that may have been in all ranges.
        log_begin: physical offset where the log begins: records before it have expired, or their files are gone.
        lives: of its queues; what precedes the last one is in no queue.
    """

    most: int
    ranges: list[tuple[int, int]] = field(default_factory=list)
    records: int = 0
    log_begin: int = 0
    lives: Lives = field(default_factory=Lives)

    def add(self, begin: int, end: int) -> None:
        """Adds a range, unless it is empty."""
        if end > begin:
            insort(self.ranges, (begin, end))
            self.records += min(end - begin, self.most) // RECORD_FIXED_V4

    def cut(self, end: int) -> None:
        """Removes the ranges from `end` on."""
        kept = [pair for pair in self.ranges if pair[0] < end]
        self.ranges, self.records = [], 0
        for pair in kept:
            self.add(*pair)

    def between(self, begin: int, end: int) -> bool:
        """Whether a range begins between two physical offsets."""
        at = bisect_left(self.ranges, (begin, begin))
        return at < len(self.ranges) and self.ranges[at][0] < end

    def hold(self, phy_offset: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether records begin in a range, or before the log does."""
        begins, ends = np.array([(0, self.log_begin), *self.ranges], np.int64).T
        at = np.searchsorted(begins, phy_offset, "right") - 1
        held: NDArray[np.bool_] = (at >= 0) & (phy_offset < ends[at])
        return held


def missing_holes(logs: Sequence[StoreFile]) -> Holes:
    """The holes that missing files of a log make."""
    holes = Holes(_FILES * max(file.size() for file in logs), log_begin=logs[0].base_offset)
    for file, after in pairwise(logs):
        holes.add(file.base_offset + file.size(), after.base_offset)
    return holes


class Gaps:
    """The gaps of a log file between its records, and after them.

    Args:
        file: of the log.
        last: whether no other file follows.
        holes: gets the ranges whose records are lost.

    Attributes:
        findings: on the ranges without records.
        end: physical offset up to which the file was read.
    """

    def __init__(self, file: StoreFile, holes: Holes, *, last: bool) -> None:
        self.findings: list[Finding] = []
        self._file = file
        self._last = last
        self._holes = holes
        self.end = file.base_offset
        self._records_end = self.end

    def add(self, gap: Gap) -> None:
        """Adds a range without records; at the end of the last file it is a torn write."""
        size = self._file.size()
        tail = self._last and gap.end >= self._file.base_offset + size
        self.findings.append(gap_finding(self._file, size, gap, tail=tail, live=False))
        self._holes.add(gap.begin, gap.end)
        self.end = max(self.end, gap.end)

    def pass_over(self, batch: Requests) -> None:
        """Notes where the records end so far."""
        if batch.phy_offset.size:
            self._records_end = int(batch.phy_offset[-1]) + int(batch.size[-1])
            self.end = max(self.end, self._records_end)

    def close(self) -> None:
        """Notes the file's end: zeros after the records of a file that another one follows are a hole.

        What comes after all records is none: a start ends the log there.
        """
        if self._last:
            self._holes.cut(self._records_end)
        head = read_at(self._file, self.end - self._file.base_offset, _BLANK)
        if not self._last and len(head) == _BLANK and not any(head):
            self._holes.add(self.end, self._file.base_offset + self._file.size())
