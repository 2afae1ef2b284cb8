"""The plan of an audit: the store, the level, and the ranges into which its log is cut."""

from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from rocket_spec.errors import UsageError

from rocket_columnar.audit.fault_runs import Marks
from rocket_columnar.facts import Store, as_store
from rocket_columnar.formats import LONG_MAX
from rocket_columnar.log import Gap, Requests, Tail, TopicNames
from rocket_columnar.store import Sign

Level = Literal["quick", "default", "deep"]
LEVELS: Final[tuple[Level, ...]] = get_args(Level)

_RANGE: Final = 32 << 20
_LONGEST: Final = (1 << 31) - 1
_MOST_RANGES: Final = 256


@dataclass(frozen=True, slots=True)
class Range:
    """A range of physical offsets that is checked at once.

    Attributes:
        number: its place among the ranges.
        begin: physical offset of its first byte.
        end: physical offset after its last byte.
        log: place of its file among the plan's logs; None if no file holds these offsets.
        exact: whether a record is known to begin at `begin`.
    """

    number: int
    begin: int
    end: int
    log: int | None
    exact: bool

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
    """An audit of one store.

    Attributes:
        store: what is known of it.
        level: how much is checked; see `plan_audit`.
        ranges: all physical offsets from the log's first on.
    """

    store: Store
    level: Level
    ranges: tuple[Range, ...]

    @property
    def deep(self) -> bool:
        """Whether bodies are compared with their checksums, and walks of queries are followed."""
        return self.level == "deep"

    def relisted(self) -> "Plan":
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
            reports entries that a query of their own key does not reach.
        range_size: maximum bytes of log in a range.
        known: of a directory, as for `Store`.

    Raises:
        UsageError: an unknown level or release, no store, or a geometry that does not fit.
        OSError: the store cannot be read.
    """
    if level not in LEVELS:
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
