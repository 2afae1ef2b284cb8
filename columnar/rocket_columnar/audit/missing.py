"""Records of a range without a unit, and keys without an entry."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import Final

import numpy as np
from numpy.typing import NDArray
from rocket_spec.errors import UsageError
from rocket_spec.layout import PRE_BLANK_SIZE, QUEUE_UNIT
from rocket_spec.printable import counted

from rocket_columnar.audit.log_check import lag_finding
from rocket_columnar.audit.ranges import (
    AFTER,
    BEFORE,
    MOST,
    NEWEST,
    Frames,
    KeyRun,
    Marks,
    RangeResult,
    UnitRun,
    runs_of,
)
from rocket_columnar.facts import Store
from rocket_columnar.findings import Finding, finding
from rocket_columnar.formats import UNIT_DTYPE
from rocket_columnar.log import (
    Gap,
    Requests,
    TopicNames,
    life_begins,
    of_earlier_life,
    of_nobody,
    requests_before_gap,
    units_taken,
)
from rocket_columnar.store import StoreFile, by_queue, find_files, is_safe

# Sorts units and keys that no file has: lost, not dispatched yet, or of an earlier life of their queue.


_ON_THE_WAY: Final = 60_000
"""ms: how old a record of a live store may be whose keys are not in the index yet, since queues and index files are
read, or were copied, one after the other."""


def what_is_missing(
    store: Store, parts: Sequence[RangeResult], report: Callable[[Finding], None]
) -> tuple[dict[tuple[str, int], list[UnitRun]], list[KeyRun]]:
    """Units and keys that are lost. Those that dispatch has not reached yet are reported as a note.

    After a kill these are the ones from where the next start dispatches again; else those after the last record that is in
    a queue or the index, and while a broker runs the newest keys.
    """
    again = store.dispatched_again_from
    dispatched = _dispatched_part(store, parts)
    behind = [
        number >= dispatched >= 0 if again is None else part.range.begin >= again
        for number, part in enumerate(parts)
    ]
    late = [part.due for part, is_behind in zip(parts, behind, strict=True) if is_behind and part.due[0]]
    if again is None:
        stops = [max(part.dispatched or 0 for part in parts)] if late else []
    else:
        stops = [
            at for part, is_behind in zip(parts, behind, strict=True) if is_behind for at in part.uncopied
        ]
    lag = lag_finding(store, late, stops)
    if lag is not None:
        report(lag)
    units: dict[tuple[str, int], list[UnitRun]] = {}
    for part, is_behind in zip(parts, behind, strict=True):
        for unit in part.units:
            if not is_behind or (again is None and unit.where != AFTER):
                _glue_unit(units.setdefault((unit.topic, unit.queue_id), []), unit)
    keys = _missing_keys(store, parts, behind, report)
    return _of_last_life(store, parts, units, report), keys


def _missing_keys(
    store: Store, parts: Sequence[RangeResult], behind: Sequence[bool], report: Callable[[Finding], None]
) -> list[KeyRun]:
    indexed = max((number for number, part in enumerate(parts) if part.indexed), default=-1)
    since = max((part.newest for part in parts if part.newest is not None), default=0) - _ON_THE_WAY
    again = store.dispatched_again_from
    indexed_from = 0 if again is None else store.indexed_from(again)
    keys: list[KeyRun] = []
    later: list[KeyRun] = []
    before = 0
    for number, part in enumerate(parts):
        for key in part.key_runs:
            is_new = number >= indexed and key.where == NEWEST and key.time >= since
            is_again = behind[number] and again is not None and key.begin >= indexed_from
            if is_again or (store.live and is_new):
                later.append(key)
            elif not behind[number] or again is not None or key.where != AFTER:
                after = (later.keyed for later in parts[number + 1 :] if later.keyed >= 0)
                following = key.next if key.next >= 0 else next(after, -1)
                _glue_key(keys, replace(key, first=key.first + before, next=following))
        before += part.keys
    if later:
        count = sum(run.count for run in later)
        text = (
            counted(count, "key of the newest records is", "keys of the newest records are")
            + " not in an index file yet, but their units are in the queues"
            if again is None
            else counted(count, "key is", "keys are")
            + " in no index file; the next start dispatches the log again from before them"
        )
        report(finding("store.lag", *store.at(later[0].begin), text))
    return keys


_UNKNOWN: Final = "none if it was deleted; else add it to config/topics.json while the broker is down, and audit the store again"


def _of_last_life(
    store: Store,
    parts: Sequence[RangeResult],
    units: dict[tuple[str, int], list[UnitRun]],
    report: Callable[[Finding], None],
) -> dict[tuple[str, int], list[UnitRun]]:
    """The units that are missing from the last life of a queue; a note for each topic that had another, or was deleted, a warning if that is unknown."""
    begins = {queue: begin for part in parts for queue, begin in part.lives.items()}
    # physical offset of the last message of an earlier life, by queue
    earlier = {queue: at for part in parts for queue, at in part.earlier.items()}
    left: dict[tuple[str, int], list[UnitRun]] = {}
    for queue, runs in units.items():
        begin = begins.setdefault(queue, runs[0].phy_offset)
        left[queue] = [run for run in runs if run.phy_offset >= begin]
        ends = [run.end for run in runs if run.phy_offset < begin]
        if ends:
            earlier[queue] = max(*ends, earlier.get(queue, 0))
    with_files = {(file.topic or "", file.queue_id or 0) for file in store.queues}
    unknown = {topic for topic, _ in left if store.may_be_deleted(topic)}
    deleted = unknown | {topic for topic, _ in left if store.is_deleted(topic)}
    nobody = of_nobody(begins, earlier, with_files)
    for queue in left.keys() - with_files:
        if queue[0] in deleted or queue in nobody:
            left[queue] = []
    again = dict(
        sorted(((topic, begins[topic, number]) for topic, number in earlier), key=itemgetter(1), reverse=True)
    )
    for topic in sorted(deleted | again.keys()):
        if topic in unknown:
            text = f"topic {topic} has messages in the log and no queue, and there is no list of topics: it was deleted, or its queues are lost"
            report(finding("topic.missing", f"consumequeue/{topic}", None, text, cure=_UNKNOWN))
            continue
        why = f"counts from 0 again at physical offset {again[topic]:,}" if topic in again else "was deleted"
        text = f"topic {topic} {why}: its earlier messages are still in the log, and in no queue"
        note = "none needed: no broker delivers them"
        report(finding("queue.missing_unit", f"consumequeue/{topic}", None, text, severity="note", cure=note))
    return left


def _dispatched_part(store: Store, parts: Sequence[RangeResult]) -> int:
    """The last part with a record that is dispatched.

    If nothing is dispatched at all, nothing is late: the queues and the index are gone (-1). But a store in use whose
    log has one file with records may have just begun, and any start would dispatch them all (0).
    """
    dispatched = max((number for number, part in enumerate(parts) if part.dispatched is not None), default=-1)
    if store.live and dispatched < 0 and len({part.range.log for part in parts if part.due[0]}) == 1:
        return 0
    return dispatched


def _glue_unit(runs: list[UnitRun], run: UnitRun) -> None:
    if runs and 0 <= run.first - runs[-1].last <= 1:
        runs[-1] = replace(runs[-1], last=run.last, count=runs[-1].count + run.count, end=run.end)
    else:
        runs.append(run)


def _glue_key(runs: list[KeyRun], run: KeyRun) -> None:
    if runs and run.first == runs[-1].first + runs[-1].count:
        runs[-1] = replace(runs[-1], end=run.end, next=run.next, count=runs[-1].count + run.count)
    else:
        runs.append(run)


_HASHES: Final = 1 << 16


def check_missing(
    store: Store, frames: Frames, queued: NDArray[np.uint8], seen: NDArray[np.uint8], result: RangeResult
) -> NDArray[np.int8]:
    """Records without a unit and keys without an entry; where each record is: BEFORE, NEWEST or AFTER."""
    every = frames.all
    batched = [frames.names.numbers.get(file.topic or "", -1) for file in store.batches]
    has_unit, has_key = (queued != 0) | np.isin(every.topic, batched), every.key_count > 0
    has_entry = has_key
    absent = np.empty(0, np.int64)
    if not seen.all():
        absent = np.flatnonzero(seen == 0)
        key_frame = np.repeat(np.arange(every.phy_offset.size), every.key_count)
        has_entry = np.zeros_like(has_key)
        has_entry[key_frame[seen != 0]] = True
    where = np.zeros(every.phy_offset.size, np.int8)
    indexed = _behind_last(has_entry)
    result.indexed = indexed > 0
    where[max(indexed - 1, 0) :] = NEWEST  # its last keys may be on their way
    behind = max(indexed, _behind_last(has_unit))
    if behind:
        result.dispatched = int(every.phy_offset[behind - 1])
    where[behind:] = AFTER
    wanted = every.queued
    due = np.flatnonzero((wanted | has_key)[behind:])
    if due.size:
        result.due = int(due.size), int(every.phy_offset[behind + due[0]])
    result.lives = life_begins(every, frames.names)
    lacking = wanted & ~has_unit
    if lacking.any():
        earlier = of_earlier_life(every) & lacking
        for row in np.flatnonzero(earlier & (where != AFTER)).tolist():
            queue = frames.names.names[every.topic[row]], int(every.queue_id[row])
            result.earlier[queue] = int(every.phy_offset[row])
        lacking &= ~earlier
    if lacking.any():
        _missing_units(store, frames, np.flatnonzero(lacking), where, result)
    if absent.size:
        _keys_never_put(every, key_frame, absent, where, result)
    return where


def _behind_last(flags: NDArray[np.bool_]) -> int:
    """One more than the place of the last that is set; 0 if none is."""
    return flags.size - int(np.argmax(flags[::-1])) if flags.any() else 0


def _keys_never_put(
    every: Requests,
    key_frame: NDArray[np.int64],
    absent: NDArray[np.int64],
    where: NDArray[np.int8],
    result: RangeResult,
) -> None:
    result.hashes = frozenset(np.unique(every.key_hash[absent[:_HASHES]]).tolist())
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
            int(every.phy_offset[key_frame[last + 1]])
            if (last := int(absent[stop - 1])) + 1 < key_frame.size
            else -1,
            int(every.store_timestamp[key_frame[absent[start]]]),
            int(kinds[start]),
        )
        for start, stop in zip(starts[:MOST].tolist(), stops[:MOST].tolist(), strict=True)
    ]


def _missing_units(
    store: Store, frames: Frames, lacking: NDArray[np.int64], where: NDArray[np.int8], result: RangeResult
) -> None:
    """Runs of logical offsets of one queue, less those that have a unit, sound or not."""
    every = frames.all
    topic, queue_id, offset = every.topic[lacking], every.queue_id[lacking], every.queue_offset[lacking]
    order = np.lexsort((offset, queue_id, topic))
    lacking, topic, queue_id, offset = lacking[order], topic[order], queue_id[order], offset[order]
    changes = np.flatnonzero((np.diff(topic) != 0) | (np.diff(queue_id) != 0)) + 1
    files = by_queue(store.queues)
    for part in np.split(np.arange(lacking.size), changes):
        name, number = frames.names.names[topic[part[0]]], int(queue_id[part[0]])
        taken, earlier = _taken(
            store, files.get((name, number), ()), name, number, offset[part], every.phy_offset[lacking[part]]
        )
        if earlier:
            result.repeating.add((name, number))
        chosen = part[~taken]
        for kind in (BEFORE, NEWEST, AFTER):
            some = chosen[where[lacking[chosen]] == kind]
            found = runs_of(offset[some])
            result.dropped += max(len(found) - MOST, 0)
            for first, length in found[:MOST]:
                begin, last = int(some[first]), int(some[first + length - 1])
                result.units.append(
                    UnitRun(
                        name,
                        number,
                        first=int(offset[begin]),
                        last=int(offset[last]),
                        count=length,
                        phy_offset=int(every.phy_offset[lacking[begin]]),
                        end=int(every.phy_offset[lacking[last]]),
                        where=kind,
                    )
                )


def files_now(
    store: Store, files: Sequence[StoreFile], topic: str, queue_id: int, *, part: str = "consumequeue"
) -> Sequence[StoreFile]:
    """A queue's files, or its ext files, those of now where a broker may have rolled since."""
    if not store.live or store.path is None:
        return files
    directory = store.path / part / topic / str(queue_id)
    try:
        return find_files(directory) if is_safe(topic) and directory.is_dir() else []
    except UsageError:
        return []  # a broker makes the directory before the first file


def _taken(
    store: Store,
    files: Sequence[StoreFile],
    topic: str,
    queue_id: int,
    logical: NDArray[np.int64],
    starts: NDArray[np.int64],
) -> tuple[NDArray[np.bool_], bool]:
    """A mask of the ascending logical offsets that have a unit now, sound or not; without expired ones and pre-blanks.

    Also whether one of these units points to the log before the record that lacks it; these begin at `starts`.
    """
    taken, earlier = np.zeros(logical.size, np.bool_), False
    for file in files_now(store, files, topic, queue_id):
        try:
            with file.open() as reader:
                first = file.base_offset // QUEUE_UNIT.size
                inside = np.flatnonzero(
                    (logical >= first) & (logical < first + reader.size // QUEUE_UNIT.size)
                )
                for start, length in runs_of(logical[inside]):
                    places = inside[start : start + length]
                    begin, end = int(logical[places[0]]), int(logical[places[-1]]) + 1
                    size = QUEUE_UNIT.size
                    raw = reader.read((begin - first) * size, (end - begin) * size).view(UNIT_DTYPE)
                    offset = raw["phy_offset"].astype(np.int64)
                    empty = (
                        (offset == 0)
                        & ((raw["size"] == 0) | (raw["size"] == 0x7FFFFFFF))
                        & (raw["tags_code"] == 0)
                    )
                    expired = (offset >= 0) & (raw["size"] > 0) & (offset < store.begin)
                    numbers = logical[places] - begin
                    taken[places] = ~(empty | expired)[numbers]
                    known = (offset >= store.begin) & ~empty
                    earlier |= bool((known[numbers] & (offset[numbers] < starts[places])).any())
        except FileNotFoundError:
            continue
    return taken, earlier


# Queues that differ from their records' logical offsets, yet are as a broker makes them of its log (CQ-PUT-2, CQ-PUT-3).
#
# A record that repeats a logical offset gets no unit, and after one that skips some the units go on without a gap. Such a queue
# is not damaged, and a rebuild makes the same files again.


_MOVED: Final = "unit.moved"

_SHOWN: Final = 5
"""Number of records without a unit that a finding names."""

Queue = tuple[str, int]


@dataclass(slots=True)
class _Puts:
    """The puts of one queue's records, from the record of its first unit on.

    Attributes:
        first: logical offset of its first unit with a record, and that record's physical offset.
        units: physical offsets of the units from there on.
        placed: physical offsets of the records that get a unit, batch by batch.
        next: logical offset of the next unit.
        repeats: physical and logical offset of each record that gets none.
        skips: logical offsets of the units after which the records go on with a greater offset.
    """

    files: Sequence[StoreFile]
    first: tuple[int, int] = (0, 0)
    units: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    placed: list[NDArray[np.int64]] = field(default_factory=list)
    next: int = 0
    repeats: list[tuple[int, int]] = field(default_factory=list)
    skips: list[int] = field(default_factory=list)

    def read(self, begin: int) -> None:
        """Reads the units from the first on whose record is in the log, which begins at `begin`; none of a queue with a hole, which no puts leave."""
        base = self.files[0].base_offset // QUEUE_UNIT.size
        parts = [np.frombuffer(_units_before_holes(file), UNIT_DTYPE) for file in self.files]
        every = np.concatenate(parts)
        offset, size = every["phy_offset"].astype(np.int64), every["size"].astype(np.int32)
        used = (size > 0) & ~((offset == 0) & (size == PRE_BLANK_SIZE))
        known = np.flatnonzero(used & (offset >= begin))
        if known.size:
            start, stop = int(known[0]), int(known[-1]) + 1
            self.first = self.next, _ = base + start, int(offset[start])
            self.units = np.where(used, offset, -1)[start:stop]

    def put(self, offsets: NDArray[np.int64], starts: NDArray[np.int64]) -> None:
        """Puts the records of a batch: their logical and physical offsets, in the order of the log."""
        chosen = starts >= self.first[1]
        offsets, starts = offsets[chosen], starts[chosen]
        taken = units_taken(offsets, self.next)
        self.repeats += zip(starts[~taken].tolist(), offsets[~taken].tolist(), strict=True)
        units = self.next + np.arange(np.count_nonzero(taken))
        self.skips += units[offsets[taken] > units].tolist()
        self.placed.append(starts[taken])
        self.next += units.size

    @property
    def agrees(self) -> bool:
        """Whether the units are those that these puts make."""
        placed = np.concatenate([np.empty(0, np.int64), *self.placed])
        return self.units.size > 0 and np.array_equal(self.units, placed[: self.units.size])


def _units_before_holes(file: StoreFile) -> bytes:
    """The units of a file up to the hole at its end; none if there is another."""
    with file.open() as reader:
        held = list(reader.extents())
        end = held[0][1] if len(held) == 1 and not held[0][0] else 0
        return reader.read(0, end // QUEUE_UNIT.size * QUEUE_UNIT.size).tobytes()


def take_own_puts(
    store: Store,
    marks: Marks,
    repeating: Collection[Queue],
    report: Callable[[Finding], None],
    held: Counter[str],
) -> None:
    """Takes the marks off units that are where a broker's own puts place them, and reports the records without a unit.

    `repeating` are queues with records whose place an earlier one has; `held` counts the clauses that the puts show.
    OSError if a file cannot be read.
    """
    moved = {file for what, file in marks.runs if what == _MOVED}
    files = by_queue(store.queues)
    puts = {
        key: _Puts(own)
        for key, own in files.items()
        if key in repeating or moved & {file.name for file in own}
    }
    if not puts:
        return
    for one in puts.values():
        one.read(store.begin)
    if not _put_all(store, puts):
        return
    for (topic, queue_id), one in puts.items():
        if not one.agrees:
            continue
        held.update({"CQ-PUT-2": len(one.repeats), "CQ-PUT-3": len(one.skips)})
        for file in one.files:
            marks.runs.pop((_MOVED, file.name), None)
            marks.more.pop((_MOVED, file.name), None)
        for found in _findings(store, f"{topic} queue {queue_id}", one):
            report(found)


def _put_all(store: Store, puts: dict[Queue, _Puts]) -> bool:
    """Puts the log's records of some queues; whether the log has no gap, across which nothing is known."""
    if store.log_breaks:
        return False
    files = tuple(zip(store.logs, store.log_sizes, strict=True))
    names, gaps = TopicNames(), list[Gap]()
    bounds = store.begin, store.end
    for _, _, batch in requests_before_gap(files, names, bounds=bounds, on_gap=gaps.append, keys=store.keys):
        for (topic, queue_id), one in puts.items():
            rows = batch.queued & (batch.topic == names.numbers.get(topic, -1))
            rows &= batch.queue_id == queue_id
            one.put(batch.queue_offset[rows], batch.phy_offset[rows])
    return not gaps


def _findings(store: Store, queue: str, puts: _Puts) -> list[Finding]:
    found = []
    if puts.repeats:
        some = ", ".join(f"{start:,} (offset {offset:,})" for start, offset in puts.repeats[:_SHOWN])
        more = f" and {len(puts.repeats) - _SHOWN:,} more" if len(puts.repeats) > _SHOWN else ""
        text = (
            f"{counted(len(puts.repeats), f'record of {queue} repeats', f'records of {queue} repeat')} a logical offset, and "
            f"{'gets' if len(puts.repeats) == 1 else 'get'} no unit from a broker: physical offset {some}{more}; no consumer gets "
            f"{'it' if len(puts.repeats) == 1 else 'them'}"
        )
        cure = "none in this store: send these messages again; `rocketspec decode --table commit_log` prints them"
        found.append(
            finding(
                "queue.missing_unit",
                *store.at(puts.repeats[0][0]),
                text,
                clause="CQ-PUT-2",
                cure=cure,
            )
        )
    if puts.skips:
        text = (
            f"records of {queue} skip logical offsets before unit {puts.skips[0]:,}: from there on a unit's number is lower "
            "than the offset that its record states (CQ-PUT-3); no message is lost"
        )
        file = next(
            file for file in reversed(puts.files) if file.base_offset <= puts.skips[0] * QUEUE_UNIT.size
        )
        at = puts.skips[0] * QUEUE_UNIT.size - file.base_offset
        cure = "none needed: consumers get every message"
        found.append(
            finding("queue.order", file.name, at, text, severity="note", clause="CQ-PUT-3", cure=cure)
        )
    return found
