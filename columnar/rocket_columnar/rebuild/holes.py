"""What a commit log has between its records: findings, and the holes in which records are lost."""

from __future__ import annotations

from bisect import bisect_left, insort
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from rocket_spec.layout import RECORD_FIXED_V4

from rocket_columnar.findings import gap_finding
from rocket_columnar.store import read_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rocket_columnar.findings import Finding
    from rocket_columnar.log import Gap, Requests
    from rocket_columnar.store import StoreFile

__all__ = ["Gaps", "Holes", "log_holes"]

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
    """

    most: int
    ranges: list[tuple[int, int]] = field(default_factory=list)
    records: int = 0

    def add(self, begin: int, end: int) -> None:
        """Adds a range, unless it is empty."""
        if end > begin:
            insort(self.ranges, (begin, end))
            self.records += min(end - begin, self.most) // RECORD_FIXED_V4

    def between(self, begin: int, end: int) -> bool:
        """Whether a range begins between two physical offsets."""
        at = bisect_left(self.ranges, (begin, begin))
        return at < len(self.ranges) and self.ranges[at][0] < end


def log_holes(logs: Sequence[StoreFile], found: Iterable[Sequence[int]] = ()) -> Holes:
    """The holes of a log: missing files, and those that were found in its files."""
    holes = Holes(_FILES * max(file.size() for file in logs))
    for file, after in pairwise(logs):
        holes.add(file.base_offset + file.size(), after.base_offset)
    for begin, end in found:
        holes.add(begin, end)
    return holes


class Gaps:
    """What a log file has between its records, and after them.

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
            self.end = max(self.end, int(batch.phy_offset[-1]) + int(batch.size[-1]))

    def close(self) -> None:
        """Notes the file's end: zeros after the records of a file that another one follows are a hole."""
        head = read_at(self._file, self.end - self._file.base_offset, _BLANK)
        if not self._last and len(head) == _BLANK and not any(head):
            self._holes.add(self.end, self._file.base_offset + self._file.size())
