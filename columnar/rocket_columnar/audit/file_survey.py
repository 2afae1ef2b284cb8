"""Surveys one consume-queue or index file by itself: what it points to, and what is wrong without the log.

Targets are summarised per run: the least and the greatest physical offset of a few units or entries. So a range
of the log finds what points into it, whatever damage has done to the order.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray
from rocket_spec.layout import PRE_BLANK_SIZE, QUEUE_UNIT, Geometry

from rocket_columnar.audit.chain_check import unreached
from rocket_columnar.audit.fault_runs import MOST, Marks, runs_of, values_at
from rocket_columnar.audit.index_check import Replay, check_content, reached_count, used_count
from rocket_columnar.audit.read_ahead import ReadAhead
from rocket_columnar.facts import Store
from rocket_columnar.findings import Finding
from rocket_columnar.formats import UNIT_DTYPE
from rocket_columnar.index import EntryWindows, IndexHeader
from rocket_columnar.store import Reader, StoreFile

UNITS: Final = 256
"""Units of a run."""
ENTRIES: Final = 1024
"""Entries of a run; the first run begins with entry 0, which is never written."""

_UNITS_AT_ONCE: Final = 1 << 15  # a multiple of a run
_NONE: Final = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class QueueSurvey:
    """Survey of one consume-queue file.

    Attributes:
        file: its name.
        count: units up to the last that is not all zeros.
        runs: numbers of the runs of `UNITS` that are not holes.
        low: least physical offset of a unit that counts, for each of these runs.
        high: the greatest one.
        marks: units that 4.9.3 does not accept.
        zeros: runs of units of zeros before others, as (first, length).
        blanks: number of pre-blank units before all others, and the runs of those that are not, as (first, length).
    """

    file: str
    count: int
    runs: NDArray[np.int64]
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    marks: Marks = field(default_factory=Marks)
    zeros: tuple[tuple[int, int], ...] = ()
    blanks: tuple[int, tuple[tuple[int, int], ...]] = (0, ())


@dataclass(frozen=True, slots=True)
class IndexSurvey:
    """Survey of one index file.

    Attributes:
        file: its name.
        header: as it is in the file.
        count: one more than the newest entry's number.
        moving: whether a broker put into it meanwhile.
        runs: numbers of its runs of `ENTRIES`.
        low: least physical offset of an entry, for each run.
        high: greatest physical offset of each run.
        ends: physical offsets of the first and the last entry; none without entries.
        before: physical offset of the entry before the last; None without one.
        marks: entries that are wrong by themselves.
        findings: what is wrong with header, slots and chains.
        sound: whether walks over its chains end.
        unreached: runs of entries that no query of their own key reaches, as (first, length), if the chains are sound.
    """

    file: str
    header: IndexHeader
    count: int
    moving: bool
    runs: NDArray[np.int64]
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    ends: tuple[int, int] | tuple[()] = ()
    before: int | None = None
    marks: Marks = field(default_factory=Marks)
    findings: tuple[Finding, ...] = ()
    sound: bool = True
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
    """Reads a consume-queue file through; `ahead` keeps its first units for the ranges.

    Raises:
        OSError: the file cannot be read.
    """
    lows, highs, runs = ([np.empty(0, np.int64)] for _ in range(3))
    marks = Marks()
    zeros: list[tuple[int, int]] = []
    blanks: list[tuple[int, int]] = []
    done = 0
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
            low, high = _bounds(offset, judged)
            lows.append(low)
            highs.append(high)
    numbers, low, high = (np.concatenate(parts) for parts in (runs, lows, highs))
    every = _runs(blanks)
    leading = every[0][1] if every and not every[0][0] else 0
    return QueueSurvey(
        file.name, count, numbers, low, high, marks, _runs(zeros), (leading, every[leading > 0 :])
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
    """Reads an index file through.

    Args:
        file: the file.
        geometry: its slots and entries.
        live: whether a broker runs, or died: the last file may then contain one entry more than its count.
        last: whether no other file follows.

    Raises:
        OSError: the file cannot be read.
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
                ends = [*ends[:1], *counted["phy_offset"][[0, -1]].tolist()]
                newest = [*newest[-1:], *counted["phy_offset"][-2:].tolist()]
        found, sound = check_content(file, windows, replay, used, live=live and last, last=last)
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
        marks=marks,
        findings=tuple(found),
        sound=sound,
        unreached=lost,
    )


def survey_file(
    store: Store, file: StoreFile, ahead: ReadAhead | None = None
) -> QueueSurvey | IndexSurvey | None:
    """The content of one file of the plan's queues or content indexes; None if it no longer exists.

    Args:
        store: the store.
        file: one of its files.
        ahead: that of `check_range`, if ranges are checked in this process: it keeps the first units of many queues, so
            that their files are not opened again.

    Raises:
        OSError: the file cannot be read.
    """
    try:
        if file.kind == "queue":
            return survey_queue(file, ahead=ahead)
        assert store.geometry is not None  # noqa: S101 - else no index file's content is checked
        last = file.name == store.indexes[-1][0].name
        return survey_index(file, store.geometry, live=store.live, last=last)
    except FileNotFoundError:
        return None
