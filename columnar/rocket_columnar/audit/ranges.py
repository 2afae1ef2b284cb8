"""The plan of an audit, the ranges into which it cuts the log, what is passed from range to range, and what these show of the checkpoint."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from time import time_ns
from typing import Any, Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rocket_spec.deviations import Deviation
from rocket_spec.errors import UsageError
from rocket_spec.layout import CHECKPOINT, CHECKPOINT_SIZE, QUEUE_UNIT
from rocket_spec.printable import counted
from rocket_spec.profiles import profile

from rocket_columnar.facts import Store, as_store
from rocket_columnar.findings import Finding, Severity, finding, strange
from rocket_columnar.formats import LONG_MAX
from rocket_columnar.log import Gap, Requests, Tail, TopicNames
from rocket_columnar.store import Reader, Sign, StoreFile, size_of

_PATIENCE: Final = 600_000
"""ms that a checkpoint may be older than the newest record: a broker flushes all three times at least each minute."""

_FLUSHED: Final = 120 * 10**9
"""ns in which a running broker writes the checkpoint once at least."""

_LONGEST_FLUSH: Final = 10_000
"""ms that a flush of all queues takes at most."""

_LONGEST_LAG: Final = 30_000
"""ms that the log's time may be behind the last record: three thorough flushes by default (CKP-6)."""

_LONGEST_PAUSE: Final = 1_000
"""ms without a record in which no broker stops and starts again."""

_PHYSIC, _LOGICS, _INDEX = (field.name for field in CHECKPOINT.fields)

_CLAUSES: Final = {_PHYSIC: "CKP-4", _LOGICS: "CQ-PUT-9", _INDEX: "IDX-SVC-18"}
"""The clause of each time."""

CUT_OFF: Final = "the log's end, which a recovery cut off"
ENTRIES_CUT_OFF: Final = f"entries of records after {CUT_OFF}"
_RENEWED: Final = "none needed: a broker writes a new one some seconds after its start"
_OLD: Final = "a time of the checkpoint that has not been flushed for long"

_Wrong = tuple[str, str, Deviation]
"""The name of a time, the clause that it breaks, and its values."""


@dataclass(frozen=True, slots=True)
class LogTimes:
    """Store timestamps of the records of a range, or of the whole log, in ms.

    Attributes:
        first: of the first record.
        last: of the last record.
        steady: that of the record after the last pause.
        queued: physical offset and time of the last record that goes into a queue; None without one.
        among: those times of the checkpoint that are store timestamps of records.
        queued_among: the same of records that go into a queue.
        after: least time of a record in a queue that is greater than the checkpoint's time of the queues.
    """

    first: int
    last: int
    steady: int
    queued: tuple[int, int] | None
    among: frozenset[int]
    queued_among: frozenset[int]
    after: int

    @classmethod
    def of(cls, every: Requests, flushed: Sequence[int]) -> LogTimes:
        """The times of a range's records, of which there is one at least; `flushed` are those of the checkpoint, if they matter."""
        times = every.store_timestamp
        steps = np.diff(times)
        begin = int(np.max(np.flatnonzero((steps < 0) | (steps > _LONGEST_PAUSE)), initial=-1)) + 1
        places = np.flatnonzero(every.queued)
        queued = times[places]
        later = queued[queued > flushed[1]] if flushed else queued
        return cls(
            first=int(times[0]),
            last=int(times[-1]),
            steady=int(times[begin]),
            queued=(int(every.phy_offset[places[-1]]), int(queued[-1])) if places.size else None,
            among=frozenset(time for time in flushed if (times == time).any()),
            queued_among=frozenset(time for time in flushed if (queued == time).any()),
            after=int(later.min()) if later.size else LONG_MAX,
        )

    @classmethod
    def joined(cls, parts: Sequence[LogTimes]) -> LogTimes:
        """The times of the log, from those of its ranges in order."""
        steady = parts[0].steady
        for before, part in pairwise(parts):
            follows = 0 <= part.first - before.last <= _LONGEST_PAUSE and part.steady == part.first
            steady = steady if follows else part.steady
        return cls(
            first=parts[0].first,
            last=parts[-1].last,
            steady=steady,
            queued=next((part.queued for part in reversed(parts) if part.queued is not None), None),
            among=frozenset[int]().union(*(part.among for part in parts)),
            queued_among=frozenset[int]().union(*(part.queued_among for part in parts)),
            after=min(part.after for part in parts),
        )


def check_checkpoint(
    store: Store,
    read: tuple[StoreFile, tuple[int, int, int]],
    newest: int | None,
    log: LogTimes | None,
    report: Callable[[Finding], None],
) -> Counter[str]:
    """Compares the checkpoint with the data, and returns the number of places where each clause held.

    `read` is the checkpoint and its three times, which were read before `newest`, the store timestamp of the log's last record in ms
    (None if it is not known). `log` has the times of a log that has no gap and to which no broker writes; else it is None.
    """
    file, held = read[0], Counter[str]()
    size = size_of(file)
    if size == CHECKPOINT_SIZE:
        held["CKP-2"] += 1
    elif size is not None:
        text = (
            f"found {size:,} bytes, expected {CHECKPOINT_SIZE:,}: a start extends a shorter file with zeros"
        )
        values = Deviation("length", size, CHECKPOINT_SIZE)
        report(strange("checkpoint.behind", file.name, min(size, CHECKPOINT_SIZE), text, "CKP-2", values))
    if newest is None:
        return held
    times = dict(zip(_CLAUSES, read[1], strict=True))
    wrong: list[_Wrong] = []
    if log is not None:
        wrong = [*_log_time(store, times, log, held), *_queue_time(store, times, log, held)]
        wrong += _index_time(store, times[_INDEX], held)
    for name, time in times.items():
        severity, text = _plain_fault(store, times, name, newest)
        of_name = [one for one in wrong if one[0] == name]
        if severity is not None and not of_name:
            allowed = f"a checkpoint later than {CUT_OFF}" if time > newest else _OLD
            clause = "CKP-6" if name == _PHYSIC and time <= newest else _CLAUSES[name]
            of_name = [(name, clause, Deviation(name, time, f"about {newest}", allowed=allowed))]
        for _, clause, values in of_name:
            text = (
                text or f"found {name} {time:,}, expected {values.expected}: no broker of 4.9.3 leaves it so"
            )
            code, at = (
                "checkpoint.ahead" if time > newest else "checkpoint.behind",
                CHECKPOINT.offset_of(name),
            )
            kind = severity or "note"
            cure = _RENEWED if severity == "note" else None
            report(
                finding(code, file.name, at, text, severity=kind, clause=clause, deviation=values, cure=cure)
            )
            severity, text = None, ""
    return held


def _plain_fault(store: Store, times: dict[str, int], name: str, newest: int) -> tuple[Severity | None, str]:
    """The effect of a time on a recovery, with its severity, None if it has none; a broker that ran shortly left the log's (CKP-6)."""
    time = times[name]
    if time > newest:
        text = f"found {name} {time:,}, but the newest record was stored at {newest:,}: "
        return "error", text + "a recovery begins too late and leaves queues and index short"
    begun = not times[_PHYSIC] and not times[_LOGICS]  # a broker that had just begun has flushed none
    is_old = time < 0 or (name != _INDEX and 0 < time < newest - _PATIENCE and not _flushes(store))
    if name == _PHYSIC if begun else is_old:
        text = f"found {name} {time:,}, while the newest record was stored at {newest:,}: "
        text += "after a crash a recovery goes a long way back, and indexes messages twice"
        shortly = name == _PHYSIC and times[_LOGICS] >= newest - _PATIENCE and time >= store.oldest
        return ("note" if shortly or (begun and not store.clean) else "warning"), text
    # The index files that two others follow: full, and flushed for long (the roll itself only starts it).
    flushed = [header for file, header in store.indexes if file.name in store.sound_indexes][:-2]
    ends = [header.end_timestamp for header in flushed]
    if name == _INDEX and time < max(ends, default=0):
        lost = sum(end > time for end in ends)
        text = f"found index_msg_timestamp {time:,}, but a full index file ends at {max(ends):,}: "
        return "warning", text + f"after a crash a start deletes {counted(lost, 'full index file')}"
    return None, ""


def _flushes(store: Store) -> bool:
    """Whether a running broker has just begun, or written the checkpoint: what was stored after its times is new, however old they are.

    It writes the checkpoint each minute, with the times of the last records before, if no more came.
    """
    if not store.live or store.path is None:
        return False
    written = [
        path.stat().st_mtime_ns for name in ("abort", "checkpoint") if (path := store.path / name).exists()
    ]
    return time_ns() - max(written, default=0) < _FLUSHED


def _is_framed(store: Store, phy_offset: int) -> bool:
    file = store.log_at(phy_offset)
    return file is not None and file.framed


def _log_time(store: Store, times: dict[str, int], log: LogTimes, held: Counter[str]) -> list[_Wrong]:
    """The log's time is that of a record that was flushed, of one that is gone, or 0 before any flush (CKP-4, CKP-6)."""
    time, wrong, due = times[_PHYSIC], list[_Wrong](), log.last - _LONGEST_LAG
    if store.clean and log.steady < due and not _is_framed(store, store.end - 1):
        if time < due:
            wrong.append((_PHYSIC, "CKP-6", Deviation(_PHYSIC, time, f"at least {due}")))
        else:
            held["CKP-6"] += 1
    is_gone = store.begin > 0 and time < log.first
    if not time or is_gone or log.last < time <= times[_LOGICS]:
        return wrong
    if time in log.among:
        held["CKP-4"] += 1
    else:
        wrong.append((_PHYSIC, "CKP-4", Deviation(_PHYSIC, time, "the store timestamp of a record")))
    return wrong


def _queue_time(store: Store, times: dict[str, int], log: LogTimes, held: Counter[str]) -> list[_Wrong]:
    """The queues' time is that of the last unit once the broker stopped, or of an earlier one (CQ-PUT-9, DLG-16).

    A flush of all queues sets it back to what it was when the flush began, whatever is dispatched meanwhile
    (DefaultMessageStore.FlushConsumeQueueService.doFlush 1943, 1959).
    """
    if log.queued is None or not store.clean:
        return []
    found, (offset, expected), wrong = times[_LOGICS], log.queued, list[_Wrong]()
    if found > expected:  # a recovery cut the log off
        return []
    known = store.release
    if store.signs if known is None else profile(known).rules.get("flushes_queue_time"):  # or it may be 5.5.0
        if store.begin > 0 or found == 0 or found in log.queued_among:
            held["CQ-PUT-9"] += 1
            return []
        return [(_LOGICS, "CQ-PUT-9", Deviation(_LOGICS, found, "0, or the store timestamp of a record"))]
    if found == expected:
        held.update(("CQ-PUT-9", "STORE-2"))
    elif (
        found != times[_INDEX] and found in log.queued_among and log.after >= expected - _LONGEST_FLUSH
    ):  # set back
        return []
    else:
        wrong.append((_LOGICS, "CQ-PUT-9", Deviation(_LOGICS, found, expected, offset)))
    if _is_framed(store, offset):
        if times[_PHYSIC] == found:
            held["DLG-16"] += 1
        else:
            values = Deviation(_PHYSIC, times[_PHYSIC], f"{found}, that of the queues in DLedger mode")
            wrong.append((_PHYSIC, "DLG-16", values))
    return wrong


def _index_time(store: Store, time: int, held: Counter[str]) -> list[_Wrong]:
    """The index time is the end of the last full file, once the broker stopped (IDX-SVC-18)."""
    ends = [header.end_timestamp for _, header in store.indexes[:-1] if header.index_count > 1]
    last, most = store.indexes[-1:], 0 if store.geometry is None else store.geometry.index_num
    if any(0 < most <= header.index_count and header.end_timestamp == time for _, header in last):
        return []  # a start after a kill deleted the one after it
    if not store.indexes or not ends or time == ends[-1]:
        held["IDX-SVC-18"] += bool(store.indexes and time)
        return []
    is_late = not store.clean and (time in ends or time == 0)  # not flushed yet
    if is_late or 0 < time < store.indexes[0][1].begin_timestamp:  # that of a file that is gone
        return []
    return [(_INDEX, "IDX-SVC-18", Deviation(_INDEX, time, ends[-1]))]


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
    end: int  # physical offset of the last one's record
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
    # queues in which the place of a record without a unit has the unit of an earlier one
    repeating: set[Queue] = field(default_factory=set)
    key_runs: list[KeyRun] = field(default_factory=list)
    hashes: frozenset[int] = frozenset()  # hashes of some missing keys
    dropped: int = 0  # number of runs of missing units or keys that are not listed
    signs: list[Sign] = field(default_factory=list)  # of 5.x, in what points into the range
    # physical offset of the last record with which a queue begins to count from 0, by topic and number
    lives: dict[tuple[str, int], int] = field(default_factory=dict)
    # physical offset of the last message of an earlier life in the range that is in no queue, by queue
    earlier: dict[tuple[str, int], int] = field(default_factory=dict)
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
