"""The result of one range of the log, and where the units and entries of all files point to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from rocket_columnar.audit.fault_runs import Marks
from rocket_columnar.audit.file_survey import IndexSurvey, QueueSurvey

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from rocket_columnar.audit.plan import Range
    from rocket_columnar.log import Gap
    from rocket_columnar.store import Sign

__all__ = ["AFTER", "BEFORE", "NEWEST", "Blocks", "KeyRun", "RangeResult", "Surveys", "UnitRun"]

BEFORE, NEWEST, AFTER = range(3)
"""Where a record is: before the range's last indexed one, from there up to the last one that is in its queue, after that."""


@dataclass(frozen=True, slots=True)
class UnitRun:
    """Units that are missing.

    Attributes:
        topic: of the queue.
        queue_id: of the queue.
        first: logical offset of the first.
        last: logical offset of the last.
        count: how many.
        phy_offset: of the first one's record.
        where: BEFORE, NEWEST or AFTER.
    """

    topic: str
    queue_id: int
    first: int
    last: int
    count: int
    phy_offset: int
    where: int


@dataclass(frozen=True, slots=True)
class KeyRun:
    """Keys without an entry, neighbours in the log.

    Attributes:
        first: number of the first among the range's keys.
        count: how many.
        begin: physical offset of the first one's record.
        end: physical offset of the last one's record.
        time: store timestamp of the first one's record, ms.
        where: BEFORE, NEWEST or AFTER.
    """

    first: int
    count: int
    begin: int
    end: int
    time: int
    where: int


@dataclass(slots=True)
class RangeResult:
    """The result of one range.

    Attributes:
        range: the range.
        first: physical offset at which its first record begins.
        next: physical offset of the first record after it, or of its file's end.
        gone: whether its file was deleted meanwhile; then nothing is judged.
        keys: how many keys its records have.
        end: physical offset after its last record; None without one.
        last: physical offset and size of its last record.
        newest: greatest store timestamp, ms; None without records.
        gaps: bytes that do not verify.
        bodies: physical offsets of records whose bodies do not match their checksums, at most `MOST`.
        unsafe: topics that cannot be directories, and the physical offset of the first record of each.
        marks: units and entries that are wrong.
        times: store timestamps of the records at the offsets that headers name.
        dispatched: physical offset of the last record that is in a queue or the index; None if none is.
        indexed: whether any record is in the index.
        due: number of records after `dispatched` that should be in a queue or the index, and the first one's offset.
        units: missing units.
        key_runs: missing keys.
        hashes: hashes of some missing keys.
        dropped: number of runs of missing units or keys that are not listed.
        signs: of 5.x, in what points into the range.
    """

    range: Range
    first: int
    next: int
    gone: bool = False
    keys: int = 0
    end: int | None = None
    last: tuple[int, int] | None = None
    newest: int | None = None
    gaps: list[Gap] = field(default_factory=list)
    bodies: list[int] = field(default_factory=list)
    unsafe: dict[str, int] = field(default_factory=dict)
    marks: Marks = field(default_factory=Marks)
    times: dict[int, int] = field(default_factory=dict)
    dispatched: int | None = None
    indexed: bool = False
    due: tuple[int, int] = (0, 0)
    units: list[UnitRun] = field(default_factory=list)
    key_runs: list[KeyRun] = field(default_factory=list)
    hashes: frozenset[int] = frozenset()
    dropped: int = 0
    signs: list[Sign] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Blocks:
    """Where the units and entries of all files point to, block by block.

    Attributes:
        files: the surveys, in the order of the files.
        owner: place of each block's survey.
        number: place of each block in its file.
        low: least physical offset of each block.
        high: greatest physical offset of each block.
    """

    files: tuple[Any, ...]
    owner: NDArray[np.int32]
    number: NDArray[np.int64]
    low: NDArray[np.int64]
    high: NDArray[np.int64]

    @classmethod
    def of(cls, surveys: Sequence[QueueSurvey] | Sequence[IndexSurvey]) -> Blocks:
        """The blocks of these files."""
        sizes = [survey.low.size for survey in surveys]
        empty = np.empty(0, np.int64)
        return cls(
            tuple(surveys),
            np.repeat(np.arange(len(surveys), dtype=np.int32), sizes),
            np.concatenate([empty, *(survey.blocks for survey in surveys)]),
            np.concatenate([empty, *(survey.low for survey in surveys)]),
            np.concatenate([empty, *(survey.high for survey in surveys)]),
        )

    def meeting(self, begin: int, last: int) -> list[tuple[int, int, int]]:
        """Runs of blocks that point into a range up to `last`: (survey, first block, after the last)."""
        hits = np.flatnonzero((self.low <= last) & (self.high >= begin))
        if not hits.size:
            return []
        breaks = np.flatnonzero((np.diff(self.number[hits]) != 1) | (np.diff(self.owner[hits]) != 0)) + 1
        starts = np.concatenate([[0], breaks])
        stops = np.append(breaks, hits.size) - 1
        heads, tails = hits[starts], hits[stops]
        return list(
            zip(
                self.owner[heads].tolist(),
                self.number[heads].tolist(),
                (self.number[tails] + 1).tolist(),
                strict=True,
            )
        )


@dataclass(frozen=True, slots=True)
class Surveys:
    """What all consume-queue and index files hold.

    Attributes:
        queues: blocks of the consume-queue files.
        indexes: blocks of the index files.
    """

    queues: Blocks
    indexes: Blocks

    @classmethod
    def of(cls, surveys: Iterable[QueueSurvey | IndexSurvey | None]) -> Surveys:
        """The surveys of a plan's files, in their order; None for a file that no longer existed."""
        there = [survey for survey in surveys if survey is not None]
        return cls(
            Blocks.of([survey for survey in there if isinstance(survey, QueueSurvey)]),
            Blocks.of([survey for survey in there if isinstance(survey, IndexSurvey)]),
        )
