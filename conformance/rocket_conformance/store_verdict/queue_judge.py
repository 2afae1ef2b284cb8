"""Consume queues against what 4.9.3 makes of the log: which units, at which place, in which bytes."""

import itertools
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Final

from rocket_reference import (
    JavaError,
    QueueUnit,
    ext_unit,
    file_name,
    is_ext_address,
    java,
    offset_of,
    queue_units,
    tags_code,
)
from rocket_spec.errors import FormatError
from rocket_spec.layout import EXT_END_MARK, QUEUE_UNIT

from rocket_conformance.store_verdict.facts import StoreFacts
from rocket_conformance.store_verdict.observations import Observations, Place
from rocket_conformance.store_verdict.record_table import Queue, StoredRecord
from rocket_conformance.store_verdict.stored_log import StoredLog, numbered_files

_SCHEDULE: Final = "SCHEDULE_TOPIC_XXXX"
_UNIT: Final = QUEUE_UNIT.size
_AT_ONCE: Final = 50_000 * _UNIT

_EXT_FREE: Final = 4
"""Bytes at the end of an ext file that its units leave free (CQ-EXT-3)."""


class _Expected:
    """One queue as the log has it: its records in their order, one by one, and the logical offset that each asks for.

    Attributes:
        light: whether records of other queues belong to it (CQ-LMQ-1).
        next: the first record that no unit has come for yet, and its offset; None after the last.
        first: whether `next` is the first of all.
        end: logical offset after the last unit.
        missing: the first record of a light queue that was skipped, though its put was to be made.
    """

    def __init__(self, log: StoredLog, queue: Queue) -> None:
        self._queue = queue
        self._table = log.records
        self.light = log.records.is_further(queue)
        self._rest = log.records.of_queue(queue)
        self.next = next(self._rest, None)
        self.first = True
        self.end: int | None = None
        self.missing: StoredRecord | None = None

    def has(self, record: StoredRecord) -> bool:
        """Whether a record belongs to the queue."""
        further = self._table.further(record) if self.light else ()
        return record.queue == self._queue or any(queue == self._queue for queue, _ in further)

    def take(self, record: StoredRecord) -> int:
        """Goes on after a record of the queue; the logical offset that it asks for."""
        asked = 0
        self.missing = self.skip(record.position)
        while self.next is not None and self.next[0].position <= record.position:
            asked = self.next[1]
            self.next = next(self._rest, None)
        self.first = False
        return asked

    def skip(self, position: int) -> StoredRecord | None:
        """Goes on to a position, bytes; of a light queue the first record before it whose put appends a unit (CQ-PUT-2)."""
        lost: StoredRecord | None = None
        while self.next is not None and self.next[0].position < position:
            stored, asked = self.next
            known = self.end is not None
            if self.light and lost is None and (asked == 0 or (known and asked >= (self.end or 0))):
                lost = stored
            self.next = next(self._rest, None)
        return lost


@dataclass(frozen=True, slots=True)
class _Stored:
    """One unit: its file, its byte in it, its logical offset."""

    file: str
    position: int
    logical: int
    unit: QueueUnit

    def place(self, name: str, found: object, expected: object, record: object = "") -> Place:
        at = {"phy_offset": 0, "size": 8, "tags_code": 12}.get(name, 0)
        return Place(self.file, self.position + at, f"unit {self.logical} {name}", found, expected, record)


def judge_queues(
    facts: StoreFacts, log: StoredLog, seen: Observations, *, undisturbed_from: int | None = None
) -> None:
    """Judges the files of `consumequeue/` and the ext units that they lead to.

    Args:
        facts: of the store.
        log: what was stored.
        seen: takes what is observed.
        undisturbed_from: offset of the first record since which the broker has not been restarted; None where that is
            unknown.
    """
    if log.batched:
        seen.note(f"not judged: the batch queues of {', '.join(sorted(log.batched))}, which audit checks")
    root = log.store / "consumequeue"
    queues = {(topic.name, number): folder for topic in folders(root) for number, folder in _numbered(topic)}
    sizes: dict[int, str] = {}
    for queue, folder in sorted(queues.items()):
        _Queue(folder, _Expected(log, queue), log, seen, undisturbed_from).judge(sizes)
    if len(sizes) > 1:
        (size, first), (other, name) = sorted(sizes.items())[:2]
        seen.breaks("CQ-FILE-1", Place(name, None, "length", other, f"{size}, that of {first}"))
    if not log.stopped or not log.whole:
        return
    for topic, number in sorted(
        queue for queue in log.records.queues() if queue not in queues and queue[0] not in log.batched
    ):
        if facts.is_deleted(topic):
            seen.note(f"topic {topic} was deleted: its messages are in no queue")
            continue
        lost, _ = next(log.records.of_queue((topic, number)))
        place = Place(f"consumequeue/{topic}/{number}", None, "queue", "no files", "a unit", lost)
        clause = "CQ-LMQ-1" if log.records.is_further((topic, number)) else "CQ-FILE-3"
        seen.breaks("LOG-DSP-7" if lost.transaction else clause, place)


def folders(path: Path) -> list[Path]:
    """The folders in one, by name; links are left out."""
    if not path.is_dir():
        return []
    return sorted(child for child in path.iterdir() if child.is_dir() and not child.is_symlink())


def _numbered(topic: Path) -> Iterator[tuple[int, Path]]:
    for folder in folders(topic):
        try:
            yield java.parse_int(folder.name), folder
        except JavaError:
            continue


# --- one queue --------------------------------------------------------------------------------------------


@dataclass
class _Queue:
    """One queue while its units are compared, in their order, with the records that the log has for it."""

    folder: Path
    wanted: _Expected
    log: StoredLog
    seen: Observations
    undisturbed_from: int | None
    begun: bool = False
    """Whether there was a unit other than pre-blank ones."""
    late: bool = False
    """Whether the first unit is at the start of a file that is not the first one: files before it are gone."""

    def judge(self, sizes: dict[int, str]) -> None:
        units = _units(self.log.store, self.folder, self.seen, sizes)
        before = -1
        last: _Stored | None = None
        for stored in units:
            self.late = self.late or (last is None and stored.logical > 0 and not stored.unit.pre_blank)
            last = stored
            if stored.unit.pre_blank:
                self._judge_blank(stored, before)
                continue
            offset = stored.unit.phy_offset
            if self._ends_at(offset, before):
                break
            if offset <= before:
                expected = f"more than {before:,}, that of the unit before"
                self.seen.breaks("CQ-PUT-1", stored.place("phy_offset", offset, expected))
                continue
            before = offset
            if offset >= self.log.begin:
                self._compare(stored)
            self.begun = True
        for _ in units:  # the files after the end are judged, too
            pass
        self._judge_end(last)
        _judge_ext_files(self.log.store, self._ext_folder(), self.seen)

    def _judge_blank(self, stored: _Stored, before: int) -> None:
        """Judges a pre-blank unit: it is before every other unit of the first file (CQ-UNIT-2)."""
        if before < 0 and not self.late:
            self.seen.hold("CQ-UNIT-2", "CQ-PUT-6")
            return
        found, expected = "a pre-blank unit", "pre-blank units at the beginning of the queue only"
        self.seen.breaks("CQ-UNIT-2", stored.place("unit", found, expected))
        if self.wanted.next is not None and self.wanted.next[1] == stored.logical:
            self.wanted.take(self.wanted.next[0])  # it is in the place of that record's unit

    def _ext_folder(self) -> Path:
        return self.log.store / "consumequeue_ext" / self.folder.parent.name / self.folder.name

    def _ends_at(self, offset: int, before: int) -> bool:
        """Whether the queue's own units end before this one: a recovery or truncation left it there."""
        if offset >= self.log.end:
            if self.log.whole:
                self.seen.note("units of records after the log's end, which a recovery cut off")
            return True
        if offset <= before and not self.log.stopped:
            self.seen.note("units after the end of a queue, left by a truncation")
            return True
        return False

    def _compare(self, stored: _Stored) -> None:
        """Compares one unit with the record that it points to, and with the record that is next in the log."""
        offset, wanted = stored.unit.phy_offset, self.wanted
        expected = None if wanted.next is None else wanted.next[0]
        record = expected if expected is not None and expected.position == offset else self.log.at(offset)
        if record is None:
            if self.log.whole:
                self.seen.breaks("CQ-UNIT-1", stored.place("phy_offset", offset, "the offset of a record"))
            return
        if not wanted.has(record):
            clause = "CQ-FILE-3" if record.queue else "LOG-DSP-7"
            self.seen.breaks(clause, stored.place("phy_offset", offset, "a record of this queue", record))
            return
        if expected is not None and expected.position < offset and not self._may_lack_first():
            place = stored.place("phy_offset", offset, expected.position, expected)
            self.seen.breaks(_clause_of_missing(expected), place)
        asked = wanted.take(record)
        if wanted.missing is not None:
            place = stored.place("phy_offset", offset, wanted.missing.position, wanted.missing)
            self.seen.breaks("CQ-LMQ-1", place)
        wanted.end = stored.logical + 1
        self._judge_unit(stored, record, asked)

    def _may_lack_first(self) -> bool:
        """Whether units may be missing: light queues lose some to restarts (CQ-LMQ-4).

        A queue that was deleted while its records were still in the log begins again with pre-blank units (CQ-PUT-6).
        """
        begins = self.wanted.first and self.wanted.next is not None and self.wanted.next[1] == 0
        return self.wanted.light or (not self.begun and begins and not self.late)

    def _judge_end(self, last: _Stored | None) -> None:
        if self.wanted.next is None or not self.log.whole:
            return
        lost: StoredRecord | None = self.wanted.next[0]
        if self.wanted.light:
            lost = self.wanted.skip(self.log.end)
        if lost is None:
            return
        if not self.log.stopped:
            self.seen.note("messages at the log's end that have no unit yet")
            return
        name = last.file if last else f"consumequeue/{self.folder.parent.name}/{self.folder.name}"
        place = Place(name, None, "unit", "none", f"one for {lost.position:,}", lost)
        self.seen.breaks("CQ-LMQ-1" if self.wanted.light else _clause_of_missing(lost), place)

    def _judge_unit(self, stored: _Stored, record: StoredRecord, asked: int) -> None:
        request, unit, seen = record.request, stored.unit, self.seen
        seen.hold("CQ-FILE-3", "LOG-DSP-1", "LOG-DSP-7", "LOG-DSP-8", "CQ-PUT-7")
        if record.position in self.log.after_blanks:
            seen.hold("LOG-BLANK-2")
        seen.compare("CQ-UNIT-1", stored.place("size", unit.size, request.msg_size, record))
        self._judge_place(stored, record, asked)
        if self.wanted.light:
            seen.hold("CQ-LMQ-1", "CQ-LMQ-2")
            seen.compare("CQ-LMQ-3", stored.place("tags_code", unit.tags_code, request.tags_code, record))
        elif is_ext_address(unit.tags_code):
            self._judge_ext(stored, record)
        else:
            self._judge_tags(stored.place("tags_code", unit.tags_code, request.tags_code, record), record)

    def _judge_place(self, stored: _Stored, record: StoredRecord, asked: int) -> None:
        """Judges the logical offset of a unit by the one that its message asks for."""
        if stored.logical == asked:
            self.seen.hold("CQ-FILE-4")
        elif self.wanted.light and (asked == 0 or stored.logical < asked):
            self.seen.hold("CQ-LMQ-4")
        elif stored.logical < asked:
            self.seen.hold("CQ-PUT-3")
            self.seen.note("a unit before the place that its message asks for: a gap was closed (CQ-PUT-3)")
        elif asked == 0:
            self.seen.hold("CQ-PUT-4")
        else:
            clause = "CQ-LMQ-1" if self.wanted.light else "CQ-FILE-4"
            self.seen.breaks(clause, stored.place("logical offset", stored.logical, asked, record))

    def _judge_tags(self, place: Place, record: StoredRecord) -> None:
        """A tags code, which is the tag's hash instead of the delivery time where a recovery dispatched (STORE-15)."""
        hashed = tags_code((record.request.properties or {}).get("TAGS"))
        delayed = record.request.tags_code != hashed
        recovered = self.undisturbed_from is None or record.position < self.undisturbed_from
        if delayed and recovered and place.found == hashed:
            self.seen.hold("STORE-15")
            self.seen.note("a delayed message that a recovery dispatched has its tag's hash (STORE-15)")
            return
        clause = "CQ-TAGS-2" if record.request.topic == _SCHEDULE and delayed else "CQ-TAGS-1"
        if place.found == record.request.tags_code & 0xFFFFFFFF != record.request.tags_code:
            clause, place = "CQ-TAGS-1", replace(place, rule="32 bits of the code")
        if self.seen.compare(clause, place):
            self.seen.hold("LOG-DSP-5" if delayed else "LOG-DSP-4")

    def _judge_ext(self, stored: _Stored, record: StoredRecord) -> None:
        """The ext unit that a unit leads to (CQ-EXT-1, CQ-EXT-2)."""
        address, seen, request = stored.unit.tags_code, self.seen, record.request
        offset = offset_of(address)
        for base, path in numbered_files(self._ext_folder()):
            if base <= offset < base + path.stat().st_size:
                break
        else:
            seen.breaks("CQ-EXT-2", stored.place("tags_code", address, "an address in the ext queue", record))
            return
        with path.open("rb") as file:
            file.seek(offset - base)
            data = file.read(1 << 15)

        def place(field: str, at: int, found: object, expected: object) -> Place:
            name = path.relative_to(self.log.store).as_posix()
            return Place(name, offset - base + at, field, found, expected, record)

        try:
            unit = ext_unit(data)
        except FormatError:
            unit = None
        if unit is None:
            seen.breaks("CQ-EXT-1", place("ext unit", 0, "none", "a whole one"))
            return
        seen.hold("CQ-TAGS-3", "CQ-EXT-2", "CQ-EXT-4")
        seen.compare("CQ-EXT-1", place("size", 0, unit.size, 20 + len(unit.bit_map)))
        time = request.store_timestamp
        seen.compare("CQ-EXT-1", place("store_timestamp", 10, unit.store_timestamp, time))
        self._judge_tags(place("tags_code", 2, unit.tags_code, request.tags_code), record)


def _clause_of_missing(lost: StoredRecord) -> str:
    return "LOG-DSP-7" if lost.transaction else "CQ-PUT-5"


def _judge_ext_files(store: Path, folder: Path, seen: Observations) -> None:
    """Judges the end of every file but the last: an end mark, where the next file's first unit did not fit (CQ-EXT-3)."""
    for (_, path), (_, following) in pairwise(numbered_files(folder)):
        with path.open("rb") as opened, following.open("rb") as after:
            length, descriptor = os.fstat(opened.fileno()).st_size, opened.fileno()
            position = 0
            while (size := _size(descriptor, position)) > 0 and position + size <= length:
                position += size
            needed = _size(after.fileno(), 0)
        name = path.relative_to(store).as_posix()
        seen.compare("CQ-EXT-3", Place(name, position, "end mark", size, EXT_END_MARK))
        if 0 < needed <= length - position - _EXT_FREE:
            place = Place(
                name, position, "end mark", f"{length - position} bytes left", f"a unit of {needed}"
            )
            seen.breaks("CQ-EXT-3", place)


def _size(descriptor: int, position: int) -> int:
    return int.from_bytes(os.pread(descriptor, 2, position), signed=True)


def units_of(folder: Path) -> Iterator[tuple[int, QueueUnit]]:
    """The units of a queue's files with their logical offsets, those of each file up to the first unused one."""
    for base, path in numbered_files(folder):
        yield from _used_units(path, base)


def _used_units(path: Path, base: int) -> Iterator[tuple[int, QueueUnit]]:
    """The units of a file, read as far as they are used."""
    with path.open("rb") as file:
        for number in itertools.count():
            data = os.pread(file.fileno(), _AT_ONCE, number * _AT_ONCE)
            count = 0
            for logical, unit in queue_units(data[: len(data) // _UNIT * _UNIT], base + number * _AT_ONCE):
                count += 1
                yield logical, unit
            if count * _UNIT < _AT_ONCE:
                return


def _units(store: Path, folder: Path, seen: Observations, sizes: dict[int, str]) -> Iterator[_Stored]:
    """The units of a queue in their order, up to the first that is not valid (CQ-UNIT-3)."""
    adjoining: int | None = None
    files = numbered_files(folder)
    for number, (base, path) in enumerate(files):
        name = path.relative_to(store).as_posix()
        size = path.stat().st_size
        sizes.setdefault(size, name)
        seen.compare("CQ-FILE-2", Place(name, None, "name", path.name, file_name(base)))
        seen.compare("CQ-FILE-1", Place(name, None, "length modulo 20", size % _UNIT, 0))
        if adjoining is not None:
            seen.compare("CQ-FILE-2", Place(name, None, "base offset", base, adjoining))
            seen.hold("CQ-PUT-5")
        adjoining = base + size
        count = 0
        for logical, unit in _used_units(path, base):
            position = logical * _UNIT - base
            count += 1
            yield _Stored(name, position, logical, unit)
        if count * _UNIT < size // _UNIT * _UNIT:
            if number < len(files) - 1:
                place = Place(
                    name, count * _UNIT, "unit", "an unused unit", "units up to the end of the file"
                )
                seen.breaks("CQ-UNIT-3", place)
            else:
                seen.hold("CQ-UNIT-3")
