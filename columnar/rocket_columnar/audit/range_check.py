"""Checks one range of the log: compares its records with the units and entries that point into it.

The result is small: findings as runs, and what only all ranges together can show - missing keys and units, times at
the offsets in headers, the last dispatched record.
"""

from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from rocket_spec.layout import QUEUE_UNIT

from rocket_columnar.audit import matching
from rocket_columnar.audit.file_survey import Rows, Surveys, Targets
from rocket_columnar.audit.log_check import steps_of
from rocket_columnar.audit.missing import check_missing, files_now
from rocket_columnar.audit.ranges import (
    MOST,
    Frames,
    LogTimes,
    Marks,
    Plan,
    Range,
    RangeResult,
    ReadAhead,
    values_at,
)
from rocket_columnar.facts import Store
from rocket_columnar.formats import LAST_ADDRESS, LONG_MIN, SCHEDULE_TOPIC, tags_code
from rocket_columnar.log import ROLLBACK, Requests, RequestScan, StoredRecords, TopicNames
from rocket_columnar.store import StoreFile, is_safe

# Findings about units that do not match their records.


_SCHEDULE: Final = SCHEDULE_TOPIC.decode()
_INT: Final = 1 << 31

_CODES: Final = {False: ("CQ-TAGS-1", "LOG-DSP-4"), True: ("CQ-TAGS-2", "LOG-DSP-5")}
"""Clauses that a right tags code holds, of messages without and with a delay."""


@dataclass(frozen=True, slots=True)
class Judge:
    """Determines what is wrong with the units that have flags."""

    store: Store
    units: Rows
    frames: Frames
    copies: matching.RangeCopies
    result: RangeResult

    def judge(self, flags: NDArray[np.uint8]) -> None:
        """Marks the units that have flags, file by file."""
        flags = matching.without_appended(self.store, flags, self.units.columns["phy_offset"])
        bad = np.flatnonzero(flags)
        for run in np.unique(np.searchsorted(self.units.bounds, bad, side="right") - 1).tolist():
            begin, end = self.units.bounds[run : run + 2].tolist()
            rows = np.arange(begin, end)[flags[begin:end] != 0]
            self._run(run, rows, flags[rows])

    def _run(self, run: int, rows: NDArray[np.int64], flags: NDArray[np.uint8]) -> None:
        file = self.units.files[run]
        number = self.units.firsts[run] - int(self.units.bounds[run])

        def mark(what: str, chosen: NDArray[np.bool_]) -> None:
            some = rows[chosen]
            values = tuple(self.units.columns.values())
            self.result.marks.add(
                what, file.name, some + number, lambda at: tuple(int(column[some[at]]) for column in values)
            )

        mark("unit.lost", flags & matching.LOST != 0)
        strange, moved = flags & matching.NOT_OWN != 0, flags & matching.MOVED != 0
        hidden = np.zeros(rows.size, np.bool_)
        hidden[strange] = ~self.frames.all.queued[self.units.record[rows[strange]]]
        base = file.base_offset // QUEUE_UNIT.size + number
        queue = file.topic or "", file.queue_id or 0
        for at in np.flatnonzero(strange & ~hidden).tolist():
            row = int(rows[at])
            logical = self.copies.logical(int(self.units.record[row]), queue)
            strange[at] = logical is None
            if logical is not None:
                self.copies.seen.setdefault(queue, set()).add(int(self.units.record[row]))
                moved[at] = self._is_moved(run, row, logical, base + row)
                held = ["CQ-LMQ-1", "CQ-LMQ-2", *(() if logical == base + row else ("CQ-LMQ-4",))]
                self.result.held.update([*held, *(("CQ-LMQ-3",) if not flags[at] & matching.TAGS else ())])
        mark("unit.strange", strange & ~hidden)
        mark("unit.hidden", hidden)
        mark("unit.size", (flags & matching.SIZE != 0) & ~strange)
        mark("unit.moved", moved)
        tagged = (flags & matching.TAGS != 0) & ~strange
        if tagged.any():
            self._tags(file, rows, tagged, mark)

    def _is_moved(self, run: int, row: int, logical: int, position: int) -> bool:
        """Whether no put leaves a copy's unit here: it is before its position, or out of order with its neighbours."""
        if logical == position or 0 != logical < position:
            return logical != position
        file, offsets = self.units.files[run], self.units.columns["phy_offset"]
        begin, end = self.units.bounds[run : run + 2].tolist()
        for other, step in ((row - 1, 1), (row + 1, -1)):
            if begin <= other < end and self._may_be_sound(file, other):
                distance = (int(offsets[row]) - int(offsets[other])) * step
                if distance < 0 or (distance == 0 and step > 0):
                    return True
        return False

    def _may_be_sound(self, file: StoreFile, row: int) -> bool:
        """Whether a unit points to a copy for its queue, or into another range of the log."""
        offset = int(self.units.columns["phy_offset"][row])
        if self.units.columns["size"][row] <= 0 or not self.store.begin <= offset < self.store.end:
            return False
        queue = file.topic or "", file.queue_id or 0
        elsewhere = not self.result.range.begin <= offset < self.result.range.end
        return elsewhere or self.copies.logical(int(self.units.record[row]), queue) is not None

    def _have_tag(
        self, places: NDArray[np.int64], tags: NDArray[np.int64], chosen: NDArray[np.bool_]
    ) -> None:
        """Clears `chosen` for units whose tags code is not the hash of their record's own tag."""
        with suppress(FileNotFoundError), StoredRecords(self.store.logs) as records:  # expired meanwhile
            for row in np.flatnonzero(chosen).tolist():
                record = records.at(int(self.frames.all.phy_offset[places[row]]))
                if record is not None:
                    chosen[row] = tags_code(b"", record.pairs, 0) == tags[row]

    def _tags(self, file: StoreFile, rows: NDArray[np.int64], tagged: NDArray[np.bool_], mark: Any) -> None:
        tags = self.units.columns["tags_code"][rows]
        found_places = np.maximum(self.units.record[rows], 0)
        expected = self.frames.all.tags_code[found_places]
        delayed = self.frames.all.topic[found_places] == self.frames.names.numbers.get(_SCHEDULE, -1)
        addresses = tagged & (tags <= LAST_ADDRESS)
        known, timed = np.ones(rows.size, np.bool_), np.zeros(rows.size, np.bool_)
        astray = np.zeros(rows.size, np.bool_)
        if addresses.any():
            from rocket_columnar.decode import ExtUnits  # loads pyarrow

            queue = file.topic or "", file.queue_id or 0
            ext = ExtUnits(files_now(self.store, self.store.exts, *queue, part="consumequeue_ext"))
            known[addresses], found, times = ext.tags_codes(*queue, tags[addresses])
            tagged[addresses] = ~known[addresses] | (found != expected[addresses])
            tags[addresses] = found
            stored = self.frames.all.store_timestamp[found_places[addresses]]
            timed[addresses] = known[addresses] & (times != stored)
            wrong = known & addresses & (timed | tagged)
            if wrong.any() and ext.have(*queue, expected[wrong], stored[wrong[addresses]]):
                astray = wrong
            sound = known & addresses
            self.result.held.update(dict.fromkeys(("CQ-TAGS-3", "CQ-EXT-2", "CQ-EXT-4"), int(sound.sum())))
            self.result.held["CQ-EXT-1"] += int((sound & ~timed).sum())
            right = sound & ~tagged
            self.result.held.update(
                {
                    clause: int((right & (delayed == wanted)).sum())
                    for wanted, clauses in _CODES.items()
                    for clause in clauses
                }
            )
        recovered = delayed & tagged & known & ~astray & (tags >= -_INT) & (tags < _INT)
        self._have_tag(found_places, tags, recovered)
        mark("unit.tags", tagged & known & ~recovered & ~astray)
        mark("unit.address", tagged & ~known)
        mark("unit.astray", astray)
        mark("unit.time", timed & ~tagged & ~astray)
        mark("unit.recovered", recovered)


_LONGEST_TOPIC: Final = 127  # of a record with the magic of 4.9.3
_ROWS: Final = 1 << 19  # all records of a range are one batch: joining batches copies them


def check_range(
    plan: Plan, surveys: Surveys, range_: Range, *, start: int | None = None, ahead: ReadAhead | None = None
) -> RangeResult:
    """Compares one of the plan's ranges of the log with the units and entries that point into it; OSError if a file cannot be read.

    `start` is the physical offset at which the range before ended, if known. `ahead` is one for all ranges of a plan that are checked in this
    process, so that the files of many queues are not opened for each range again.
    """
    store, result = plan.store, RangeResult(range_, range_.begin, range_.end)
    frames = read_frames(plan, range_, start, result)
    names = frames.names
    copies = matching.read_copies(store, range_, frames, result)
    if result.gone:
        return result
    every = frames.all
    queued = _check_units(store, surveys.queues, frames, copies, result, ahead)
    seen = entries_of(store, surveys.indexes, frames, result)
    _probe(surveys.indexes, frames, result)
    if not every.phy_offset.size:
        return result
    result.keys = int(every.key_hash.size)
    keyed = np.flatnonzero(every.key_count)
    result.keyed = int(every.phy_offset[keyed[0]]) if keyed.size else -1
    result.newest = int(every.store_timestamp.max())
    result.records = int(every.queued.sum()), int(np.count_nonzero(every.queued & (queued == 0)))
    _look_at_clock(every, result)
    result.times_seen = LogTimes.of(every, store.checkpoint_times if plan.exact else ())
    result.last = int(every.phy_offset[-1]), int(every.size[-1])
    result.end = sum(result.last)
    number = int(every.phy_offset.size)
    result.held.update(dict.fromkeys(("LOG-REC-1", "LOG-REC-3", "LOG-REC-7"), number))
    result.held["LOG-REC-4"] += int(every.crc_ok.sum()) * plan.deep
    result.steps = steps_of(store, frames) if plan.exact else {}
    result.bodies = every.phy_offset[~every.crc_ok][:MOST].tolist()
    for number, name in enumerate(names.names):
        first = int(every.phy_offset[np.argmax(every.topic == number)])
        if not is_safe(name):
            result.unsafe[name] = first
        if len(name) > _LONGEST_TOPIC:
            result.signs.append(matching.long_topic_sign(store, first))
    where = check_missing(store, frames, queued, seen, result)
    matching.check_copies(store, frames, copies, where, result)
    return result


def _look_at_clock(every: Requests, result: RangeResult) -> None:
    times = every.store_timestamp
    steps = np.diff(times)
    if steps.size and steps.min() < 0:
        at = int(np.argmin(steps))
        result.clock = int(every.phy_offset[at + 1]), int(times[at]), int(times[at + 1])


def read_frames(plan: Plan, range_: Range, start: int | None, result: RangeResult) -> Frames:
    """The records of a range; `result` gets where they begin and end."""
    names = TopicNames()
    return Frames(_records(plan, range_, start, names, result), names)


def _records(
    plan: Plan, range_: Range, start: int | None, names: TopicNames, result: RangeResult
) -> Requests:
    """The records of the range, none after the log's end as it was when the plan was made."""
    if range_.log is None:
        return Requests.joined([])
    store = plan.store
    file = store.logs[range_.log]
    base = file.base_offset

    try:
        with file.open() as reader:
            scan = RequestScan(reader, base, names, check_crc=plan.deep, rows=_ROWS, keys=store.keys)
            begin, end = (range_.begin if start is None else start) - base, range_.end - base
            parts = list(
                scan.run(
                    min(begin, reader.size),
                    min(end, reader.size),
                    exact=range_.exact or start is not None,
                    on_gap=result.gaps.append,
                )
            )
    except FileNotFoundError:  # expired meanwhile
        result.gone = True
        return Requests.joined([])
    result.first, result.next = base + scan.first, base + scan.next
    result.gaps = [gap for gap in result.gaps if gap.begin <= store.end or range_.begin > store.end]
    every = Requests.joined(parts)
    if every.phy_offset.size and every.phy_offset[-1] >= store.end:  # appended meanwhile
        count = int(np.searchsorted(every.phy_offset, store.end))
        keys = int(every.key_count[:count].sum())
        columns = {name: getattr(every, name)[:count] for name in Requests.__slots__ if name != "key_hash"}
        every = Requests(**columns, key_hash=every.key_hash[:keys])
    return every


def _check_units(
    store: Store,
    queues: Targets,
    frames: Frames,
    copies: matching.RangeCopies,
    result: RangeResult,
    ahead: ReadAhead | None,
) -> NDArray[np.uint8]:
    """Checks every unit that points into the range; returns which records have one in their queue."""
    range_ = result.range
    queued = np.zeros(frames.all.phy_offset.size, np.uint8)
    units = Rows.read(store, queues, (range_.begin, range_.last), frames, ahead)
    if not units.files:
        return queued
    flags = matching.match_units(units, frames, range_, queued)
    if (flags & ~np.uint8(matching.OUTSIDE)).any():
        Judge(store, units, frames, copies, result).judge(flags)
    if frames.all.topic.size:
        _count_held(units, frames, flags, result)
    return queued


def _count_held(units: Rows, frames: Frames, flags: NDArray[np.uint8], result: RangeResult) -> None:
    """Counts the clauses that units of their own queue hold."""
    own, of = (flags & (matching.OUTSIDE | matching.LOST | matching.NOT_OWN)) == 0, units.record
    delayed = frames.all.topic[np.maximum(of, 0)] == frames.names.numbers.get(SCHEDULE_TOPIC.decode(), -1)
    tagged = own & (flags & matching.TAGS == 0)
    number = int(own.sum())
    result.held.update(
        dict.fromkeys(("CQ-FILE-3", "LOG-DSP-1", "LOG-DSP-7", "LOG-DSP-8", "CQ-PUT-7"), number)
    )
    result.held["CQ-UNIT-1"] += int((own & (flags & matching.SIZE == 0)).sum())
    result.held["CQ-FILE-4"] += int((own & (flags & matching.MOVED == 0)).sum())
    for clauses, some in (
        (("CQ-TAGS-1", "LOG-DSP-4"), tagged & ~delayed),
        (("CQ-TAGS-2", "LOG-DSP-5"), tagged & delayed),
    ):
        result.held.update(dict.fromkeys(clauses, int(some.sum())))


def entries_of(store: Store, indexes: Targets, frames: Frames, result: RangeResult) -> NDArray[np.uint8]:
    """Checks every entry that points into the range; returns which keys have one."""
    range_, records = result.range, frames.all
    seen = np.zeros(records.key_hash.size, np.uint8)
    begin = range_.begin if range_.number else LONG_MIN  # negative offsets are nobody's
    entries = Rows.read(store, indexes, (begin, range_.last), frames)
    if not entries.files:
        return seen
    begins = entries.of_runs([indexes.files[owner].header.begin_timestamp for owner in entries.owners])
    flags = matching.match_entries(entries, begins, records, range_, seen)
    offsets = entries.columns["phy_offset"]
    if range_.number == 0:
        flags[offsets < 0] = matching.LOST
    if (flags & ~np.uint8(matching.OUTSIDE)).any():
        flags = matching.without_appended(store, flags, offsets)
        flags = matching.without_tag_entries(store, frames, flags, entries, result)
        _mark_entries(entries, begins, flags, records, result.marks)
    _count_entries(entries, begins, flags, records, seen, result)
    return seen


def _count_entries(
    entries: Rows,
    begins: NDArray[np.int64],
    flags: NDArray[np.uint8],
    records: Requests,
    seen: NDArray[np.uint8],
    result: RangeResult,
) -> None:
    """Counts the clauses that time diffs and keys of entries hold."""
    rows = np.flatnonzero((flags == 0) & (entries.record >= 0) & (entries.numbers > 1))
    begin, time = begins[rows], records.store_timestamp[entries.record[rows]]
    usual = (begin > 0) & (time - begin >= 0) & (time - begin < 1000 * (_INT + 1))
    counts = {"IDX-PUT-2": usual, "IDX-PUT-3": begin <= 0, "IDX-PUT-4": (begin > 0) & ~usual}
    result.held.update({clause: int(some.sum()) for clause, some in counts.items()})
    if not seen.size:
        return
    owner = np.repeat(np.arange(records.key_count.size), records.key_count)
    whole = np.bincount(owner, seen, records.key_count.size) == records.key_count
    whole &= records.key_count > 0
    number = int(whole.sum())
    clauses = ("IDX-HASH-1", "IDX-SVC-1", "IDX-SVC-8", "LOG-DSP-2", "LOG-DSP-3", "LOG-DSP-12")
    result.held.update(dict.fromkeys(clauses, number))
    result.held["IDX-SVC-2"] += int((whole & (records.key_count > 1)).sum())
    result.held["IDX-HASH-2"] += int(((records.key_hash == 0) & (seen != 0)).sum())  # of the least int
    last = int(np.max(np.flatnonzero(whole), initial=-1))
    result.held["IDX-SVC-9"] += int((records.transaction[: last + 1] == ROLLBACK).sum())


def _mark_entries(
    entries: Rows, begins: NDArray[np.int64], flags: NDArray[np.uint8], records: Requests, marks: Marks
) -> None:
    hashes, offsets, diffs = (entries.columns[name] for name in ("key_hash", "phy_offset", "time_diff"))
    numbers, doubled, timed = (
        entries.numbers,
        flags & matching.DOUBLE != 0,
        np.flatnonzero(flags & matching.TIME),
    )
    seconds, passed = np.zeros(offsets.size, np.int64), np.zeros(offsets.size, np.int64)
    seconds[timed] = matching.seconds_since(begins[timed], records.store_timestamp[entries.record[timed]])
    passed[timed] = records.store_timestamp[entries.record[timed]] - begins[timed]
    wrong = (flags & matching.WRONG != 0) & ~doubled
    for what, chosen, values in (
        ("entry.lost", flags & matching.LOST != 0, (offsets,)),
        ("entry.wrong", wrong, (hashes, offsets)),
        ("entry.double", doubled, (offsets,)),
        ("entry.time", flags & matching.TIME != 0, (diffs, offsets, seconds, begins, passed)),
        ("entry.keys", flags & matching.ORDER != 0, (hashes, offsets)),
    ):
        for run, (start, stop) in enumerate(pairwise(entries.bounds.tolist())):
            at = np.flatnonzero(chosen[start:stop]) + start
            marks.add(what, entries.files[run].name, numbers[at], values_at(at, *values))


def _probe(indexes: Targets, frames: Frames, result: RangeResult) -> None:
    """Store timestamps of the records that headers and outermost entries name."""
    wanted: set[int] = set()
    for look in indexes.files:
        wanted.update(look.ends, () if look.before is None else (look.before,))
        wanted.update((look.header.begin_phy_offset, look.header.end_phy_offset))
    inside = [offset for offset in wanted if result.range.begin <= offset < result.range.end]
    for offset, place in zip(inside, frames.find(np.array(inside, np.int64)).tolist(), strict=True):
        if place >= 0:
            result.times[offset] = int(frames.all.store_timestamp[place])
