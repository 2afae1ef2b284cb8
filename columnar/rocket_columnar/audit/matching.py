"""Compares units and entries with the records that they point to."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray
from rocket_spec.layout import PRE_BLANK_SIZE, QUEUE_UNIT, RECORD_MAGICS

from rocket_columnar.audit.file_survey import Rows
from rocket_columnar.audit.missing import files_now
from rocket_columnar.audit.ranges import AFTER, MOST, Frames, Range, RangeResult, UnitRun
from rocket_columnar.facts import Store
from rocket_columnar.formats import LONG_MAX, SCHEDULE_TOPIC, UNIT_DTYPE, hash_key, string_hash, tag_key
from rocket_columnar.log import Requests, StoredRecords, batch_copies, goes_to
from rocket_columnar.store import Sign, StoreFile, by_queue, is_safe, offset_name, read_at

OUTSIDE: Final = 128  # flag: points outside the range, or is not a unit that 4.9.3 accepts; not checked
LOST: Final = 1  # flag: no record begins at that offset

# Flags of units: the record belongs to another queue, has another size, logical offset or tags code.
NOT_OWN: Final = 2
SIZE: Final = 4
MOVED: Final = 8
TAGS: Final = 16

# Flags of entries: no key of the record has the hash; indexed before; the time diff is not the record's; the keys of the
# record have another order.
WRONG: Final = 2
DOUBLE: Final = 4
TIME: Final = 8
ORDER: Final = 16

_INT_MAX: Final = 0x7FFFFFFF


def match_units(units: Rows, frames: Frames, range_: Range, queued: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The flags of units, compared with their records; `queued` gets 1 for each record to which a unit of its queue points."""
    records = frames.all
    offset, size, tags = (units.columns[name] for name in ("phy_offset", "size", "tags_code"))
    judged = units.within((range_.begin, range_.last)) & (size > 0)
    judged &= ~((offset == 0) & (size == PRE_BLANK_SIZE) & (tags == 0))
    flags = np.where(judged, np.where(units.record < 0, LOST, 0), OUTSIDE).astype(np.uint8)
    rows = np.flatnonzero(judged & (units.record >= 0))
    of = units.record[rows]
    logical = units.of_runs([file.base_offset // QUEUE_UNIT.size for file in units.files]) + units.numbers
    topics = units.of_runs([frames.names.numbers.get(file.topic or "", -1) for file in units.files])
    own = records.topic[of] == topics[rows]
    own &= records.queue_id[of] == units.of_runs([file.queue_id or 0 for file in units.files])[rows]
    own &= records.queued[of]
    queued[of[own]] = 1
    found = np.where(own, np.where(records.queue_offset[of] != logical[rows], MOVED, 0), NOT_OWN)
    found |= np.where(records.size[of] != size[rows], SIZE, 0)
    found |= np.where(records.tags_code[of] != tags[rows], TAGS, 0)
    flags[rows] = found
    return flags


def match_entries(
    entries: Rows, begins: NDArray[np.int64], records: Requests, range_: Range, seen: NDArray[np.uint8]
) -> NDArray[np.uint8]:
    """The flags of entries, compared with the keys of their records.

    A record may have one key twice: of its entries with one hash each takes the next key with that hash. `begins` has for each entry the
    begin timestamp in its file's header, ms; `seen` gets 1 for each key that has an entry.
    """
    hashes, diffs = entries.columns["key_hash"], entries.columns["time_diff"]
    zeros = np.logical_and.reduce([column == 0 for column in entries.columns.values()])
    judged = entries.within((range_.begin, range_.last)) & ~zeros
    flags = np.where(judged, np.where(entries.record < 0, LOST, 0), OUTSIDE).astype(np.uint8)
    rows = np.flatnonzero(judged & (entries.record >= 0))
    of = entries.record[rows]
    found = _matched(of, hashes[rows], entries.numbers[rows] == 1, records, seen)
    expected = seconds_since(begins[rows], records.store_timestamp[of])
    late = (diffs[rows] >= 0) & (entries.numbers[rows] > 1) & (diffs[rows] != expected)
    flags[rows] = found | np.where(late, TIME, 0).astype(np.uint8)
    return flags


def seconds_since(begins: NDArray[np.int64], times: NDArray[np.int64]) -> NDArray[np.int64]:
    """The time diffs that puts write, s, by the begin in the header and the record's store timestamp, ms (IDX-PUT-2)."""
    return np.where(begins > 0, np.clip((times - begins) // 1000, 0, _INT_MAX), 0)


def _matched(
    of: NDArray[np.int64],
    hashes: NDArray[np.int32],
    heads: NDArray[np.bool_],
    records: Requests,
    seen: NDArray[np.uint8],
) -> NDArray[np.uint8]:
    """The flags WRONG, DOUBLE and ORDER of entries: DOUBLE for those whose keys all have entries before.

    `heads` are the first entries of files, which may begin in the middle of a record.
    """
    owner = np.repeat(np.arange(records.key_count.size), records.key_count)
    keys = (owner << 32) | records.key_hash
    wanted = (of << 32) | hashes.view(np.uint32)  # a negative hash is no key's
    if np.array_equal(keys, wanted):  # in the order of the log, as nearly always
        seen[:] = 1
        return np.zeros(wanted.size, np.uint8)
    key_order = np.argsort(keys, kind="stable")
    ordered = keys[key_order]
    first = np.searchsorted(ordered, wanted)
    count = np.searchsorted(ordered, wanted, side="right") - first
    order = np.argsort(wanted, kind="stable")
    starts = np.flatnonzero(np.diff(wanted[order], prepend=-1) != 0)
    rank = np.empty(wanted.size, np.int64)
    rank[order] = np.arange(wanted.size) - np.repeat(starts, np.diff(np.append(starts, wanted.size)))
    fits = rank < count
    seen[key_order[(first + rank)[fits]]] = 1
    flags = np.where(fits, 0, np.where(count > 0, DOUBLE, WRONG)).astype(np.uint8)
    lacking = np.zeros(records.key_count.size, np.bool_)
    lacking[owner[seen == 0]] = True
    flags[(flags == DOUBLE) & lacking[of]] = WRONG  # in the place of another key
    known = np.flatnonzero(count > 0)
    places = key_order[(first + rank % np.maximum(count, 1))[known]]
    begins = (np.cumsum(records.key_count) - records.key_count)[of[known]]
    follows = np.diff(of[known], prepend=-1) == 0
    # After one key of a record comes the next, or the first again; what is skipped has no entry, which is another fault.
    strange = (places != begins) & (seen[places - 1] != 0)
    strange &= np.where(follows, np.diff(places, prepend=-1) != 1, ~heads[known])
    flags[known[strange]] |= ORDER
    return flags


_HEAD: Final = struct.Struct(">ii20xq")


def without_appended(store: Store, flags: NDArray[np.uint8], offsets: NDArray[np.int64]) -> NDArray[np.uint8]:
    """The flags of units or entries that are to be judged: not OUTSIDE, nor LOST if the record was appended meanwhile."""
    flags = np.where(flags == OUTSIDE, 0, flags).astype(np.uint8)
    beyond = np.flatnonzero((flags & LOST != 0) & (offsets >= store.end))
    if beyond.size and _appended_meanwhile(store, int(offsets[beyond[0]])):
        flags[beyond] &= ~np.uint8(LOST)
    return flags


def _appended_meanwhile(store: Store, phy_offset: int) -> bool:
    """Whether there is now a record at an offset after the end that was read."""
    if phy_offset < store.end or not store.logs:
        return False
    size = max(store.log_sizes)
    files = {file.base_offset: file for file in store.logs}
    rolled = phy_offset // size * size if size else 0
    if rolled not in files and store.logs[0].source is None:
        path = store.logs[0].path.with_name(offset_name(rolled))
        files[rolled] = replace(store.logs[0], path=path, base_offset=rolled)
    for base, file in files.items():
        if not base <= phy_offset < base + size:
            continue
        try:
            with file.open() as reader:
                if phy_offset - base + _HEAD.size <= reader.size:
                    _, magic, recorded = _HEAD.unpack(reader.read(phy_offset - base, _HEAD.size).tobytes())
                    return bool(magic in RECORD_MAGICS and recorded == phy_offset)
        except FileNotFoundError:
            continue
    return False


# Files and entries of 5.x that an audit does not judge, because 4.9.3 never writes them.


UNJUDGED: Final = {
    "checkpoint.ahead": (),
    "checkpoint.behind": (),
    "index.ahead_of_log": (),
    "queue.missing_unit": ("rocksdb",),
    "index.missing_key": ("index", "rocksdb"),
}
"""Findings that follow from the rules of 4.9.3 alone, and the kinds of signs with which they are dropped; () for any."""

_SCHEDULE: Final = SCHEDULE_TOPIC.decode()
_LONGEST: Final = 255  # UTF-16 units of a tag whose length is tried out


def long_topic_sign(store: Store, phy_offset: int) -> Sign:
    """The sign that a record is whose topic has a length of two bytes."""
    name, at = store.at(phy_offset)
    return Sign("magic", f"magic daa320ab in {name} at byte {at + 4:,}")


def without_tag_entries(
    store: Store, frames: Frames, flags: NDArray[np.uint8], entries: Rows, result: RangeResult
) -> NDArray[np.uint8]:
    """The flags of entries, without WRONG for those of `topic#T#tag`, which 5.4.0 and later add for each message with tags.

    The hash of the text follows from that of the tag, which the record's tags code is, and from the tag's length; the record
    of a delayed message is read.
    """
    rows = np.flatnonzero((flags & (WRONG | DOUBLE)) == WRONG)
    if not rows.size:
        return flags
    every, names = frames.all, frames.names.names
    of, hashes = entries.record[rows], entries.columns["key_hash"]
    heads = np.array([string_hash(f"{name}#T#") & 0xFFFFFFFF for name in names] or [0], np.uint64)
    own, tags = heads[every.topic[of]], every.tags_code[of].astype(np.uint64)
    low = np.uint64(0xFFFFFFFF)
    power = np.uint64(1)
    found = np.zeros(rows.size, np.bool_)
    for _ in range(_LONGEST):
        power = power * np.uint64(31) & low
        signed = ((own * power + tags) & low).astype(np.uint32).view(np.int32).astype(np.int64)
        wanted = np.where(signed == -(1 << 31), 0, np.abs(signed))
        found |= (wanted == hashes[rows]) & (every.tags_code[of] != 0)
    timed = ~found & (every.topic[of] == frames.names.numbers.get(_SCHEDULE, -1))
    with StoredRecords(store.logs) as records:  # whose unit has the delivery time as tags code
        found[timed] = [
            (record := records.at(int(every.phy_offset[place]))) is not None
            and hash_key(tag_key(_SCHEDULE, record.pairs.get(b"TAGS", b"").decode())) == key
            for place, key in zip(of[timed], hashes[rows[timed]], strict=True)
        ]
    if found.any():
        text = f"entries of topic#T#tag, such as that of the record at physical offset {int(every.phy_offset[of[found]][0]):,}"
        result.signs.append(Sign("tags", text))
        flags[rows[found]] &= ~np.uint8(WRONG)
    return flags


# Queues that multi-dispatch fills: what a range's records name, and which of their units are missing there.
#
# 4.9.3 appends a copy's unit where its queue ends, whatever logical offset the record names, unless that is above 0 and
# below the queue's end: so it leaves gaps, and loses copies after a restart, when it counts from 0 again. Whether a unit
# should be there is seen from its neighbours alone: the queue ended after the unit of the last record before it.
#
# Source: `ConsumeQueue.putMessagePositionInfo` 478-530 and `multiDispatchLmqQueue` 432-453.


Queue = tuple[str, int]


@dataclass(frozen=True, slots=True)
class RangeCopies:
    """The copies that a range's records name."""

    # of a record's place the logical offset in each queue
    of_place: dict[int, dict[Queue, int]] = field(default_factory=dict)
    # places of each queue's records, in the order of the log
    of_queue: dict[Queue, list[int]] = field(default_factory=dict)
    # places of each queue's records that a unit points to
    seen: dict[Queue, set[int]] = field(default_factory=dict)

    def logical(self, place: int, queue: Queue) -> int | None:
        """The logical offset of a record's copy in a queue; None if it has none there."""
        return self.of_place.get(place, {}).get(queue)


def read_copies(store: Store, range_: Range, frames: Frames, result: RangeResult) -> RangeCopies:
    """The copies of a range's records; of a queue that is named twice the first."""
    every, copies = frames.all, RangeCopies()
    if range_.log is None or not every.copied.any():
        return copies
    light = store.light
    try:
        for place, found in batch_copies(store.logs[range_.log], every, light=light):
            named = copies.of_place.setdefault(place, {})
            if not found:
                result.uncopied.append(int(every.phy_offset[place]))
            for name, queue_id, logical in found:
                result.asked.append(((name, queue_id), int(every.phy_offset[place]), logical))
                if not is_safe(name):
                    result.unsafe.setdefault(name, int(every.phy_offset[place]))
                elif (name, queue_id) not in named:
                    named[name, queue_id] = logical
                    copies.of_queue.setdefault((name, queue_id), []).append(place)
    except FileNotFoundError:  # expired meanwhile
        result.gone = True
    return copies


def check_copies(
    store: Store, frames: Frames, copies: RangeCopies, where: NDArray[np.int8], result: RangeResult
) -> None:
    """Copies without a unit that 4.9.3 would have put; those of the last record that is dispatched may be on their way."""
    files = by_queue(store.queues) if copies.of_queue else {}
    last = int(np.max(np.flatnonzero(where != AFTER), initial=-1)) if store.live else -1
    for queue, held in copies.of_queue.items():
        if copies.seen.get(queue, set()).issuperset(held):
            continue
        places = np.array(held, np.int64)
        units = _Units.read(files_now(store, files.get(queue, ()), *queue), store)
        sound = units.sound(store, queue, frames, places, result.range)
        runs: list[UnitRun] = []
        for number, position in _put_again(
            copies, queue, frames.all.phy_offset[places], places, units, sound
        ):
            if units.is_damaged(store, queue, position, sound):
                continue  # reported as such
            place = int(places[number])
            phy_offset = int(frames.all.phy_offset[place])
            stage = AFTER if place == last else int(where[place])
            if runs and (runs[-1].last + 1, runs[-1].where) == (position, stage):
                runs[-1] = replace(runs[-1], last=position, count=runs[-1].count + 1)
            else:
                runs.append(UnitRun(*queue, position, position, 1, phy_offset, phy_offset, stage))
        result.units += runs[:MOST]
        result.dropped += max(len(runs) - MOST, 0)


def _put_again(
    copies: RangeCopies,
    queue: Queue,
    offsets: NDArray[np.int64],
    places: NDArray[np.int64],
    units: _Units,
    sound: NDArray[np.bool_],
) -> Iterator[tuple[int, int]]:
    """The copies at `offsets` that a put would append but no unit points to, each with its position."""
    order = np.flatnonzero(sound)[np.argsort(units.offset[sound], kind="stable")]
    known = units.offset[order]
    before = np.searchsorted(known, offsets)
    there = np.append(known, -1)[before] == offsets
    ends = np.append(units.begin, np.maximum.accumulate(units.position[order] + 1))[before]
    nexts = np.append(units.position[order], LONG_MAX)[before]
    end = 0
    for number in np.flatnonzero(~there).tolist():
        logical = copies.of_place[int(places[number])][queue]
        end = max(end, int(ends[number]))
        if logical == 0 or logical >= end:  # else 4.9.3 passes it over
            if logical < nexts[number]:  # no existing unit shows that there was a gap before
                end = max(end, logical)
            yield number, end
            end += 1


@dataclass(frozen=True, slots=True)
class _Units:
    """The units of a queue, less those that are empty: where each is, its physical offset (-1 where 4.9.3 takes none) and its size.

    `begin` is where the queue began, for all that is known.
    """

    position: NDArray[np.int64]
    offset: NDArray[np.int64]
    size: NDArray[np.int64]
    begin: int

    @classmethod
    def read(cls, files: Sequence[StoreFile], store: Store) -> _Units:
        """The units in a queue's files now."""
        parts = [np.empty((3, 0), np.int64)]
        begin = 0
        for number, file in enumerate(files):
            try:
                with file.open() as reader:
                    raw = reader.read(0, reader.size // QUEUE_UNIT.size * QUEUE_UNIT.size).view(UNIT_DTYPE)
            except FileNotFoundError:
                continue
            first = file.base_offset // QUEUE_UNIT.size
            offset, size = raw["phy_offset"].astype(np.int64), raw["size"].astype(np.int64)
            empty = (offset == 0) & ((size == 0) | (size == PRE_BLANK_SIZE)) & (raw["tags_code"] == 0)
            held = np.flatnonzero(~empty)
            parts.append(np.array([held + first, np.where(size > 0, offset, -1)[held], size[held]]))
            if not number and store.begin and held[:1].tolist() == [0]:
                begin = first  # what came before has expired with its file
        positions, offsets, sizes = np.concatenate(parts, axis=1)
        return cls(positions, offsets, sizes, begin)

    def sound(
        self, store: Store, queue: Queue, frames: Frames, copied: NDArray[np.int64], range_: Range
    ) -> NDArray[np.bool_]:
        """A mask of the units that may be right: all that point outside the range, and those to records that go into the queue."""
        every = frames.all
        known = (every.topic == frames.names.numbers.get(queue[0], -1)) & (every.queue_id == queue[1])
        known = np.append(known, False)  # place -1, which is no record's
        known[copied] = True
        possible: NDArray[np.bool_] = (self.offset < range_.begin) | (self.offset >= range_.end)
        possible |= known[frames.find(self.offset)]
        return possible & (self.offset >= 0) & (self.offset < store.end)

    def is_damaged(self, store: Store, queue: Queue, position: int, sound: NDArray[np.bool_]) -> bool:
        """Whether a unit is at a position that does not belong there."""
        place = int(np.searchsorted(self.position, position))
        if self.position[place : place + 1].tolist() != [position]:
            return False
        offset, size = int(self.offset[place]), int(self.size[place])
        if not sound[place] or offset < store.begin:
            return not sound[place]
        file = store.log_at(offset)
        data = b"" if file is None else read_at(file, offset - file.base_offset, size)
        return not goes_to(data, *queue, light=store.light)
