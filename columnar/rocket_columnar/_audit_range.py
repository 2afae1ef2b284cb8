"""One range of the log: its records, and the units and entries that point into it, held against each other.

What comes out is small: findings as runs, and what only the ranges together can tell - keys and units that are
missing, times at the offsets that headers name, the last record that is dispatched.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from rocket_spec.layout import INDEX_ENTRY, QUEUE_UNIT

from rocket_columnar._audit_index_read import ENTRY
from rocket_columnar._audit_kernels import (
    DOUBLE,
    LOST,
    OUTSIDE,
    TIME,
    WRONG,
    call,
    find,
    match_entries,
    match_units,
)
from rocket_columnar._audit_look import ENTRIES, UNIT, UNITS
from rocket_columnar._audit_marks import MOST, Marks, stretches
from rocket_columnar._audit_names import is_safe
from rocket_columnar._audit_scan import COMMIT, NOT, LogStretch, Requests, TopicNames
from rocket_columnar._audit_tail import appended_meanwhile
from rocket_columnar._audit_units import Judge, Pieces
from rocket_columnar.store import find_files

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rocket_columnar._audit_look import IndexLook, QueueLook
    from rocket_columnar._audit_plan import Plan, Range
    from rocket_columnar._gap import Gap

__all__ = [
    "AFTER",
    "BEFORE",
    "NEWEST",
    "Blocks",
    "Frames",
    "KeyRun",
    "RangeResult",
    "UnitRun",
    "check_range",
    "entries_of",
    "read_frames",
]

_CELL: Final = 6  # log2 of the bytes that hold the beginning of one record at most
_HASHES: Final = 1 << 16

BEFORE, NEWEST, AFTER = range(3)
"""Where a record lies: up to the range's last indexed one, behind it up to the last one that is in its queue, behind that."""


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
    """What one range gives.

    Attributes:
        range: the range.
        first: physical offset at which its first record begins.
        next: physical offset of the first record behind it, or of its file's end.
        gone: whether its file was deleted meanwhile; nothing is judged then.
        keys: how many keys its records have.
        end: physical offset behind its last record; None without one.
        last: physical offset and size of its last record.
        newest: greatest store timestamp, ms; None without records.
        gaps: what does not verify.
        bodies: physical offsets of records whose bodies do not have their checksums, at most `MOST`.
        unsafe: topics that cannot be directories, and the physical offset of the first record of each.
        marks: units and entries that are wrong.
        times: store timestamps of the records at the offsets that headers name.
        dispatched: physical offset of the last record that is in a queue or the index; None where none is.
        indexed: whether any record is in the index.
        due: how many records behind `dispatched` ought to be in a queue or the index, and the first one's offset.
        units: missing units.
        key_runs: missing keys.
        hashes: hashes of missing keys, at most some.
        dropped: how many runs of missing units or keys are left out.
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


@dataclass(frozen=True, slots=True)
class Blocks:
    """Where the units and entries of all files point to, block by block.

    Attributes:
        files: the looks, in the order of the files.
        owner: of each block the place of its look.
        number: of each block its place in its file.
        low: of each block the least physical offset.
        high: of each block the greatest one.
    """

    files: tuple[Any, ...]
    owner: NDArray[np.int32]
    number: NDArray[np.int32]
    low: NDArray[np.int64]
    high: NDArray[np.int64]

    @classmethod
    def of(cls, looks: Sequence[QueueLook] | Sequence[IndexLook]) -> Blocks:
        """The blocks of these files."""
        sizes = [look.low.size for look in looks]
        empty = np.empty(0, np.int64)
        return cls(
            tuple(looks),
            np.repeat(np.arange(len(looks), dtype=np.int32), sizes),
            np.concatenate([np.empty(0, np.int32), *(np.arange(size, dtype=np.int32) for size in sizes)]),
            np.concatenate([empty, *(look.low for look in looks)]),
            np.concatenate([empty, *(look.high for look in looks)]),
        )

    def meeting(self, begin: int, end: int) -> list[tuple[int, int, int]]:
        """Runs of blocks that point into a range: (look, first block, behind the last)."""
        hits = np.flatnonzero((self.low < end) & (self.high >= begin))
        if not hits.size:
            return []
        breaks = np.flatnonzero((np.diff(hits) != 1) | (np.diff(self.owner[hits]) != 0)) + 1
        starts = np.concatenate([[0], breaks])
        stops = np.append(breaks, hits.size) - 1
        first, last = hits[starts], hits[stops]
        return list(
            zip(
                self.owner[first].tolist(),
                self.number[first].tolist(),
                (self.number[last] + 1).tolist(),
                strict=True,
            )
        )


class Frames:
    """The records of a range."""

    def __init__(self, every: Requests, names: TopicNames, low: int, *, compiled: bool) -> None:
        self.all = every
        self.names = names
        self._low = low
        self._compiled = compiled
        self.key_start = np.zeros(every.phy_offset.size + 1, np.int64)
        np.cumsum(every.key_count, out=self.key_start[1:])
        self._cells: NDArray[np.int32] | None = None

    def find(self, offsets: NDArray[np.int64]) -> NDArray[np.int64]:
        """The place of the record at each offset, -1 where none begins there."""
        known = self.all.phy_offset
        if not known.size:
            return np.full(offsets.size, -1, np.int64)
        if self._compiled:
            if self._cells is None:
                cells = (known - self._low) >> _CELL
                self._cells = np.full(int(cells[-1]) + 1, -1, np.int32)
                self._cells[cells] = np.arange(known.size, dtype=np.int32)
            places = np.empty(offsets.size, np.int64)
            call(find, offsets, self._low, self._cells, known, places, compiled=True)
            return places
        places = np.searchsorted(known, offsets)
        places[places == known.size] = 0
        places[known[places] != offsets] = -1
        return places


def check_range(
    plan: Plan, queues: Blocks, indexes: Blocks, range_: Range, *, start: int | None = None
) -> RangeResult:
    """Checks one range.

    Args:
        plan: of the store.
        queues: the consume-queue files' blocks.
        indexes: the index files' blocks.
        range_: one of the plan's.
        start: physical offset at which the range before ended, where that is known.

    Raises:
        OSError: a file cannot be read.
    """
    result = RangeResult(range_, range_.begin, range_.end)
    frames = read_frames(plan, range_, start, result)
    names = frames.names
    if result.gone:
        return result
    every = frames.all
    queued = _check_units(plan, queues, frames, result)
    seen = entries_of(plan, indexes, frames, result)
    _probe(indexes, frames, result)
    if not every.phy_offset.size:
        return result
    result.keys = int(every.key_hash.size)
    result.newest = int(every.store_timestamp.max())
    result.last = int(every.phy_offset[-1]), int(every.size[-1])
    result.end = sum(result.last)
    result.bodies = every.phy_offset[~every.crc_ok][:MOST].tolist()
    for number, name in enumerate(names.names):
        if not is_safe(name):
            result.unsafe[name] = int(every.phy_offset[np.argmax(every.topic == number)])
    _check_missing(plan, frames, queued, seen, result)
    return result


def read_frames(plan: Plan, range_: Range, start: int | None, result: RangeResult) -> Frames:
    """The records of a range; `result` gets where they begin and end."""
    names = TopicNames()
    return Frames(_records(plan, range_, start, names, result), names, range_.begin, compiled=plan.large)


def _records(
    plan: Plan, range_: Range, start: int | None, names: TopicNames, result: RangeResult
) -> Requests:
    """The records of the range, none behind the log's end as it was when the plan was made."""
    if range_.log is None:
        return Requests.joined([])
    file = plan.logs[range_.log]
    base = file.base_offset

    try:
        with file.open() as reader:
            stretch = LogStretch(reader, base, names, check_crc=plan.deep, compiled=plan.large)
            begin, end = (range_.begin if start is None else start) - base, range_.end - base
            parts = list(
                stretch.run(
                    min(begin, reader.size),
                    min(end, reader.size),
                    exact=range_.exact or start is not None,
                    on_gap=result.gaps.append,
                )
            )
    except FileNotFoundError:  # expired meanwhile
        result.gone = True
        return Requests.joined([])
    result.first, result.next = base + stretch.first, base + stretch.next
    result.gaps = [gap for gap in result.gaps if gap.begin <= plan.end or range_.begin > plan.end]
    every = Requests.joined(parts)
    if every.phy_offset.size and every.phy_offset[-1] >= plan.end:  # appended meanwhile
        count = int(np.searchsorted(every.phy_offset, plan.end))
        keys = int(every.key_count[:count].sum())
        columns = {name: getattr(every, name)[:count] for name in Requests.__slots__ if name != "key_hash"}
        every = Requests(**columns, key_hash=every.key_hash[:keys])
    return every


def _check_units(plan: Plan, queues: Blocks, frames: Frames, result: RangeResult) -> NDArray[np.uint8]:
    """Every unit that points into the range; which records have one in their queue."""
    range_, every = result.range, frames.all
    queued = np.zeros(every.phy_offset.size, np.uint8)
    pieces = Pieces.read(plan, queues, queues.meeting(range_.begin, range_.end), UNITS, QUEUE_UNIT.size, UNIT)
    if not pieces.files:
        return queued
    raw = pieces.raw
    offsets, sizes = raw["phy_offset"].astype(np.int64), raw["size"].astype(np.int32)
    tags = raw["tags_code"].astype(np.int64)
    topics = [frames.names.numbers.get(file.topic or "", -1) for file in pieces.files]
    firsts = [
        file.base_offset // QUEUE_UNIT.size + first
        for file, first in zip(pieces.files, pieces.firsts, strict=True)
    ]
    places = frames.find(offsets)
    flags = np.zeros(offsets.size, np.uint8)
    flagged = call(
        match_units,
        pieces.bounds,
        np.array(topics, np.int64),
        np.array([file.queue_id or 0 for file in pieces.files], np.int64),
        np.array(firsts, np.int64),
        offsets,
        sizes,
        tags,
        places,
        range_.begin,
        range_.end,
        every.topic,
        every.queue_id,
        every.size,
        every.queue_offset,
        every.tags_code,
        flags,
        queued,
        compiled=plan.large,
    )
    if flagged:
        Judge(plan, pieces, offsets, sizes, tags, places, every, result.marks).judge(flags)
    return queued


def entries_of(plan: Plan, indexes: Blocks, frames: Frames, result: RangeResult) -> NDArray[np.uint8]:
    """Every entry that points into the range; which keys have one."""
    range_, every = result.range, frames.all
    seen = np.zeros(every.key_hash.size, np.uint8)
    met = indexes.meeting(range_.begin, range_.end)
    if range_.number == 0:
        met = indexes.meeting(-(1 << 63), range_.end)  # negative offsets are nobody's
    pieces = Pieces.read(plan, indexes, met, ENTRIES, INDEX_ENTRY.size, ENTRY)
    if not pieces.files:
        return seen
    raw = pieces.raw
    names = ("key_hash", "phy_offset", "time_diff", "prev_entry")
    columns = [raw[name].astype(ENTRY[name].newbyteorder("=")) for name in names]
    hashes, offsets, diffs, previous = columns
    begins = [indexes.files[owner].header.begin_timestamp for owner in pieces.owners]
    places = frames.find(offsets)
    flags = np.zeros(offsets.size, np.uint8)
    flagged = call(
        match_entries,
        pieces.bounds,
        np.array(pieces.firsts, np.int64),
        np.array(begins, np.int64),
        offsets,
        hashes,
        diffs,
        previous,
        places,
        range_.begin,
        range_.end,
        every.store_timestamp,
        frames.key_start,
        every.key_hash,
        flags,
        seen,
        compiled=plan.large,
    )
    if range_.number == 0 and offsets.size and offsets.min() < 0:
        flags[offsets < 0] = LOST
        flagged += 1
    if flagged:
        _mark_entries(plan, pieces, flags, columns, places, every, begins, result.marks)
    return seen


def _mark_entries(
    plan: Plan,
    pieces: Pieces,
    flags: NDArray[np.uint8],
    columns: list[NDArray[Any]],
    places: NDArray[np.int64],
    every: Requests,
    begins: list[int],
    marks: Marks,
) -> None:
    hashes, offsets, diffs, _ = columns
    flags = np.where(flags == OUTSIDE, 0, flags).astype(np.uint8)
    lost = flags & LOST != 0
    if lost.any():
        beyond = np.flatnonzero(lost & (offsets >= plan.end))
        if beyond.size and appended_meanwhile(plan, int(offsets[beyond[0]])):
            lost[beyond] = False
    for piece, file in enumerate(pieces.files):
        part = slice(int(pieces.bounds[piece]), int(pieces.bounds[piece + 1]))
        if not flags[part].any():
            continue
        number = pieces.firsts[piece] - part.start

        def add(
            what: str,
            chosen: NDArray[np.bool_],
            *values: NDArray[Any],
            part: slice = part,
            number: int = number,
            name: str = file.name,
        ) -> None:
            at = np.flatnonzero(chosen[part]) + part.start
            marks.add(
                what, name, at + number, lambda place: tuple(int(column[at[place]]) for column in values)
            )

        add("entry.lost", lost, offsets)
        add("entry.wrong", (flags & WRONG != 0) & ~(flags & DOUBLE != 0), hashes, offsets)
        add("entry.double", flags & DOUBLE != 0, offsets)
        timed = flags & TIME != 0
        if timed[part].any():
            seconds = np.zeros(offsets.size, np.int64)
            if begins[piece] > 0:
                seconds[timed] = np.clip(
                    (every.store_timestamp[places[timed]] - begins[piece]) // 1000, 0, 0x7FFFFFFF
                )
            add("entry.time", timed, diffs, seconds)


def _probe(indexes: Blocks, frames: Frames, result: RangeResult) -> None:
    """Store timestamps of the records that headers and outermost entries name."""
    wanted: set[int] = set()
    for look in indexes.files:
        wanted.update(look.ends)
        wanted.update((look.header.begin_phy_offset, look.header.end_phy_offset))
    inside = [offset for offset in wanted if result.range.begin <= offset < result.range.end]
    if inside and frames.all.phy_offset.size:
        places = np.searchsorted(frames.all.phy_offset, inside)
        for offset, place in zip(inside, places.tolist(), strict=True):
            if place < frames.all.phy_offset.size and frames.all.phy_offset[place] == offset:
                result.times[offset] = int(frames.all.store_timestamp[place])


def _check_missing(
    plan: Plan, frames: Frames, queued: NDArray[np.uint8], seen: NDArray[np.uint8], result: RangeResult
) -> None:
    """Records without a unit and keys without an entry, and which of them dispatch may not have come to yet."""
    every = frames.all
    kinds = every.transaction
    to_queue = ((kinds == NOT) | (kinds == COMMIT)) & every.dispatched
    has_unit = queued != 0
    key_frame = np.repeat(np.arange(every.phy_offset.size), every.key_count)
    has_entry = np.zeros(every.phy_offset.size, np.bool_)
    has_entry[key_frame[seen != 0]] = True
    where = np.zeros(every.phy_offset.size, np.int8)
    indexed = np.flatnonzero(has_entry)[-1:]
    result.indexed = bool(indexed.size)
    where[int(indexed[0]) + 1 if indexed.size else 0 :] = NEWEST
    dispatched = np.flatnonzero(has_unit | has_entry)[-1:]
    behind = int(dispatched[0]) + 1 if dispatched.size else 0
    if dispatched.size:
        result.dispatched = int(every.phy_offset[dispatched[0]])
    where[behind:] = AFTER
    due = np.flatnonzero((to_queue | (every.key_count > 0))[behind:])
    if due.size:
        result.due = int(due.size), int(every.phy_offset[behind + due[0]])
    lacking = np.flatnonzero(to_queue & ~has_unit)
    if lacking.size:
        _missing_units(plan, frames, lacking, where, result)
    absent = np.flatnonzero(seen == 0)
    if absent.size:
        _missing_keys(every, key_frame, absent, where, result)


def _missing_keys(
    every: Requests,
    key_frame: NDArray[np.int64],
    absent: NDArray[np.int64],
    where: NDArray[np.int8],
    result: RangeResult,
) -> None:
    result.hashes = frozenset(np.unique(every.key_hash[absent])[:_HASHES].tolist())
    kinds = where[key_frame[absent]]
    starts = np.flatnonzero(
        (np.diff(absent, prepend=absent[0] - 2) != 1) | (np.diff(kinds, prepend=kinds[0]) != 0)
    )
    stops = np.append(starts[1:], absent.size)
    result.dropped += max(starts.size - MOST, 0)
    offsets = every.phy_offset[key_frame[absent]]
    result.key_runs = [
        KeyRun(
            int(absent[start]),
            stop - start,
            int(offsets[start]),
            int(offsets[stop - 1]),
            int(every.store_timestamp[key_frame[absent[start]]]),
            int(kinds[start]),
        )
        for start, stop in zip(starts[:MOST].tolist(), stops[:MOST].tolist(), strict=True)
    ]


def _missing_units(
    plan: Plan, frames: Frames, lacking: NDArray[np.int64], where: NDArray[np.int8], result: RangeResult
) -> None:
    """Runs of logical offsets of one queue, less those at which a unit lies, sound or not."""
    every = frames.all
    topic, queue_id, offset = every.topic[lacking], every.queue_id[lacking], every.queue_offset[lacking]
    order = np.lexsort((offset, queue_id, topic))
    lacking, topic, queue_id, offset = lacking[order], topic[order], queue_id[order], offset[order]
    changes = np.flatnonzero((np.diff(topic) != 0) | (np.diff(queue_id) != 0)) + 1
    files = _by_queue(plan)
    for part in np.split(np.arange(lacking.size), changes):
        name, number = frames.names.names[topic[part[0]]], int(queue_id[part[0]])
        taken = _taken(plan, files.get((name, number), ()), name, number, offset[part])
        chosen = part[~taken]
        for kind in (BEFORE, NEWEST, AFTER):
            some = chosen[where[lacking[chosen]] == kind]
            found = stretches(offset[some])
            result.dropped += max(len(found) - MOST, 0)
            for first, length in found[:MOST]:
                begin, last = int(some[first]), int(some[first + length - 1])
                phy_offset = int(every.phy_offset[lacking[begin]])
                result.units.append(
                    UnitRun(name, number, int(offset[begin]), int(offset[last]), length, phy_offset, kind)
                )


def _by_queue(plan: Plan) -> dict[tuple[str, int], list[Any]]:
    files: dict[tuple[str, int], list[Any]] = {}
    for file in plan.queues:
        if file.topic is not None and file.queue_id is not None:
            files.setdefault((file.topic, file.queue_id), []).append(file)
    return files


def _taken(
    plan: Plan, files: Sequence[Any], topic: str, queue_id: int, logical: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """At which logical offsets, which ascend, a unit lies now, sound or not; expired ones and pre-blanks aside."""
    taken = np.zeros(logical.size, np.bool_)
    if plan.live and plan.store is not None:  # a broker may have rolled since
        directory = plan.store / "consumequeue" / topic / str(queue_id)
        files = find_files(directory) if is_safe(topic) and directory.is_dir() else []
    for file in files:
        try:
            with file.open() as reader:
                first = file.base_offset // QUEUE_UNIT.size
                inside = np.flatnonzero(
                    (logical >= first) & (logical < first + reader.size // QUEUE_UNIT.size)
                )
                for start, length in stretches(logical[inside]):
                    places = inside[start : start + length]
                    begin, end = int(logical[places[0]]), int(logical[places[-1]]) + 1
                    size = QUEUE_UNIT.size
                    raw = reader.read((begin - first) * size, (end - begin) * size).view(UNIT)
                    offset = raw["phy_offset"].astype(np.int64)
                    empty = (
                        (offset == 0)
                        & ((raw["size"] == 0) | (raw["size"] == 0x7FFFFFFF))
                        & (raw["tags_code"] == 0)
                    )
                    expired = (offset >= 0) & (raw["size"] > 0) & (offset < plan.begin)
                    taken[places] = ~(empty | expired)[logical[places] - begin]
        except FileNotFoundError:
            continue
    return taken
