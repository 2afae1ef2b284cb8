"""The one scan of a commit-log file: its records, batch by batch, the gaps between them, and the dispatch requests that a healthy broker makes of them.

Everything that reads records goes through it: decode, dispatch, rebuild and audit. Where no record verifies, the walk in
`frame_walk` says why, and where the next one does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from threading import Lock
from typing import Any, Final, NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from rocket_spec.layout import RECORD_FIXED_V4
from rocket_spec.profiles import profile

from rocket_columnar.fast import ROW, SLACK, LogRange, PlainLog, log_form
from rocket_columnar.formats import (
    DELAYS,
    SCHEDULE_TOPIC,
    Bad,
    Record,
    clean_utf8,
    index_key,
    string_hash,
    tag_key,
    tags_code,
)
from rocket_columnar.log.frame_walk import Gap, Walk
from rocket_columnar.store import Reader, StoreFile

_ROWS: Final = 1 << 13
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
        rows: int = _ROWS,
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


# Dispatch requests of commit-log records, as columns.


# Transaction types: the bits 4 and 8 of sys_flag (LOG-REC-5).
NOT: Final = 0
PREPARED: Final = 4
COMMIT: Final = 8
ROLLBACK: Final = 12


_NAMING: Final = Lock()


@dataclass(slots=True)
class TopicNames:
    """Topics by number, and numbers by topic, shared by all batches of a log and the threads that read it."""

    names: list[str] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)

    def number(self, name: str) -> int:
        """The number of a topic, a new one if it has none."""
        number = self.numbers.get(name)
        if number is not None:
            return number
        with _NAMING:
            if name not in self.numbers:
                self.names.append(name)
                self.numbers[name] = len(self.names) - 1
        return self.numbers[name]


@dataclass(frozen=True, slots=True)
class Requests:
    """Records of one batch, in the order of the log; all arrays but `key_hash` have one length."""

    phy_offset: NDArray[np.int64]  # bytes
    size: NDArray[np.int32]  # bytes
    topic: NDArray[np.int32]  # numbers of the shared `TopicNames`
    queue_id: NDArray[np.int32]
    queue_offset: NDArray[np.int64]
    tags_code: NDArray[np.int64]  # as a healthy dispatch writes it
    # False if the dispatch throws an exception, so that nothing is queued or indexed
    dispatched: NDArray[np.bool_]
    store_timestamp: NDArray[np.int64]  # ms since the epoch
    transaction: NDArray[np.int8]  # NOT, PREPARED, COMMIT or ROLLBACK
    crc_ok: NDArray[np.bool_]  # whether the body matches its checksum; all True if that was not requested
    copied: NDArray[np.bool_]  # whether the record names queues for multi-dispatch
    key_count: NDArray[np.int32]  # number of entries of each record in the index
    key_hash: NDArray[np.int32]  # hashes of these keys, record after record, in the order of their puts

    @property
    def queued(self) -> NDArray[np.bool_]:
        """A mask of the records that go into consume queues (LOG-DSP-7)."""
        queued: NDArray[np.bool_] = (self.transaction == NOT) | (self.transaction == COMMIT)
        return queued & self.dispatched

    def part(self, start: int, stop: int, bounds: NDArray[np.int64]) -> Requests:
        """Records `start` up to `stop`; `bounds` has the number of keys before each record."""
        columns: dict[str, Any] = {name: getattr(self, name)[start:stop] for name in _DTYPES}
        columns["key_hash"] = self.key_hash[int(bounds[start]) : int(bounds[stop])]
        return Requests(**columns)

    @staticmethod
    def dtypes() -> dict[str, type[np.generic]]:
        """The type of each column."""
        return dict(_DTYPES)

    @staticmethod
    def joined(parts: list[Requests]) -> Requests:
        """Batches as one."""
        if len(parts) == 1:
            return parts[0]
        columns: dict[str, Any] = {
            name: np.concatenate([np.empty(0, kind), *(getattr(part, name) for part in parts)])
            for name, kind in _DTYPES.items()
        }
        return Requests(**columns)


_DTYPES: Final[dict[str, type[np.generic]]] = {
    "phy_offset": np.int64,
    "size": np.int32,
    "topic": np.int32,
    "queue_id": np.int32,
    "queue_offset": np.int64,
    "tags_code": np.int64,
    "dispatched": np.bool_,
    "store_timestamp": np.int64,
    "transaction": np.int8,
    "crc_ok": np.bool_,
    "copied": np.bool_,
    "key_count": np.int32,
    "key_hash": np.int32,
}


@lru_cache(maxsize=1 << 16)
def topic_code(topic: str) -> int:
    """`String.hashCode` of what precedes a topic's keys in the index, as an unsigned number."""
    return string_hash(index_key(topic, "")) & 0xFFFFFFFF


@lru_cache(maxsize=1 << 16)
def tag_code(topic: str) -> int:
    """The same of what precedes a topic's tags in the index of 5.4.0 and later."""
    return string_hash(tag_key(topic, "")) & 0xFFFFFFFF


# Values that decode and dispatch both derive from a scan's records: topics, tags codes, and checks of the bodies.


_CRC_NAME: Final = b"__CRC32#\1"
_CRC_SIZE: Final = 20  # bytes: the name, ten digits and a byte 2


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


def property_crc_matches(record: bytes | memoryview) -> bool:
    """Whether the checksum that ends a whole record is that of the bytes before it; true without one (LOG-PROP-8)."""
    name, digits = bytes(record[-_CRC_SIZE:-11]), bytes(record[-11:-1])
    if name != _CRC_NAME or not digits.isdigit():
        return True
    return crc32(record[:-_CRC_SIZE]) & 0x7FFFFFFF == int(digits[::-1])


def properties_match(records: Records) -> NDArray[np.bool_]:
    """Whether each record has the CRC of its own property `__CRC32#`; only before its values are found."""
    view, rows = records.window.data, records.rows
    ends = (rows["properties_at"] + rows["properties_length"]).tolist()
    good = [
        property_crc_matches(view[end - size : end])
        for end, size in zip(ends, rows["size"].tolist(), strict=True)
    ]
    return np.array(good, np.bool_)


# The dispatch requests that a healthy broker makes from a range of one commit-log file.


class KeyRules(NamedTuple):
    """Rules by which a broker reads the properties of a record, by its release and configuration."""

    tag_keys: bool = False  # messages are also indexed under their tags, as since 5.4.0
    one_separator: bool = False  # a property that contains a second separator is dropped, as before 4.9.1
    delays: tuple[int, ...] = DELAYS  # ms of each delay level of the broker

    @staticmethod
    def of(version: str) -> KeyRules:
        """The rules of a release."""
        rules = profile(version).rules
        return KeyRules(rules.get("has_tag_keys", False), rules.get("one_separator", False))


RULES_4_9_3: Final = KeyRules()


class Dispatch:
    """Makes dispatch requests of records, and adds their topics to `names`; with `check_crc` bodies and properties are checked against their sums."""

    def __init__(self, names: TopicNames, form: PlainLog, *, check_crc: bool, keys: KeyRules) -> None:
        self._names = names
        self._rules = keys
        self._check_crc = check_crc
        self._topics = RowTopics(form, lambda raw: names.number(clean_utf8(raw).decode()))

    def requests(self, records: Records) -> Requests:
        """The requests of some records; their rows are changed."""
        sound = np.ones(len(records.rows), np.bool_)
        if self._check_crc:
            sound = bodies_match(records) & properties_match(records)
        records.find_values(one_separator=self._rules.one_separator)
        rows = records.rows
        numbers = self._topics.numbers(records)
        topics = self._topics.values(numbers).astype(np.int32)
        codes, known = tags_codes(records, self._topics.scheduled[numbers], self._rules.delays)
        dispatched = np.ones(len(rows), np.bool_) if known is None else known
        transaction = rows["sys_flag"] & ROLLBACK
        silent = ~dispatched | (transaction == ROLLBACK)
        for name in ("keys", "uniq_key", "tags"):
            rows[f"{name}_length"][silent] = 0
        key_count, key_hash = self._keys(records, topics, topic_code)
        if self._rules.tag_keys:
            rows["uniq_key_at"], rows["uniq_key_length"] = rows["tags_at"], rows["tags_length"]
            rows["keys_length"] = 0
            counts, hashes = self._keys(records, topics, tag_code)
            key_hash = np.insert(key_hash, np.cumsum(key_count)[counts > 0], hashes)
            key_count += counts
        return Requests(
            **{name: rows[name].copy() for name in ("phy_offset", "size", "queue_id", "queue_offset")},
            topic=topics,
            tags_code=codes,
            dispatched=dispatched,
            store_timestamp=rows["store_timestamp"].copy(),
            transaction=transaction.astype(np.int8),
            crc_ok=sound,
            copied=rows["multi_dispatch"].copy(),
            key_count=key_count,
            key_hash=key_hash,
        )

    def _keys(
        self, records: Records, topics: NDArray[np.int32], code_of: Callable[[str], int]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        before = np.array([code_of(name) for name in self._names.names], np.uint32)[topics]
        return records.form.hash_keys(records.window, records.rows, before)


class RequestScan:
    """The requests of the records of one file that begin in a range of it; arguments as of `Scan` and `Dispatch`.

    Only the contents of queues and index files are kept: no bodies, no texts, and only the hashes of keys.
    """

    def __init__(
        self,
        reader: Reader,
        base_offset: int,
        names: TopicNames,
        *,
        check_crc: bool = False,
        rows: int = _ROWS,
        keys: KeyRules = RULES_4_9_3,
    ) -> None:
        form = log_form(reader.allocated)
        self._scan = Scan(reader, base_offset, form, bodies=check_crc, rows=rows)
        self._dispatch = Dispatch(names, form, check_crc=check_crc, keys=keys)

    @property
    def first(self) -> int:
        """See `Scan`."""
        return self._scan.first

    @property
    def next(self) -> int:
        """See `Scan`."""
        return self._scan.next

    def run(self, begin: int, end: int, *, exact: bool, on_gap: Callable[[Gap], None]) -> Iterator[Requests]:
        """The batches of the records that begin in [begin, end); arguments as of `Scan.run`."""
        for records in self._scan.run(begin, end, exact=exact, on_gap=on_gap):
            yield self._dispatch.requests(records)


def read_requests(
    file: StoreFile, names: TopicNames, on_gap: Callable[[Gap], None], *, keys: KeyRules = RULES_4_9_3
) -> Iterator[Requests]:
    """The requests of one commit-log file, by the rules of the release; `on_gap` is called with each range in which no record verifies."""
    with file.open() as reader:
        if not reader.size:
            on_gap(Gap(reader.name, file.base_offset, file.base_offset, "an empty file", "a commit log"))
            return
        scan = RequestScan(reader, file.base_offset, names, keys=keys)
        yield from scan.run(0, reader.size, exact=True, on_gap=on_gap)


# The puts of a queue's records: which of them get a unit (CQ-PUT-2, CQ-PUT-3; `ConsumeQueue.putMessagePositionInfo` 481-513).


def units_taken(offsets: NDArray[np.int64], next_unit: int) -> NDArray[np.bool_]:
    """A mask of a queue's records, in the order of the log, that get a unit, by the logical offsets that they state.

    A record that states a logical offset below the next unit's gets none, unless it states 0; one that states a greater
    offset gets the next unit. `next_unit` is the one before them.
    """
    if offsets.size and offsets[0] >= next_unit and (np.diff(offsets) > 0).all():
        return np.ones(offsets.size, np.bool_)
    taken = np.zeros(offsets.size, np.bool_)
    for place, offset in enumerate(offsets.tolist()):
        if offset == 0 or offset >= next_unit:
            taken[place] = True
            next_unit += 1
    return taken


def requests_before_gap(
    files: Iterable[tuple[StoreFile, int]],
    names: TopicNames,
    *,
    bounds: tuple[int, int],
    on_gap: Callable[[Gap], None] = lambda _: None,
    keys: KeyRules = RULES_4_9_3,
) -> Iterator[tuple[Reader, int, Requests]]:
    """The requests of a log up to its first gap, which a missing file is not, with the reader and the start of their file.

    Each file comes with its length. Records begin at physical offsets within `bounds`; `on_gap` is called with the first gap.
    """
    for file, size in files:
        base = file.base_offset
        first, stop = max(bounds[0] - base, 0), min(bounds[1] - base, size)
        if first >= stop:
            continue
        gaps: list[Gap] = []
        with file.open() as reader:
            scan = RequestScan(reader, base, names, keys=keys)
            for batch in scan.run(first, stop, exact=True, on_gap=gaps.append):
                if not gaps:
                    yield reader, base, batch
        if gaps:
            on_gap(gaps[0])
            return
