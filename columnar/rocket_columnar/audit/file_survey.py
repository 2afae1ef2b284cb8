"""Surveys one consume-queue or index file by itself: what it points to, and what is wrong without the log.

Targets are summarised per run: the least and the greatest physical offset of a few units or entries. So a range
of the log finds what points into it, whatever damage has done to the order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from rocket_spec.deviations import Deviation
from rocket_spec.layout import INDEX_ENTRY, INDEX_HEADER, PRE_BLANK_SIZE, QUEUE_UNIT, Geometry

from rocket_columnar.audit.index_check import Replay, check_content, reached_count, unreached, used_count
from rocket_columnar.audit.ranges import MOST, Frames, Marks, ReadAhead, runs_of, values_at
from rocket_columnar.facts import Store
from rocket_columnar.findings import Finding, finding, strange
from rocket_columnar.formats import ENTRY_DTYPE, UNIT_DTYPE
from rocket_columnar.index import EntryWindows, IndexHeader, entry_position
from rocket_columnar.store import Reader, StoreFile, read_at

UNITS: Final = 256  # units of a run
ENTRIES: Final = 1024  # entries of a run; the first run begins with entry 0, which is never written

_UNITS_AT_ONCE: Final = 1 << 15  # a multiple of a run
_NONE: Final = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class QueueSurvey:
    """Survey of one consume-queue file."""

    file: str
    count: int  # units up to the last that is not all zeros
    runs: NDArray[np.int64]  # numbers of the runs of `UNITS` that are not holes
    low: NDArray[np.int64]  # least physical offset of a unit that counts, for each of these runs
    high: NDArray[np.int64]  # the greatest one
    marks: Marks = field(default_factory=Marks)  # units that 4.9.3 does not accept
    zeros: tuple[tuple[int, int], ...] = ()  # runs of units of zeros before others, as (first, length)
    # number of pre-blank units before all others, and the runs of those that are not, as (first, length)
    blanks: tuple[int, tuple[tuple[int, int], ...]] = (0, ())
    # physical offset of the end of the record of the last unit that counts, -1 without one
    record_end: int = -1


@dataclass(frozen=True, slots=True)
class IndexSurvey:
    """Survey of one index file."""

    file: str
    header: IndexHeader
    count: int  # one more than the newest entry's number
    moving: bool  # whether a broker put into it meanwhile
    runs: NDArray[np.int64]
    low: NDArray[np.int64]  # least physical offset of an entry, for each run
    high: NDArray[np.int64]  # greatest physical offset of each run
    # physical offsets of the first and the last entry; none without entries
    ends: tuple[int, int] | tuple[()] = ()
    before: int | None = None  # physical offset of the entry before the last; None without one
    used: int = 0  # number of slots in use
    marks: Marks = field(default_factory=Marks)  # entries that are wrong by themselves
    findings: tuple[Finding, ...] = ()  # what is wrong with header, slots and chains
    sound: bool = True  # whether walks over its chains end
    # runs of entries that no query of their own key reaches, as (first, length), if the chains are sound
    unreached: tuple[tuple[int, int], ...] = ()


def _bounds(
    offsets: NDArray[np.int64], chosen: NDArray[np.bool_] | None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Least and greatest of each run."""
    starts = np.arange(0, offsets.size, UNITS)
    if chosen is None or chosen.all():
        return np.minimum.reduceat(offsets, starts), np.maximum.reduceat(offsets, starts)
    low = np.minimum.reduceat(np.where(chosen, offsets, _NONE), starts)
    return low, np.maximum.reduceat(np.where(chosen, offsets, -1 - _NONE), starts)


def survey_queue(file: StoreFile, *, ahead: ReadAhead | None = None) -> QueueSurvey:
    """Reads a consume-queue file through; `ahead` keeps its first units for the ranges. OSError if it cannot be read."""
    lows, highs, runs = ([np.empty(0, np.int64)] for _ in range(3))
    marks = Marks()
    zeros: list[tuple[int, int]] = []
    blanks: list[tuple[int, int]] = []
    done, record_end = 0, -1
    with file.open() as reader:
        last = reader.last_nonzero(0, reader.size)
        whole = reader.size // QUEUE_UNIT.size
        count = 0 if last is None else min(last // QUEUE_UNIT.size + 1, whole)
        for start, stop in _batches(reader, count):
            data = reader.read(start * QUEUE_UNIT.size, (stop - start) * QUEUE_UNIT.size)
            if ahead is not None and not start:
                ahead.keep(file.name, data)
            raw = data.view(UNIT_DTYPE)
            runs.append(np.arange(start // UNITS, -(-stop // UNITS)))
            if start > done:
                zeros.append((done, start - done))
            done = stop
            offset = raw["phy_offset"].astype(np.int64)
            size = raw["size"].astype(np.int32)
            valid = (offset >= 0) & (size > 0)
            judged = None
            if not valid.all() or size.max() == PRE_BLANK_SIZE:
                tags = raw["tags_code"].astype(np.int64)
                empty = (offset == 0) & (size == 0) & (tags == 0)
                blank = (offset == 0) & (size == PRE_BLANK_SIZE) & (tags == 0)
                judged = valid & ~blank
                found = np.flatnonzero(blank)
                blanks += [(start + int(found[at]), length) for at, length in runs_of(found)]
                found = np.flatnonzero(empty)
                zeros += [(start + int(found[at]), length) for at, length in runs_of(found)]
                bad = np.flatnonzero(~valid & ~empty)
                marks.add("unit.invalid", file.name, bad + start, values_at(bad, offset, size, tags))
            counted = np.flatnonzero(valid if judged is None else judged)
            if counted.size:
                record_end = int(offset[counted[-1]]) + int(size[counted[-1]])
            low, high = _bounds(offset, judged)
            lows.append(low)
            highs.append(high)
    numbers, low, high = (np.concatenate(parts) for parts in (runs, lows, highs))
    every = _runs(blanks)
    leading = every[0][1] if every and not every[0][0] else 0
    return QueueSurvey(
        file.name, count, numbers, low, high, marks, _runs(zeros), (leading, every[leading > 0 :]), record_end
    )


def _batches(reader: Reader, count: int) -> Iterator[tuple[int, int]]:
    """The first `count` units, some at a time, as (first, after the last); runs that are holes are skipped."""
    for begin, end in reader.aligned(UNITS * QUEUE_UNIT.size, count * QUEUE_UNIT.size):
        stop = end // QUEUE_UNIT.size
        for start in range(begin // QUEUE_UNIT.size, stop, _UNITS_AT_ONCE):
            yield start, min(start + _UNITS_AT_ONCE, stop)


def _runs(found: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Runs in order, with neighbours joined; at most as many as are reported for one file."""
    runs: list[tuple[int, int]] = []
    for first, length in found:
        if runs and sum(runs[-1]) == first:
            runs[-1] = runs[-1][0], runs[-1][1] + length
        else:
            runs.append((first, length))
    return tuple(runs[:MOST])


def survey_index(file: StoreFile, geometry: Geometry, *, live: bool, last: bool) -> IndexSurvey:
    """Reads an index file through; OSError if it cannot be read.

    `live` is whether a broker runs, or died: the `last` file may then contain one entry more than its count.
    """
    marks = Marks()
    with file.open() as reader:
        windows = EntryWindows(reader, geometry)
        state = windows.state
        count = used_count(state)
        low = np.full(-(-count // ENTRIES), _NONE)
        high = -1 - low
        replay = Replay.of(geometry)
        ends: list[int] = []
        newest: list[int] = []
        used, ended = 0, False
        for start, raw in windows.each(reached_count(state, live=live and last), 1):
            counted = raw[: count - start]
            replay.put(start, raw["key_hash"].astype(np.int32), raw["prev_entry"].astype(np.int32))
            offsets, diffs = counted["phy_offset"].astype(np.int64), counted["time_diff"].astype(np.int32)
            place = np.arange(start, start + offsets.size) // ENTRIES
            np.minimum.at(low, place, offsets)
            np.maximum.at(high, place, offsets)
            used += int(np.count_nonzero(counted["prev_entry"] == 0))
            bad = np.flatnonzero(diffs < 0)
            ended |= bad.size > 0
            marks.add("entry.negative", file.name, bad + start, values_at(bad, diffs))
            if counted.size:
                before = np.append(newest[-1:] or offsets[:1], offsets[:-1])
                bad = np.flatnonzero(
                    (offsets < before) & counted.view((np.uint8, counted.itemsize)).any(axis=1)
                )
                marks.add("entry.order", file.name, bad + start, values_at(bad, offsets, before))
                ends = [*ends[:1], *counted["phy_offset"][[0, -1]].tolist()]
                newest = [*newest[-1:], *counted["phy_offset"][-2:].tolist()]
        found, sound = check_content(file, windows, replay, used, live=live and last, last=last)
        found += [_entry_0(file, geometry) for _, raw in windows.each(1) if raw.view(np.uint8).any()]
        lost = unreached(windows, ended=ended) if sound else ()
    return IndexSurvey(
        file=file.name,
        header=state.header,
        count=count,
        moving=state.moving,
        runs=np.arange(low.size),
        low=low,
        high=high,
        ends=(ends[0], ends[-1]) if ends else (),
        before=newest[-2] if newest[1:] else None,
        used=used,
        marks=marks,
        findings=tuple(found),
        sound=sound,
        unreached=lost,
    )


def _entry_0(file: StoreFile, geometry: Geometry) -> Finding:
    at = entry_position(geometry, 0, "key_hash")
    found = read_at(file, at, INDEX_ENTRY.size).hex(" ")
    text = f"entry 0: found {found}, expected zeros: puts begin with entry 1"
    return strange(
        "index.header_count", file.name, at, text, "IDX-ENT-1", Deviation("entry 0", found, "zeros")
    )


def survey_file(
    store: Store, file: StoreFile, ahead: ReadAhead | None = None
) -> QueueSurvey | IndexSurvey | None:
    """The content of one file of the plan's queues or content indexes; None if it no longer exists, OSError if it cannot be read.

    `ahead` is that of `check_range`, if ranges are checked in this process: it keeps the first units of many queues, so that their
    files are not opened again.
    """
    try:
        if file.kind == "queue":
            return survey_queue(file, ahead=ahead)
        assert store.geometry is not None
        last = file.name == store.indexes[-1][0].name
        return survey_index(file, store.geometry, live=store.live, last=last)
    except FileNotFoundError:
        return None


# Compares begin and end of an index file's header with its first and last entry and their records.


_INT_MAX: Final = 0x7FFFFFFF
_MEANS: Final = {
    "begin_phy_offset": "nothing reads it",
    "end_phy_offset": "messages before it are no longer indexed",
    "begin_timestamp": "queries compute every entry's time from it",
    "end_timestamp": "queries with a time window skip the file according to it",
}


def check_bounds(
    store: Store, survey: IndexSurvey, times: dict[int, int], report: Callable[[Finding], None]
) -> bool:
    """Checks the header's four values; returns whether entries can be compared with the header's begin.

    `times` are store timestamps of records, by their physical offsets.
    """
    header = survey.header
    if not survey.ends or survey.moving or not times:
        return True
    ahead = header.end_phy_offset >= store.end  # already reported
    sound = True
    put = store.live and survey.file == store.indexes[-1][0].name and _is_put_halfway(survey, times)
    for which, offset in zip(("begin", "end"), survey.ends, strict=True):
        if put and (which == "end" or header.index_count <= 1):
            continue
        known = offset
        named = header.begin_phy_offset if which == "begin" else header.end_phy_offset
        if named != offset and offset >= 0:
            if offset not in times:  # the entry is damaged, not the header
                known = named
            elif not (ahead and which == "end"):
                report(_finding(survey, f"{which}_phy_offset", named, offset))
        if known not in times:
            continue
        timestamp = header.begin_timestamp if which == "begin" else header.end_timestamp
        if timestamp != times[known]:
            sound = sound and which != "begin"
            report(_finding(survey, f"{which}_timestamp", timestamp, times[known]))
    return sound


class FirstEntries:
    """Checks the time diff of each file's first entry, which counts from the end of the file before (IDX-PUT-8, IDX-PUT-3).

    Nothing is reported after a file whose header has another end than the record of its last entry. `held` counts the others; `times`
    are store timestamps of records, by their physical offsets.
    """

    def __init__(self, store: Store, times: dict[int, int], report: Callable[[Finding], None]) -> None:
        self._geometry = store.geometry
        self._times = times
        self._report = report
        self._files = {file.name: file for file, _ in store.indexes}
        self._last = 0
        self._ends: tuple[int, ...] = ()
        self._known = False
        self.held = Counter[str]()

    def add(self, survey: IndexSurvey) -> None:
        """Takes the next file into account for those after it."""
        if survey.ends:
            self._last, self._ends = survey.header.end_timestamp, survey.ends
            self._known = self._last == self._times.get(survey.ends[1])

    def check(self, survey: IndexSurvey) -> None:
        """Checks a file against those that came before."""
        is_first = not self._ends
        if (
            not (self._known or is_first)
            or not survey.ends
            or survey.ends == self._ends  # a copy of the file before
            or survey.moving
            or survey.header.index_count <= 1
            or survey.ends[0] not in self._times
        ):
            return
        assert self._geometry is not None
        at = entry_position(self._geometry, 1, "time_diff")
        try:
            raw = read_at(self._files[survey.file], at, 4)
        except FileNotFoundError:  # expired meanwhile
            return
        found = int.from_bytes(raw, signed=True)
        if is_first:  # it counts from nothing, or from a file that is gone
            self.held["IDX-PUT-3"] += found == 0
            return
        time = self._times[survey.ends[0]]
        expected = min(max(time - self._last, 0) // 1000, _INT_MAX)
        self.held["IDX-PUT-8"] += found == expected
        if found < 0 or found == expected:  # a negative one is reported with the others
            return
        text = (
            f"entry 1: found a time diff of {found:,} s, expected {expected:,}, from the end of the previous file to its "
            "record: queries see the wrong time for it"
        )
        values = Deviation("entry 1 time_diff", found, expected, survey.ends[0])
        clause = "IDX-PUT-2" if found else "IDX-PUT-8"  # it counts from there, though in another way
        self._report(finding("index.header_bounds", survey.file, at, text, clause=clause, deviation=values))


def _is_put_halfway(survey: IndexSurvey, times: dict[int, int]) -> bool:
    """Whether the header is as one of the writes of the last entry's put leaves it (IDX-PUT-11)."""
    header = survey.header
    if survey.before is None or survey.count == max(header.index_count, 1) + 1:
        return True
    names = {survey.before, *survey.ends[1:]}
    return header.end_phy_offset in names and header.end_timestamp == times.get(survey.before)


def _finding(survey: IndexSurvey, name: str, found: int, expected: int) -> Finding:
    which = "first" if name.startswith("begin") else "last"
    return finding(
        "index.header_bounds",
        survey.file,
        INDEX_HEADER.offset_of(name),
        f"found a {name} of {found:,}, expected {expected:,}, the {which} entry's; {_MEANS[name]}",
        clause="IDX-HDR-2" if which == "first" else "IDX-HDR-3",
        deviation=Deviation(f"header {name}", found, expected),
    )


# Units and entries of many files that are held together, and where those of all files point to.


_NATIVE: Final = {kind: {name: kind[name].newbyteorder("=") for name in kind.names or ()}
                  for kind in (UNIT_DTYPE, ENTRY_DTYPE)}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Targets:
    """Targets of the units and entries of all files, by the runs of the surveys."""

    files: tuple[Any, ...]  # the surveys, in the order of the files
    owner: NDArray[np.int32]  # place of each run's survey
    number: NDArray[np.int64]  # place of each run in its file
    low: NDArray[np.int64]  # least physical offset of each run
    high: NDArray[np.int64]  # greatest physical offset of each run

    @classmethod
    def of(cls, surveys: Sequence[QueueSurvey] | Sequence[IndexSurvey]) -> Targets:
        """The targets of these files."""
        sizes = [survey.low.size for survey in surveys]
        empty = np.empty(0, np.int64)
        return cls(
            tuple(surveys),
            np.repeat(np.arange(len(surveys), dtype=np.int32), sizes),
            np.concatenate([empty, *(survey.runs for survey in surveys)]),
            np.concatenate([empty, *(survey.low for survey in surveys)]),
            np.concatenate([empty, *(survey.high for survey in surveys)]),
        )

    def meeting(self, begin: int, last: int) -> list[tuple[int, int, int]]:
        """Runs in a row that point into a range up to `last`: (survey, first run, after the last)."""
        hits = np.flatnonzero((self.low <= last) & (self.high >= begin))
        if not hits.size:
            return []
        breaks = np.flatnonzero((np.diff(self.number[hits]) != 1) | (np.diff(self.owner[hits]) != 0)) + 1
        heads, tails = hits[np.append(0, breaks)], hits[np.append(breaks, hits.size) - 1]
        columns = self.owner[heads], self.number[heads], self.number[tails] + 1
        return list(zip(*(column.tolist() for column in columns), strict=True))


@dataclass(frozen=True, slots=True)
class Surveys:
    """The units and entries of all consume-queue and index files."""

    queues: Targets
    indexes: Targets

    @classmethod
    def of(cls, surveys: Iterable[QueueSurvey | IndexSurvey | None]) -> Surveys:
        """The surveys of a plan's files, in their order; None for a file that no longer existed."""
        there = [survey for survey in surveys if survey is not None]
        return cls(
            Targets.of([survey for survey in there if isinstance(survey, QueueSurvey)]),
            Targets.of([survey for survey in there if isinstance(survey, IndexSurvey)]),
        )


@dataclass(frozen=True, slots=True)
class Rows:
    """Units or entries, consecutive ones of each file."""

    files: list[StoreFile]  # the file of each such run
    owners: list[int]  # number of each run's file among the surveyed files
    firsts: list[int]  # number of each run's first unit or entry in its file
    bounds: NDArray[np.int64]  # first row of each run, and at last the number of rows
    columns: dict[str, NDArray[Any]]  # the fields of all rows, by name
    record: NDArray[np.int64]  # the place of each row's record among those of the range, -1 without one

    @classmethod
    def read(
        cls,
        store: Store,
        targets: Targets,
        reach: tuple[int, int],
        frames: Frames,
        ahead: ReadAhead | None = None,
    ) -> Rows:
        """Reads the rows that may point between two physical offsets; a file that no longer exists is skipped."""
        entries = bool(targets.files) and isinstance(targets.files[0], IndexSurvey)
        kind, run = (ENTRY_DTYPE, ENTRIES) if entries else (UNIT_DTYPE, UNITS)
        size = kind.itemsize
        known = {file.name: file for file in (store.opened_indexes if entries else store.queues)}
        wanted = []
        for owner, begin, end in targets.meeting(*reach):
            look = targets.files[owner]
            first, stop = max(begin * run, int(entries)), min(end * run, look.count)
            if stop > first and look.file in known:
                wanted.append((known[look.file], owner, first, stop))
        raw = np.empty(sum(stop - first for *_, first, stop in wanted), kind)
        data = raw.view(np.uint8)
        files, owners, firsts, bounds = [], [], [], [0]
        header = store.geometry.entries_offset if entries and store.geometry else 0
        for file, owner, first, stop in wanted:
            rows = data[bounds[-1] * size :][: (stop - first) * size]
            try:
                if ahead is None or not ahead.take(file.name, first, rows):
                    with file.open() as reader:
                        stop = min(stop, (reader.size - header) // size)  # noqa: PLW2901 - may have been cut off meanwhile
                        if stop <= first:
                            continue
                        rows = rows[: (stop - first) * size]
                        if ahead is None or stop - first >= ahead.rows:
                            reader.read_into(header + first * size, rows)
                        else:
                            ahead.read(reader, file.name, first, targets.files[owner].count, rows)
            except FileNotFoundError:
                continue
            files.append(file)
            owners.append(owner)
            firsts.append(first)
            bounds.append(bounds[-1] + stop - first)
        raw = raw[: bounds[-1]]
        columns = {name: raw[name].astype(native) for name, native in _NATIVE[kind].items()}
        record = frames.find(columns["phy_offset"])
        return cls(files, owners, firsts, np.array(bounds, np.int64), columns, record)

    def of_runs(self, values: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
        """A value of each run, for each of its rows."""
        return np.repeat(np.array(values, np.int64), np.diff(self.bounds))

    @property
    def numbers(self) -> NDArray[np.int64]:
        """The number of each row in its file."""
        return self.of_runs(self.firsts - self.bounds[:-1]) + np.arange(self.record.size)

    def within(self, offsets: tuple[int, int]) -> NDArray[np.bool_]:
        """A mask of the rows that point to one of the physical offsets from the first to the last."""
        found: NDArray[np.bool_] = self.columns["phy_offset"] >= offsets[0]
        found &= self.columns["phy_offset"] <= offsets[1]
        return found
