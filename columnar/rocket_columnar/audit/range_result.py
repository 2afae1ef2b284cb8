"""The result of one range of the log."""

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rocket_columnar.audit.fault_runs import Marks
from rocket_columnar.audit.ranges import Range
from rocket_columnar.log import Gap, Requests, TopicNames
from rocket_columnar.store import Sign

BEFORE, NEWEST, AFTER = range(3)
"""Position of a record relative to dispatch: BEFORE the last indexed one, NEWEST (queued, perhaps not indexed), AFTER (not dispatched)."""


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
        records: number of its records that belong in a queue, and of those to which no queue points.
        clock: the greatest step back of the store timestamps: the record after it, and the time before and after it.
        stored: store timestamps of the first and the last record.
        gaps: bytes that do not verify.
        bodies: physical offsets of records whose bodies do not match their checksums, at most `MOST`.
        unsafe: topics that cannot be directories, and the physical offset of the first record of each.
        marks: units and entries that are wrong.
        times: store timestamps of the records at the offsets that headers name.
        dispatched: physical offset of the last record that is in a queue or the index; None if none is.
        indexed: whether any record is in the index.
        due: number of records after `dispatched` that should be in a queue or the index, and the first one's offset.
        uncopied: physical offsets of records that name queues for multi-dispatch and get no copy.
        units: missing units.
        key_runs: missing keys.
        hashes: hashes of some missing keys.
        dropped: number of runs of missing units or keys that are not listed.
        signs: of 5.x, in what points into the range.
        lives: physical offset of the last record with which a queue begins to count from 0, by topic and number.
        earlier: topics with messages of an earlier life in the range, which are in no queue.
        asked: of each copy for a further queue that queue, the record's physical offset, and the logical offset that it asks for.
        held: number of places where a clause held that could have been broken there.
    """

    range: Range
    first: int
    next: int
    gone: bool = False
    keys: int = 0
    end: int | None = None
    last: tuple[int, int] | None = None
    newest: int | None = None
    records: tuple[int, int] = (0, 0)
    clock: tuple[int, int, int] | None = None
    stored: tuple[int, int] | None = None
    gaps: list[Gap] = field(default_factory=list)
    bodies: list[int] = field(default_factory=list)
    unsafe: dict[str, int] = field(default_factory=dict)
    marks: Marks = field(default_factory=Marks)
    times: dict[int, int] = field(default_factory=dict)
    dispatched: int | None = None
    indexed: bool = False
    due: tuple[int, int] = (0, 0)
    uncopied: list[int] = field(default_factory=list)
    units: list[UnitRun] = field(default_factory=list)
    key_runs: list[KeyRun] = field(default_factory=list)
    hashes: frozenset[int] = frozenset()
    dropped: int = 0
    signs: list[Sign] = field(default_factory=list)
    lives: dict[tuple[str, int], int] = field(default_factory=dict)
    earlier: set[str] = field(default_factory=set)
    asked: list[tuple[tuple[str, int], int, int]] = field(default_factory=list)
    held: Counter[str] = field(default_factory=Counter[str])


@dataclass(frozen=True, slots=True)
class Frames:
    """The records of a range.

    Attributes:
        all: the records, in the order of the log.
        names: the topics' names, by their numbers.
    """

    all: Requests
    names: TopicNames

    def find(self, offsets: NDArray[np.int64]) -> NDArray[np.int64]:
        """The place of the record at each offset, -1 where none begins there."""
        known = self.all.phy_offset
        if not known.size:
            return np.full(offsets.size, -1, np.int64)
        places = np.searchsorted(known, offsets)
        places[places == known.size] = 0
        places[known[places] != offsets] = -1
        return places
