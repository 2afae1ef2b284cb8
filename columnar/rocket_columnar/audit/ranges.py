"""The plan of an audit, the ranges into which it cuts the log, and what is passed from range to range: runs of faults."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rocket_spec.errors import UsageError
from rocket_spec.layout import QUEUE_UNIT

from rocket_columnar.audit.checkpoint_check import LogTimes
from rocket_columnar.facts import Store, as_store
from rocket_columnar.formats import LONG_MAX
from rocket_columnar.log import Gap, Requests, Tail, TopicNames
from rocket_columnar.store import Reader, Sign

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


MOST: Final = 1000  # findings of one kind in one file that are reported one by one; of more, only how many


class Mark(NamedTuple):
    """A run of units or entries with the same fault: the number of the first in its file, and that one's values for its finding."""

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


# The plan of an audit: the store, the level, and the ranges into which its log is cut.


Level = Literal["quick", "default", "deep", "exact"]
LEVELS: Final[tuple[Level, ...]] = ("quick", "default", "deep")

_RANGE: Final = 32 << 20
_LONGEST: Final = (1 << 31) - 1
_MOST_RANGES: Final = 256


@dataclass(frozen=True, slots=True)
class Range:
    """A range of physical offsets that is checked at once."""

    number: int  # its place among the ranges
    begin: int  # physical offset of its first byte
    end: int  # physical offset after its last byte
    log: int | None  # place of its file among the plan's logs; None if no file holds these offsets
    exact: bool  # whether a record is known to begin at `begin`

    @property
    def last(self) -> int:
        """Physical offset of its last byte; for the last range the greatest possible one."""
        return self.end if self.end == LONG_MAX else self.end - 1

    @property
    def size(self) -> int:
        """Bytes of the log in it."""
        return 0 if self.log is None else self.end - self.begin


@dataclass(frozen=True, slots=True)
class Plan:
    """An audit of one store at a level of `plan_audit`; the ranges are all physical offsets from the log's first on."""

    store: Store
    level: Level
    ranges: tuple[Range, ...]

    @property
    def deep(self) -> bool:
        """Whether bodies are compared with their checksums, and walks of queries are followed."""
        return self.level == "deep" or self.exact

    @property
    def exact(self) -> bool:
        """Whether a judge of clauses asks: then what harms no operator is a finding, too."""
        return self.level == "exact"

    def relisted(self) -> Plan:
        """The plan with the present index files: a broker may have rolled since."""
        return replace(self, store=self.store.with_present_indexes()) if self.store.live else self


def plan_audit(
    store: Store | Path | str, level: Level = "default", *, range_size: int = _RANGE, **known: Any
) -> Plan:
    """The plan of a store.

    Args:
        store: the store, or its directory.
        level: "quick" checks names, sizes, headers, checkpoint and continuity; "default" compares every unit
            and entry with the log's records, and vice versa; "deep" also verifies the bodies' checksums and
            reports entries that a query of their own key does not reach; "exact", for judges, also compares the
            checkpoint and the logical offsets of records with what 4.9.3 writes.
        range_size: maximum bytes of log in a range.
        known: of a directory, as for `Store`.

    Raises:
        UsageError: an unknown level or release, no store, or a geometry that does not fit.
        OSError: the store cannot be read.
    """
    if level not in (*LEVELS, "exact"):
        raise UsageError(f"unknown level {level!r}; there are {', '.join(LEVELS)}")
    made = as_store(store, **known)
    return Plan(made, level, ranges_of(made, range_size))


def ranges_of(store: Store, size: int = _RANGE) -> tuple[Range, ...]:
    """All physical offsets from the log's first on, cut at files and into ranges of `size` bytes at most."""
    return tuple(_ranges(store.tail, size))


def _ranges(tail: Tail, size: int) -> list[Range]:
    cut: list[tuple[int, int, int | None, bool]] = []
    position = tail.files[0].base_offset if tail.files else 0
    for number, (file, length, filled) in enumerate(zip(tail.files, tail.sizes, tail.filled, strict=True)):
        base = file.base_offset
        if base > position:
            cut.append((position, base, None, True))
        following = tail.files[number + 1].base_offset if number + 1 < len(tail.files) else LONG_MAX
        end = min(base + length, following)
        # No real file is longer than Java's int; a longer one is mostly a hole, and has few ranges all the same.
        step = max(size, filled // _MOST_RANGES) if filled > _LONGEST else size
        steps = range(base, base + max(min(filled, end - base), 1), step)
        cut += [(begin, min(begin + step, end), number, begin == base) for begin in steps[:-1]]
        if end > base:
            cut.append((steps[-1], end, number, steps[-1] == base))
        position = end
    cut.append((position, LONG_MAX, None, True))
    return [Range(number, *bounds) for number, bounds in enumerate(cut)]


# The result of one range of the log.


BEFORE, NEWEST, AFTER = range(3)
"""Position of a record relative to dispatch: BEFORE the last indexed one, NEWEST (queued, perhaps not indexed), AFTER (not dispatched)."""


@dataclass(frozen=True, slots=True)
class UnitRun:
    """Units that are missing."""

    topic: str
    queue_id: int
    first: int  # logical offset of the first
    last: int  # logical offset of the last
    count: int
    phy_offset: int  # of the first one's record
    where: int  # BEFORE, NEWEST or AFTER


@dataclass(frozen=True, slots=True)
class KeyRun:
    """Keys without an entry, neighbours in the log."""

    first: int  # number of the first among the range's keys
    count: int
    begin: int  # physical offset of the first one's record
    end: int  # physical offset of the last one's record
    next: int  # physical offset of the next key's record, -1 at the log's end
    time: int  # store timestamp of the first one's record, ms
    where: int  # BEFORE, NEWEST or AFTER


Queue = tuple[str, int]  # topic and number


class Steps(NamedTuple):
    """The logical offsets that a queue's records in a range state."""

    first: tuple[int, int]  # physical and logical offset of the first record
    last: int  # logical offset of the last record
    # physical and logical offset of each record that does not state the next one, and the next one
    wrong: list[tuple[int, int, int]]


@dataclass(slots=True)
class RangeResult:
    """The result of one range."""

    range: Range
    first: int  # physical offset at which its first record begins
    next: int  # physical offset of the first record after it, or of its file's end
    gone: bool = False  # whether its file was deleted meanwhile; then nothing is judged
    keys: int = 0
    keyed: int = -1  # physical offset of the first record with a key; -1 without one
    end: int | None = None  # physical offset after its last record; None without one
    last: tuple[int, int] | None = None  # physical offset and size of its last record
    newest: int | None = None  # greatest store timestamp, ms; None without records
    # number of its records that belong in a queue, and of those to which no queue points
    records: tuple[int, int] = (0, 0)
    # the greatest step back of the store timestamps: the record after it, and the time before and after it
    clock: tuple[int, int, int] | None = None
    times_seen: LogTimes | None = None  # store timestamps of its records; None without one
    gaps: list[Gap] = field(default_factory=list)  # bytes that do not verify
    # physical offsets of records whose bodies do not match their checksums, at most `MOST`
    bodies: list[int] = field(default_factory=list)
    # topics that cannot be directories, and the physical offset of the first record of each
    unsafe: dict[str, int] = field(default_factory=dict)
    marks: Marks = field(default_factory=Marks)  # units and entries that are wrong
    # store timestamps of the records at the offsets that headers name
    times: dict[int, int] = field(default_factory=dict)
    # physical offset of the last record that is in a queue or the index; None if none is
    dispatched: int | None = None
    indexed: bool = False
    # number of records after `dispatched` that should be in a queue or the index, and the first one's offset
    due: tuple[int, int] = (0, 0)
    # physical offsets of records that name queues for multi-dispatch and get no copy
    uncopied: list[int] = field(default_factory=list)
    units: list[UnitRun] = field(default_factory=list)
    key_runs: list[KeyRun] = field(default_factory=list)
    hashes: frozenset[int] = frozenset()  # hashes of some missing keys
    dropped: int = 0  # number of runs of missing units or keys that are not listed
    signs: list[Sign] = field(default_factory=list)  # of 5.x, in what points into the range
    # physical offset of the last record with which a queue begins to count from 0, by topic and number
    lives: dict[tuple[str, int], int] = field(default_factory=dict)
    # topics with messages of an earlier life in the range, which are in no queue
    earlier: set[str] = field(default_factory=set)
    # of each copy for a further queue that queue, the record's physical offset, and the logical offset that it asks for
    asked: list[tuple[tuple[str, int], int, int]] = field(default_factory=list)
    # number of places where a clause held that could have been broken there
    held: Counter[str] = field(default_factory=Counter[str])
    # the logical offsets that records state, by queue
    steps: dict[Queue, Steps] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Frames:
    """The records of a range."""

    all: Requests  # the records, in the order of the log
    names: TopicNames  # the topics' names, by their numbers

    def find(self, offsets: NDArray[np.int64]) -> NDArray[np.int64]:
        """The place of the record at each offset, -1 where none begins there."""
        known = self.all.phy_offset
        if not known.size:
            return np.full(offsets.size, -1, np.int64)
        places = np.searchsorted(known, offsets)
        places[places == known.size] = 0
        places[known[places] != offsets] = -1
        return places
