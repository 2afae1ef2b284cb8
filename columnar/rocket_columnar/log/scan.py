"""The one scan of a commit-log file: its records, batch by batch, and the gaps between them.

Everything that reads records goes through it: decode, dispatch, rebuild and audit. Where no record verifies, the walk says why,
and where the next one does. Files of DLedger mode are read in the same way: before each record is the header of an entry
(DLG-2), which a walk skips, and a different blank ends a full file (DLG-5).
"""

from __future__ import annotations

import re
import struct
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from mmap import mmap
from typing import ClassVar, Final
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from rocket_spec.layout import (
    BLANK,
    BLANK_MAGIC,
    ENTRY,
    ENTRY_BLANK_MAGIC,
    ENTRY_MAGIC,
    RECORD_FIXED_V4,
    RECORD_MAGICS,
)

from rocket_columnar import store
from rocket_columnar.fast import ROW, SLACK, LogRange, PlainLog
from rocket_columnar.formats import (
    DELAYS,
    HEAD_SIZE,
    SCHEDULE_TOPIC,
    Bad,
    Record,
    body_end,
    check_frame_head,
    clean_utf8,
    is_blank,
    parse_record,
    tags_code,
    topic_length_size,
)
from rocket_columnar.store import Reader

# The gaps of a log: bytes between the records that verify.


@dataclass(frozen=True, slots=True)
class Gap:
    """A range of the commit log that was skipped.

    Attributes:
        file: path of the file, beginning with the path that the user gave.
        begin: physical offset of the first byte, in bytes of the log.
        end: physical offset after the last byte.
        found: what is at `begin`.
        expected: what the format requires there.
    """

    file: str
    begin: int
    end: int
    found: str
    expected: str

    def __str__(self) -> str:
        return (
            f"{self.file}: gap from {self.begin:,} to {self.end:,} ({self.end - self.begin:,} bytes): "
            f"found {self.found}, expected {self.expected}"
        )


LARGE: Final = 1 << 18  # bytes of a record from which on its body is not read unless it is asked for

NARROW: Final = 1 << 16  # window of a walk that checks a record here and there

_NEARBY: Final = 64 << 20
_PAGE: Final = 4 << 10
_LONGEST_TOPICS: Final = {1: 0x7F, 2: 0x7FFF}  # by the bytes of their length
_HUGE: Final = 64 << 20
_BEFORE: Final = 7  # bytes of a frame that may be before the last byte of its magic, and be zeros of a hole
_BLANK: Final = BLANK.size

_WAITS: Final = 80
"""Maximum number of log ends that are checked again per minute, with at most 10 s of pauses."""

_MINUTE: Final = 60.0
_PAIR: Final = struct.Struct(">ii")
_ENTRY: Final = struct.Struct(ENTRY.struct_format)

_MAGICS: Final = tuple(
    (struct.pack(">i", magic), place)
    for magic, place in ((ENTRY_BLANK_MAGIC, 0), (BLANK_MAGIC, 4), *((magic, 4) for magic in RECORD_MAGICS))
)
"""Magics, each with its position in its frame."""

_ENTRY_BLANK: Final = _MAGICS[0][0]

_ENTRY_BLANKS: Final = re.compile(_ENTRY_BLANK + rb"(?=[\x00-\x7f])")
"""The magic of a DLedger blank and a length that is not negative: erased storage is full of its bytes."""


_NOTHING: Final = np.empty(0, np.uint8)


class _Patience:
    """Limits the pauses before checking a log's end again: many damaged files take no more time than a few."""

    def __init__(self) -> None:
        self._begin = -_MINUTE
        self._left = 0

    def is_left(self) -> bool:
        """Whether there may be one more pause; counts it."""
        now = time.monotonic()
        if now - self._begin >= _MINUTE:
            self._begin, self._left = now, _WAITS
        self._left -= 1
        return self._left >= 0


class Walk:
    """A window that moves over one file, and the frames in it.

    The window is the bytes of the file from `begin` to `end`, and `SLACK` more; each move makes another one, of `window` bytes at most
    once the first, smaller ones are read. Without `bodies` those of large records are not read.
    """

    patience: ClassVar = _Patience()
    searchable: ClassVar = bytes  # the type in which a window is searched

    def __init__(
        self, reader: Reader, base_offset: int, *, bodies: bool = True, window: int = NARROW
    ) -> None:
        self.reader = reader
        self.base_offset = base_offset
        self.window = _NOTHING
        self.begin = self.end = 0
        self._view = _NOTHING.data
        self._bodies = bodies
        self._framed = self._thin = False
        self._hits: dict[bytes, int] = {}
        self._searched = b""
        self._most, self._next = window, min(window, NARROW)

    def load(self, position: int, length: int, stop: int | None = None) -> int:
        """Loads `length` bytes from `position` into the window, and more, but not far after `stop`; their place in it."""
        if self._thin or position < self.begin or position + length > self.end:
            size = max(length, self._next)
            if stop is not None and stop - position <= self._next:
                size = max(length, stop - position + _PAGE)
            size = min(size, self.reader.size - position)
            self._next = min(2 * self._next, self._most)
            window = np.empty(size + SLACK, np.uint8)
            self.reader.read_into(position, window[:size])
            self._set(window, position, size)
        return position - self.begin

    def _set(self, window: NDArray[np.uint8], begin: int, size: int, *, thin: bool = False) -> None:
        self.window, self._view, self._thin = window, window.data, thin
        self.begin, self.end = begin, begin + size
        self._hits, self._searched = {}, b""

    def is_blank(self, position: int) -> bool:
        """Whether a blank that fills the file to its end begins here (LOG-BLANK-1, DLG-5)."""
        if position + _BLANK > self.reader.size:
            return False
        at = self.load(position, _BLANK)
        return is_blank(self._view, at, self.reader.size - position)

    def has_blank_magic(self, position: int) -> bool:
        """Whether a plain blank begins here, whatever length it states: readers go on with the next file (LOG-BLANK-2)."""
        if position + _BLANK > self.reader.size:
            return False
        at = self.load(position, _BLANK) + _BLANK // 2
        return int.from_bytes(self._view[at : at + _BLANK // 2], signed=True) == BLANK_MAGIC

    def entry_header(self, position: int) -> int:
        """Bytes of the header of a DLedger entry here (DLG-2), 0 unless a record that verifies follows it."""
        if position + ENTRY.size + RECORD_FIXED_V4 > self.reader.size:
            return 0
        at = self.load(position, ENTRY.size)
        magic, size, _, _, pos, _, _, _, body_size = _ENTRY.unpack_from(self._view, at)
        if magic != ENTRY_MAGIC or pos != self.base_offset + position or size != ENTRY.size + body_size:
            return 0
        record = self.record(position + ENTRY.size)
        if isinstance(record, Record) and record.fixed.total_size == body_size:
            self._framed = True
            return ENTRY.size
        return 0

    def why_none(self, position: int, bad: Bad) -> Bad:
        """The reason that nothing begins here: `bad`, or in a file with entry headers the fault of the header or its record."""
        if not self._framed or position + ENTRY.size + RECORD_FIXED_V4 > self.reader.size:
            return bad
        at = self.load(position, ENTRY.size)
        magic, size, _, _, pos, _, _, _, body_size = _ENTRY.unpack_from(self._view, at)
        place = self.base_offset + position
        if magic != ENTRY_MAGIC:
            return Bad(f"an entry header of magic {magic & 0xFFFFFFFF:08x}", f"{ENTRY_MAGIC:08x}, or a blank")
        if pos != place:
            return Bad(f"an entry header of position {pos:,}", f"{place:,}, where it is")
        if size != ENTRY.size + body_size:
            return Bad(f"an entry of {size:,} bytes", f"{ENTRY.size} more than its body's {body_size:,}")
        record = self.record(position + ENTRY.size)
        length = record.fixed.total_size if isinstance(record, Record) else body_size
        return (
            record
            if isinstance(record, Bad)
            else Bad(f"a body of {body_size:,} bytes", f"a record of {length:,}")
        )

    def begins(self, position: int) -> bool:
        """Whether a record, the header before one, or a blank that ends the file begins here."""
        return (
            isinstance(self.record(position), Record)
            or self.is_blank(position)
            or bool(self.entry_header(position))
        )

    def record(self, position: int) -> Record | Bad:
        """The record at `position`, whose bytes are then in the window, or why there is none."""
        room = self.reader.size - position
        if room < RECORD_FIXED_V4:
            return Bad(f"{room} bytes", f"a record of at least {RECORD_FIXED_V4}, or a blank")
        at = self.load(position, RECORD_FIXED_V4)
        bad = check_frame_head(self._view, at, room, self.base_offset + position)
        if bad is not None:
            return bad
        total_size, _ = _PAIR.unpack_from(self._view, at)
        if position + total_size > self.end:
            bad = self._inner_lengths(position, total_size)
            if bad is not None:
                return bad
            if total_size >= LARGE and not self._bodies:
                self._load_thin(position, total_size)
                return parse_record(self._view, 0)
        at = self.load(position, total_size)
        return parse_record(self._view, at)

    def _inner_lengths(self, position: int, total_size: int) -> Bad | None:
        """The fault in the lengths inside a record; checked first, so that nothing is read because of a wrong total size."""
        if total_size > _HUGE and total_size > self.reader.allocated:
            return Bad(
                f"a record of {total_size:,} bytes", f"the {self.reader.allocated:,} that are not a hole"
            )
        bad = Bad("lengths of body, topic and properties that do not add up", f"{total_size:,} bytes in all")
        head = self.reader.read(position, min(HEAD_SIZE, self.reader.size - position)).tobytes()
        end = body_end(head.ljust(HEAD_SIZE, b"\0"))
        size = topic_length_size(int.from_bytes(head[4:8], signed=True))
        inner = (
            size + _LONGEST_TOPICS[size] + 2
        )  # bytes that hold the lengths of topic and properties, at most
        if not size + 2 <= total_size - end <= inner + 0x7FFF:
            return bad
        lengths = self.reader.read(position + end, min(inner, total_size - end)).tobytes()
        topic = int.from_bytes(lengths[:size], signed=True)
        properties = size + topic + 2
        length = max(int.from_bytes(lengths[properties - 2 : properties], signed=True), 0)
        return None if topic >= 0 and end + properties + length == total_size else bad

    def _load_thin(self, position: int, total_size: int) -> None:
        """Loads a record without its body into the window."""
        head = self.reader.read(position, HEAD_SIZE)
        end = body_end(head.tobytes())
        window = np.frombuffer(
            mmap(-1, total_size + SLACK), np.uint8
        )  # pages that nobody writes to take no memory
        window[:HEAD_SIZE] = head
        self.reader.read_into(position + end, window[end:total_size])
        self._set(window, position, total_size, thin=True)
        self._next = _PAGE  # after a large body another one may begin, of which little is wanted

    def is_written(self, position: int, *, last: bool) -> bool:
        """Whether a frame verifies here now: a broker may have written it since the window was read.

        If it is the `last` frame, a broker may be writing it: the check is repeated after some pauses.
        """
        for pause in (0.0, *store.PAUSES) if last and self.patience.is_left() else (0.0,):
            time.sleep(pause)
            walk = Walk(self.reader, self.base_offset, bodies=False, window=_PAGE)
            if walk.begins(position):
                self._set(_NOTHING, 0, 0)
                return True
        return False

    def frame_before(self, position: int) -> int:
        """A position before `position` from which records follow one another up to it; 0 if none is found nearby.

        A record that is not followed by another one may be bytes of a body that look like one.
        """
        nearby = NARROW
        while nearby < min(position, _NEARBY):
            first = at = self.next_frame(position - nearby, position)
            count = 0
            while at < position:
                at += self.entry_header(at)
                if not isinstance(record := self.record(at), Record):
                    break
                at += record.fixed.total_size
                count += 1
            if count and at < position:
                return 0
            if count > 1 or (count and self.begins(at)):
                return first
            nearby *= 4
        return 0

    def next_frame(self, position: int, stop: int | None = None) -> int:
        """The next place from `position` on at which a record verifies or a blank ends the file, else its size.

        Holes are skipped. Records at or after `stop` are ignored.
        """
        size = self.reader.size
        limit = size if stop is None else stop
        # Asking the system for data and holes takes long: only for what is far.
        near = min(position + NARROW, limit)
        found, position = self._frame_in(position, near)
        if found or position >= limit:
            return position if found else size
        for begin, end in self.reader.extents(position):
            found, position = self._frame_in(max(position, begin - _BEFORE), min(end, limit))
            if found:
                return position
        return size

    def _frame_in(self, position: int, end: int) -> tuple[bool, int]:
        """Searches for a record or such a blank between two positions; its position, or where the search ended."""
        while position + _BLANK <= self.reader.size and position < end:
            at = self.load(position, _BLANK, end)
            hits = [hit - place for magic, place in _MAGICS if (hit := self._find(magic, at + place)) >= 0]
            if not hits:
                # A magic may be across the window's end.
                position = max(position + 1, self.end - _BEFORE)
                continue
            candidate = self.begin + min(hits)
            if self.is_blank(candidate):
                return True, candidate
            if isinstance(self.record(candidate), Record):
                before = candidate - ENTRY.size
                return True, before if before >= position and self.entry_header(before) else candidate
            position = candidate + 1
        return False, position

    def _find(self, magic: bytes, at: int) -> int:
        """Position of the next magic in the window, or -1; no byte of a window is searched twice."""
        if not self._searched:
            self._searched = self.searchable(self._view[: self.end - self.begin])
        hit = self._hits.get(magic, 0)
        if 0 <= hit < at:
            if magic == _ENTRY_BLANK:
                found = _ENTRY_BLANKS.search(self._searched, at)
                hit = -1 if found is None else found.start()
            else:
                hit = self._searched.find(magic, at)
            self._hits[magic] = hit
        return hit


# The records of a file, batch by batch.


ROWS: Final = 1 << 13
WINDOW: Final = 1 << 20


@dataclass(slots=True)
class Records:
    """Records of one batch, in the order of the log: rows of dtype `ROW`, and a window of the bytes that contain them, and `SLACK` more."""

    window: NDArray[np.uint8]
    rows: NDArray[np.void]
    form: PlainLog

    def find_values(self, *, one_separator: bool = False) -> None:
        """Completes the rows with what their properties contain, as Java reads it; with `one_separator` as before 4.9.1."""
        self._clean()
        if one_separator:
            PlainLog(one_separator=True).find_values(self.window, self.rows)

    def _clean(self) -> None:
        self.form.find_values(self.window, self.rows)
        bad = np.flatnonzero(~self.rows["readable"])
        if not bad.size:
            return
        held = self.window.size - SLACK
        cleaned = bytearray()
        for number in bad.tolist():
            row = self.rows[number]
            at = int(row["properties_at"])
            text = clean_utf8(self.window[at : at + int(row["properties_length"])].tobytes())
            row["properties_at"], row["properties_length"] = held + len(cleaned), len(text)
            cleaned += text
        extra = np.frombuffer(bytes(cleaned) + bytes(SLACK), np.uint8)
        self.window = np.concatenate([self.window[:held], extra])
        rows = self.rows[bad]
        self.form.find_values(self.window, rows)
        self.rows[bad] = rows

    def places(self, name: str) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]:
        """The window, and where a part of each record begins in it, and its length."""
        return self.window, self.rows[f"{name}_at"], self.rows[f"{name}_length"]


class Scan:
    """A walk over the records of one file that begin in a range of it.

    Without `bodies` those of large records are not read; a batch has at most `rows` records. `goes_on` is whether a later file of the log
    contains records, so that zeros at the end of this one are a gap; without it they are still to be written.
    """

    def __init__(
        self,
        reader: Reader,
        base_offset: int,
        form: PlainLog,
        *,
        bodies: bool = False,
        rows: int = ROWS,
        goes_on: Callable[[], bool] | None = None,
    ) -> None:
        # that finds what the form does not
        self.walk = Walk(reader, base_offset, bodies=bodies, window=WINDOW)
        # file offset of the first record found; without one, that of the next known record, or the file size
        self.first = 0
        self.next = 0  # file offset of the first record after the range, or the file size
        self._reader = reader
        self._base = base_offset
        self._form = form
        self._most = rows
        self._goes_on = goes_on

    def run(self, begin: int, end: int, *, exact: bool, on_gap: Callable[[Gap], None]) -> Iterator[Records]:
        """The batches of the records that begin in the bytes [begin, end) of the file, without what their properties contain.

        `exact` is whether a record is known to begin at `begin`; otherwise the walk begins at the next one in the range that verifies, and what is
        before it belongs to the range before. `on_gap` is called with each gap, whole even if it goes on beyond `end`; zeros to the file's end are
        still to be written.
        """
        walk, end = self.walk, min(end, self._reader.size)
        position = begin if exact else walk.next_frame(begin, end)
        self.first = position
        window, rows, count = walk.window, np.empty(0, ROW), 0
        while position < end:
            record = walk.record(position)
            if count and (walk.window is not window or count == len(rows)):
                yield Records(window, rows[:count], self._form)
                count = 0
            if isinstance(record, Record):
                if not count:
                    window, rows = walk.window, np.empty(self._room(position, end), ROW)
                found, position = self._found(position, end, rows[count:])
                count += found
                continue
            header = walk.entry_header(position)
            if header:
                position += header
                continue
            gap, position = self._passed(position, record)
            if gap is not None:
                on_gap(gap)
        self.next = position
        if count:
            yield Records(window, rows[:count], self._form)

    def _room(self, position: int, end: int) -> int:
        """Maximum number of records in the window from `position` on."""
        return max(min(self._most, (min(end, self.walk.end) - position) // RECORD_FIXED_V4 + 1), 1)

    def _found(self, position: int, end: int, rows: NDArray[np.void]) -> tuple[int, int]:
        """Fills rows with the records from `position`, which is in the window; returns their number and the next position."""
        walk, size = self.walk, self._reader.size
        at = position - walk.begin
        range_ = LogRange(at, end - walk.begin, walk.end - walk.begin, size - position, self._base + position)
        count, after = self._form.find_records(walk.window, range_, rows)
        return count, walk.begin + after

    def gap_at(self, position: int) -> Gap | None:
        """The gap that begins here; None for a record, or the log's end."""
        record = self.walk.record(position)
        if isinstance(record, Record) or self.walk.entry_header(position):
            return None
        return self._passed(position, record)[0]

    def _passed(self, position: int, bad: Bad) -> tuple[Gap | None, int]:
        """The gap that begins here, and where it goes on; None if the records end, or are written by now."""
        walk, size = self.walk, self._reader.size
        if walk.is_blank(position):
            return None, size
        if self._reader.first_nonzero(position, size) is None:
            if self._goes_on is None or not self._goes_on():
                return None, size
            bad = Bad("zeros to the file's end", "a record or a blank, since a later file holds records")
        after = walk.next_frame(position + 1)
        if after >= size and walk.has_blank_magic(position):
            return None, size
        if walk.is_written(position, last=after >= size):
            return None, position
        bad = walk.why_none(position, bad)
        return Gap(
            self._reader.name, self._base + position, self._base + after, bad.found, bad.expected
        ), after


# Values that decode and dispatch both derive from a scan's records: topics, tags codes, and checks of the bodies.


class RowTopics:
    """The topics found so far, and the `value` of each one's bytes, which is asked for once."""

    def __init__(self, form: PlainLog, value: Callable[[bytes], int]) -> None:
        self._distinct = form.new_numbers()
        self._value = value
        self._values = np.empty(0, np.int64)
        self.scheduled = np.empty(0, np.bool_)
        """Whether each topic is that of delayed messages."""

    def numbers(self, records: Records) -> NDArray[np.int32]:
        """The number of each record's topic among those met."""
        numbers = self._distinct.numbers(*records.places("topic"))
        new = self._distinct.items[len(self._values) :]
        if new:
            self._values = np.append(self._values, np.array([self._value(raw) for raw in new], np.int64))
            self.scheduled = np.append(self.scheduled, [raw == SCHEDULE_TOPIC for raw in new])
        return numbers

    def values(self, numbers: NDArray[np.int32]) -> NDArray[np.int64]:
        """The value of each topic by its number."""
        return self._values[numbers]


def tags_codes(
    records: Records, scheduled: NDArray[np.bool_], delays: Sequence[int] = DELAYS
) -> tuple[NDArray[np.int64], NDArray[np.bool_] | None]:
    """The units that a healthy dispatch puts into the consume queue (LOG-DSP-1), and a mask of the rows that have a code; None if all do.

    The records have their values; `scheduled` marks those of delayed messages, and `delays` are ms of each delay level.
    """
    form, rows = records.form, records.rows
    codes = form.hash_codes(*records.places("tags")).astype(np.int64)
    window, at, lengths = records.places("delay")
    delayed = np.flatnonzero(scheduled & (lengths > 0))
    if not delayed.size:
        return codes, None
    known = np.ones(len(rows), np.bool_)
    distinct = form.new_numbers()
    numbers = distinct.numbers(window, at[delayed], lengths[delayed])
    for number, text in enumerate(distinct.items):
        places = delayed[numbers == number]
        delay = tags_code(SCHEDULE_TOPIC, {b"DELAY": text}, 0, delays)
        if delay is None:
            known[places], codes[places] = False, 0
        elif delay > 0:
            codes[places] = rows["store_timestamp"][places] + np.int64(delay)
    return codes, known


def bodies_match(records: Records) -> NDArray[np.bool_]:
    """Whether each body has the CRC in its record; true for no body (LOG-REC-4)."""
    view, rows = records.window.data, records.rows
    begins, lengths = rows["body_at"].tolist(), rows["body_length"].tolist()
    good = [
        not length or crc32(view[begin : begin + length]) & 0x7FFFFFFF == expected
        for begin, length, expected in zip(begins, lengths, rows["body_crc"].tolist(), strict=True)
    ]
    return np.array(good, np.bool_)
