"""The frames of one log file: whether a record verifies at a position, and where the next one does.

Files of DLedger mode are read in the same way: before each record is the header of an entry (DLG-2), which a walk
skips, and a different blank ends a full file (DLG-5).
"""

import re
import struct
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from mmap import mmap
from typing import ClassVar, Final, NamedTuple, Self

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
from rocket_columnar.fast import SLACK
from rocket_columnar.formats import (
    HEAD_SIZE,
    Bad,
    FixedFields,
    Record,
    body_end,
    check_frame_head,
    clean_utf8,
    is_blank,
    parse_properties,
    parse_record,
    topic_length_size,
)
from rocket_columnar.store import Reader, StoreFile, file_at

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

_WINDOW: Final = 4 << 20
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
        self, reader: Reader, base_offset: int, *, bodies: bool = True, window: int = _WINDOW
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


def misplaced(reader: Reader, base_offset: int, at: int) -> tuple[int, int]:
    """Length of a record that verifies but for its own offset, and by how much that is off; zeros if there is none."""
    if at + RECORD_FIXED_V4 > reader.size:
        return 0, 0
    head = reader.read(at, RECORD_FIXED_V4).tobytes()
    recorded = int.from_bytes(head[28:36], signed=True)
    if int.from_bytes(head[4:8], signed=True) not in RECORD_MAGICS or recorded == base_offset + at:
        return 0, 0
    walk = Walk(reader, recorded - at, window=NARROW)  # as if it were at the offset that it gives
    record = walk.record(at)
    return (record.fixed.total_size, recorded - base_offset - at) if isinstance(record, Record) else (0, 0)


# Finds the end of the log, reading only little before it.


_BACK: Final = 1 << 18


class Tail(NamedTuple):
    """The files of a log and its end."""

    files: tuple[StoreFile, ...]  # those that exist
    sizes: tuple[int, ...]
    # number of bytes of each file up to the end of its data, without holes at its end
    filled: tuple[int, ...]
    end: int  # physical offset after the last record; where the log begins without one
    newest: int | None  # store timestamp of the newest record near the end, ms; None without one


def log_tail(files: Sequence[StoreFile]) -> Tail:
    """Finds the end of a log; a file that no longer exists is skipped. An OSError if one cannot be read."""
    there, sizes, filled = [], [], []
    for file in files:
        try:
            with file.open() as reader:
                there.append(file)
                sizes.append(reader.size)
                filled.append(reader.data_end())
        except FileNotFoundError:  # expired meanwhile
            continue
    for file in reversed(there):
        found = _end(file)
        if found is not None:
            return Tail(tuple(there), tuple(sizes), tuple(filled), *found)
    begin = there[0].base_offset if there else 0
    return Tail(tuple(there), tuple(sizes), tuple(filled), begin, None)


def zeros_after(files: Sequence[StoreFile], end: int) -> bool:
    """Whether log files hold nothing but zeros from a physical offset on; an OSError if one cannot be read."""
    for file in files:
        with file.open() as reader:
            if reader.first_nonzero(max(end - file.base_offset, 0), reader.size) is not None:
                return False
    return True


def _end(file: StoreFile) -> tuple[int, int] | None:
    """Physical offset after the last record of a file and the newest store timestamp near it, or None."""
    with file.open() as reader:
        last = reader.last_nonzero(0, reader.size)
        if last is None:
            return None
        walk = Walk(reader, file.base_offset, bodies=False, window=NARROW)
        back = _BACK
        while True:
            position = walk.next_frame(max(last - back, 0)) if back < last else 0
            end, newest = 0, 0
            while position <= last:
                record = walk.record(position)
                if isinstance(record, Record):
                    position += record.fixed.total_size
                    end, newest = position, max(newest, record.fixed.store_timestamp)
                elif walk.is_blank(position):
                    break
                else:
                    position = walk.next_frame(position + 1)
            if end:
                return file.base_offset + end, newest
            if back >= last:
                return None
            back *= 8


# Records of the log by physical offset, one here and one there.


class VerifiedRecord(NamedTuple):
    """A record that verifies, without its body: its fixed fields, its topic, and the pairs of its properties."""

    fixed: FixedFields
    topic: str
    pairs: dict[bytes, bytes]


class StoredRecords:
    """The records of some log files, in the order of their offsets; use it in a `with` block.

    The file of the last record stays open: of ascending offsets the next record is often in what was read.
    """

    def __init__(self, files: Sequence[StoreFile]) -> None:
        self._files = files
        self._stack = ExitStack()
        self._file: StoreFile | None = None
        self._walk: Walk | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def at(self, phy_offset: int, *, shifted: bool = False) -> VerifiedRecord | None:
        """The record that begins at a physical offset; None if none verifies there. An OSError if its file cannot be read.

        With `shifted` also one that verifies but for its own offset.
        """
        file = file_at(self._files, phy_offset)
        if file is None:
            return None
        if self._walk is None or file is not self._file:
            self._stack.close()
            reader = self._stack.enter_context(file.open())
            self._file, self._walk = file, Walk(reader, file.base_offset, bodies=False, window=NARROW)
        walk, position = self._walk, phy_offset - file.base_offset
        record = walk.record(position)
        if shifted and not isinstance(record, Record):
            _, shift = misplaced(walk.reader, file.base_offset, position)
            walk = Walk(walk.reader, file.base_offset + shift, bodies=False, window=NARROW)
            record = walk.record(position)
        window = walk.window
        if not isinstance(record, Record):
            return None
        topic = window[record.topic :][: record.topic_length].tobytes()
        pairs = parse_properties(window[record.properties :][: record.properties_length].tobytes())
        return VerifiedRecord(record.fixed, clean_utf8(topic).decode(), pairs)
