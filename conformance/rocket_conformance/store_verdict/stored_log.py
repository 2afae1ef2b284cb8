"""The commit log of a store, plain or of DLedger mode: its records, of which memory holds the positions alone, and the judgement of its entries."""

import heapq
import marshal
import os
import re
import struct
import sys
import tempfile
from array import array
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any, Final, NamedTuple

from rocket_reference import (
    RULES_4_9_3,
    DispatchRequest,
    JavaError,
    JavaFatalError,
    Record,
    Rules,
    dispatch_request,
    index_keys,
    java,
    key_hash,
    record,
)
from rocket_spec.deviations import Audited
from rocket_spec.errors import MalformedError, UsageError
from rocket_spec.layout import (
    BLANK,
    BLANK_MAGIC,
    ENTRY,
    ENTRY_BLANK_MAGIC,
    ENTRY_INDEX_FILE_SIZE,
    ENTRY_INDEX_UNIT,
    ENTRY_MAGIC,
    LONG_TOPIC_MAGIC,
)

from rocket_conformance.files import Window, parts_on_disk, read_input
from rocket_conformance.store_verdict.observations import Observations, Place, numbered_files

Audit = Callable[[Any], Audited]
"""Audits a store, given its facts: `rocket_columnar.audit.audited`."""


def store_of(facts: Any) -> Path:
    """The directory of a store; UsageError if its files are elsewhere."""
    if facts.path is None:
        raise UsageError(f"{facts.name}: not a directory of this machine")
    return Path(facts.path)


Queue = tuple[str, int]
"""Topic and queue number."""

LIGHT: Final = "%LMQ%"
PREPARED: Final = 4
ROLLBACK: Final = 12
_TRANSACTION_TYPE: Final = 12

_VALUES: Final = attrgetter(*(field.name for field in fields(DispatchRequest)))


@dataclass(frozen=True, slots=True)
class StoredRecord:
    """A record of the log."""

    # its place in the log, bytes; 4.9.3 takes the recorded offset, which is the same in a healthy log
    position: int
    # what goes to consume queue and index; of its properties only those that decide where it goes
    request: DispatchRequest
    hashes: tuple[int, ...]  # key hashes that go to the index, in their order
    rules: Rules = RULES_4_9_3  # of the release that the store is judged by

    @property
    def transaction(self) -> int:
        """0 NOT, 4 PREPARED, 8 COMMIT, 12 ROLLBACK."""
        return self.request.sys_flag & _TRANSACTION_TYPE

    @property
    def keys(self) -> list[str]:
        """The keys of `hashes`, with topic and `#`."""
        return list(index_keys(self.request, self.rules))

    @property
    def indexed(self) -> bool:
        """Whether 4.9.3 makes index entries for it."""
        return bool(self.hashes) and self.transaction != ROLLBACK

    @property
    def queue(self) -> Queue | None:
        """The queue in which 4.9.3 makes a unit for it (LOG-DSP-7)."""
        has_unit = self.transaction not in (PREPARED, ROLLBACK)
        return (self.request.topic, self.request.queue_id) if has_unit else None

    def further_queues(self, *, light: bool) -> Iterator[tuple[Queue, int]]:
        """Further queues that it is put into, and the logical offsets that it asks for there (CQ-LMQ-1, CQ-LMQ-2)."""
        properties = self.request.properties or {}
        if "INNER_MULTI_DISPATCH" not in properties or self.queue is None:
            return
        names = java.split(properties["INNER_MULTI_DISPATCH"], ",")
        offsets = java.split(properties.get("INNER_MULTI_QUEUE_OFFSET", ""), ",")
        if len(names) == len(offsets) and names != [""]:
            for name, text in zip(names, offsets, strict=True):
                try:
                    asked = java.parse_long(text)
                except JavaError:
                    return
                is_light = light and name.startswith(LIGHT)
                yield (name, 0 if is_light else self.request.queue_id), asked

    def __str__(self) -> str:
        return f"record at {self.position:,}, topic {self.request.topic}"


class RecordTable:
    """Records by position and by queue. Of several at one position, which overlapping log files have, the first is kept."""

    def __init__(self, rules: Rules = RULES_4_9_3, *, light: bool = True) -> None:
        self.rules = rules  # of the release that the store is judged by
        self.light = light  # whether light queues have the number 0
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - closed with this object
        self._positions = array("q")
        self._rows = array("q")  # where each begins in the file
        self._sizes = array("q")
        self._own: defaultdict[Queue, array[int]] = defaultdict(lambda: array("q"))
        self._further: defaultdict[Queue, array[int]] = defaultdict(lambda: array("q"))
        self._end = 0

    def __len__(self) -> int:
        return len(self._positions)

    def __iter__(self) -> Iterator[StoredRecord]:
        return map(self._row, range(len(self)))

    def backwards(self, *, queued: bool = False) -> Iterator[StoredRecord]:
        """The records from the last one on, or those with a unit in a consume queue."""
        found = map(self._row, reversed(range(len(self))))
        return (stored for stored in found if not queued or stored.queue is not None)

    def add(self, stored: StoredRecord) -> None:
        """Adds a record.

        Raises OSError: the disk has no room for it.
        """
        number = bisect_left(self._positions, stored.position)
        if number < len(self) and self._positions[number] == stored.position:
            return
        row = marshal.dumps((_VALUES(stored.request), stored.hashes))
        try:
            self._file.write(row)
        except OSError as error:
            text = f"temporary file: {error.strerror}; set TMPDIR to a directory with room for all records of the log"
            raise OSError(text) from error
        self._positions.insert(number, stored.position)
        self._rows.insert(number, self._end)
        self._sizes.insert(number, len(row))
        self._end += len(row)
        lists = [self._further[queue] for queue in {queue for queue, _ in self.further(stored)}]
        if stored.queue is not None:
            lists.append(self._own[stored.queue])
        for positions in lists:
            positions.insert(bisect_left(positions, stored.position), stored.position)

    def at(self, position: int) -> StoredRecord | None:
        """The record at a position, bytes."""
        return next(self.between(position, position + 1), None)

    def between(self, begin: int, end: int) -> Iterator[StoredRecord]:
        """The records from `begin` up to and without `end`, bytes, in their order."""
        first, last = (bisect_left(self._positions, position) for position in (begin, end))
        return map(self._row, range(first, last))

    def cut(self, position: int) -> None:
        """Removes the records at and after a position, bytes."""
        for positions in (*self._own.values(), *self._further.values(), self._positions):
            del positions[bisect_left(positions, position) :]

    def further(self, stored: StoredRecord) -> list[tuple[Queue, int]]:
        """The further queues of a record, and the logical offsets that it asks for there."""
        return list(stored.further_queues(light=self.light))

    def of_queue(self, queue: Queue) -> Iterator[tuple[StoredRecord, int]]:
        """The records of a queue in their order, its own and those that name it, with the logical offsets that they ask for."""
        own = ((position, False) for position in self._own.get(queue, ()))
        named = ((position, True) for position in self._further.get(queue, ()))
        for position, is_named in heapq.merge(own, named):
            (stored,) = self.between(position, position + 1)
            if is_named:
                yield from ((stored, asked) for other, asked in self.further(stored) if other == queue)
            else:
                yield stored, stored.request.consume_queue_offset

    def _row(self, number: int) -> StoredRecord:
        self._file.flush()
        row = os.pread(self._file.fileno(), self._sizes[number], self._rows[number])
        values, hashes = marshal.loads(row)  # noqa: S302 - bytes of this process
        return StoredRecord(self._positions[number], DispatchRequest(*values), hashes, self.rules)


# --- log ----------------------------------------------------------------------------------------------

_KEPT: Final = ("TAGS", "INNER_MULTI_DISPATCH", "INNER_MULTI_QUEUE_OFFSET")
_FIXED: Final = 91
_IPV6: Final = 48


@dataclass(frozen=True, slots=True)
class LogFile:
    """A commit-log file: its path, the same relative to the store, its base offset and length, bytes."""

    path: Path
    name: str
    base: int
    size: int


@dataclass
class StoredLog:
    """The records of a log in their order, and its files."""

    store: Path  # its directory
    records: RecordTable  # in the order of their positions
    # whether the broker stopped cleanly, so that nothing may be missing at the end: there is no file `abort`
    stopped: bool
    files: list[LogFile] = field(default_factory=list[LogFile])  # of the log, in their order
    end: int = 0  # where the log ends, bytes; 0 without a file
    dledger: bool = False  # whether the log, or its last part, is kept by DLedger
    # where the entries begin that DLedger does not call committed, bytes; beyond every offset without them
    committed: int = 1 << 63
    _last: StoredRecord | None = field(default=None, init=False, repr=False)

    @property
    def begin(self) -> int:
        """Physical offset at which the log begins."""
        return self.files[0].base if self.files else 0

    def at(self, offset: int) -> StoredRecord | None:
        """The record that begins at an offset."""
        if self._last is None or self._last.position != offset:
            self._last = self.records.at(offset)
        return self._last

    def keep(self, position: int, request: DispatchRequest) -> None:
        """Adds the record at a position, after all that are there, without the properties that nothing here looks at."""
        hashes = tuple(key_hash(key) for key in index_keys(request, self.records.rules))
        properties = request.properties or {}
        kept = {name: properties[name] for name in _KEPT if name in properties}
        request = replace(request, topic=sys.intern(request.topic), properties=kept)
        self.records.add(StoredRecord(position, request, hashes))

    def row_of(self, stored: StoredRecord) -> Record:
        """All fields of a record, read from its file again."""
        return record(self._bytes_of(stored), rules=self.records.rules)

    def has_key(self, stored: StoredRecord, topic: str, key: str) -> bool:
        """Whether the workload's client, which is that of 4.9.3, keeps a record in the answer to a query by topic and key."""
        keys = stored.request.keys
        if self.records.rules.one_separator:  # the client does not read as the broker does
            keys = record(self._bytes_of(stored)).keys
        return stored.request.topic == topic and key in java.split_one_space(keys or "")

    def properties_of(self, stored: StoredRecord) -> bytes:
        """The properties of a record as they are stored: what is left of its length (LOG-REC-3)."""
        data = self._bytes_of(stored)
        row = record(data, rules=self.records.rules)
        hosts = 12 * (row.sys_flag & _IPV6).bit_count()
        widened = int.from_bytes(data[4:8], signed=True) == LONG_TOPIC_MAGIC
        return data[_FIXED + widened + hosts + len(row.body) + len(row.topic.encode("utf-8")) :]

    def _bytes_of(self, stored: StoredRecord) -> bytes:
        file = self.file_of(stored.position)
        with file.path.open("rb") as opened:
            return os.pread(opened.fileno(), stored.request.msg_size, stored.position - file.base)

    def file_of(self, position: int) -> LogFile:
        """The file that holds a record, by its position."""
        return self.files[bisect_right(self.files, position, key=lambda file: file.base) - 1]


# --- reading --------------------------------------------------------------------------------------------

_LARGEST_RECORD: Final = 16 << 20
"""Bytes of a record that are read at most."""

_HEADER: Final = struct.Struct(ENTRY.struct_format)
_UNIT: Final = struct.Struct(ENTRY_INDEX_UNIT.struct_format)
_LARGEST_CHECKPOINT: Final = 1 << 16
_REGULAR: Final = "a regular file of the commit log"
_NUMBER: Final = re.compile(r"(?P<name>\w+) *= *(?P<value>-?[0-9]{1,19})")


def read_log(facts: Any, seen: Observations) -> StoredLog:
    """The log of a store up to the first bytes that are no record; `seen` takes what entries of DLedger mode show of the DLG clauses.

    Raises MalformedError: a file is not a regular file, or ends beyond 64 bits.
    Raises OSError: a file cannot be read.
    """
    store = store_of(facts)
    member = next((file.path.parents[1] for file in facts.logs if file.framed), None)
    table = RecordTable(seen.rules, light=facts.light)
    log = StoredLog(store, table, stopped=facts.clean, dledger=member is not None)
    refuse_log(facts)
    for file in facts.logs:
        log.files.append(LogFile(file.path, file.name, file.base_offset, file.path.stat().st_size))
    plain = sum(not file.framed for file in facts.logs)
    own, rest = log.files[:plain], log.files[plain:]
    is_whole = _read_files(own, partial(_read_file, log, seen.rules, facts.delays))
    if member is not None and is_whole:
        reading = _Reading(log, member, seen, facts.delays)
        _read_files(rest, reading.read_file)
        if log.stopped:
            reading.check_end()
    return log


def refuse_log(facts: Any) -> None:
    """Refuses a log of which a file is not a regular file, or ends beyond 64 bits, by a MalformedError."""
    store = store_of(facts)
    for name, reason in facts.skipped:
        if name.startswith("commitlog/") and name.rpartition("/")[2].isdecimal():
            raise MalformedError(file=str(store / name), found=reason, expected=_REGULAR)
    for file in facts.logs:
        if file.path.is_symlink():
            raise MalformedError(file=str(file.path), found="a link", expected=_REGULAR)
        if file.base_offset + file.path.stat().st_size >= 1 << 63:
            found = f"base offset {file.base_offset:,}"
            raise MalformedError(file=file.name, found=found, expected="offsets below 2^63 in the file")


def _read_files(files: Sequence[LogFile], read: Callable[[LogFile, int], bool]) -> bool:
    """Reads files of the log in their order, up to the first after which it does not go on; whether there is none."""
    for file in files:
        with file.path.open("rb") as opened:
            if not read(file, opened.fileno()):
                return False
    return True


# --- records ----------------------------------------------------------------------------------------------


def _read_file(log: StoredLog, rules: Rules, delays: Sequence[int], file: LogFile, descriptor: int) -> bool:
    """Reads the records of one file of a plain log; whether it ended in a blank or at its last byte."""
    window = Window(descriptor)
    position = 0
    while position < file.size:
        log.end = file.base + position
        data, at = window.at(position, BLANK.size)
        claimed, magic = struct.unpack(">ii", data[at : at + BLANK.size].ljust(BLANK.size, b"\0"))
        if magic == BLANK_MAGIC:
            log.end = file.base + file.size
            return True
        length = claimed if 0 < claimed <= min(_LARGEST_RECORD, file.size - position) else BLANK.size
        data, at = window.at(position, length)
        request = _record_at(data, at, rules, delays)
        if request is None or request.msg_size <= 0:
            return False
        log.keep(file.base + position, request)
        position += request.msg_size
    log.end = file.base + position
    return position == file.size


def _record_at(data: bytes, at: int, rules: Rules, delays: Sequence[int]) -> DispatchRequest | None:
    """The result of a dispatch of the record at a place of `data`; None if 4.9.3 fails, or its memory does (LOG-DSP-16)."""
    try:
        request = dispatch_request(
            data, at, check_crc=False, read_body=False, delay_levels=delays, rules=rules
        )
    except JavaFatalError:
        return None
    return request if request.success else None


# --- entries of DLedger -----------------------------------------------------------------------------------


class _Entry(NamedTuple):
    """The header of an entry; sizes and positions in bytes."""

    magic: int
    size: int
    number: int
    term: int
    pos: int
    channel: int
    chain_crc: int
    body_crc: int
    body_size: int


class _Reading:
    """Reads the entries of a log one by one, up to the last.

    After a clean stop the log ends at the committed position (DLG-10). The last file may hold more: entries that are not
    committed, and remains of truncated ones (DLG-18).
    """

    def __init__(self, log: StoredLog, member: Path, seen: Observations, delays: Sequence[int]) -> None:
        self._log = log
        self._delays = delays
        self._member = member
        self._seen = seen
        self._last: _Entry | None = None
        self._times = _numbers_in(member / "checkpoint")
        self._index = dict(numbered_files(member / "index"))

    def read_file(self, file: LogFile, descriptor: int) -> bool:
        """Reads the entries of one file; whether it ended in a blank."""
        log, seen, window = self._log, self._seen, Window(descriptor)
        position = 0
        while position + BLANK.size <= file.size:
            log.end = file.base + position
            data, at = window.at(position, _HEADER.size)
            magic, size = struct.unpack_from(">ii", data, at)
            if magic == ENTRY_BLANK_MAGIC:
                _check_blank(file, position, size, descriptor, seen)
                log.end = file.base + file.size
                return True
            entry = self._entry(data, at, file, position)
            if entry is None:
                break
            data, at = window.at(position, entry.size)
            at += _HEADER.size
            body = position + _HEADER.size
            request = _record_at(data, at, seen.rules, self._delays)
            if request is None or request.msg_size != entry.body_size:
                break
            self._check_entry(entry, file, position)
            log.keep(file.base + body, request)
            self._last = entry
            position += entry.size
            log.end = file.base + position
        return False

    def _entry(self, data: bytes, at: int, file: LogFile, position: int) -> _Entry | None:
        """The entry here; None for bytes that a recovery does not take for one (DLG-17)."""
        if position + _HEADER.size > file.size or len(data) - at < _HEADER.size:
            return None
        entry, before = _Entry(*_HEADER.unpack_from(data, at)), self._last
        if entry.magic != ENTRY_MAGIC or entry.pos != file.base + position:
            return None
        if entry.size != _HEADER.size + entry.body_size or not 0 < entry.body_size <= _LARGEST_RECORD:
            return None
        if entry.size > file.size - position:
            return None
        if before is not None and (entry.number != before.number + 1 or entry.term < before.term):
            return None
        return entry

    def _check_entry(self, entry: _Entry, file: LogFile, position: int) -> None:
        """Judges an entry that holds a record; after a clean stop its unit in the index of entries, too."""
        self._seen.hold("DLG-1", "DLG-2", "DLG-4", "DLG-7", "DLG-9")
        for name in ("channel", "chain_crc", "body_crc"):
            at = position + ENTRY.offset_of(name)
            self._seen.compare("DLG-3", Place(file.name, at, name, getattr(entry, name), 0))
        if entry.number > self._times.get("committedIndex", entry.number):
            self._log.committed = min(self._log.committed, entry.pos)
        if self._log.stopped:
            self._check_unit(entry)

    def _check_unit(self, entry: _Entry) -> None:
        """Compares a unit of the index of entries (DLG-6); a start rewrites what is missing from it."""
        place = _UNIT.size * entry.number
        at = place % ENTRY_INDEX_FILE_SIZE
        path = self._index.get(place - at)
        if path is None:
            return
        with path.open("rb") as file:
            data = os.pread(file.fileno(), _UNIT.size, at)
        found = _UNIT.unpack(data) if len(data) == _UNIT.size else None
        expected = (entry.magic, entry.pos, entry.size, entry.number, entry.term)
        name = path.relative_to(self._member.parent).as_posix()
        self._seen.compare("DLG-6", Place(name, at, f"unit {entry.number}", found, expected))

    def check_end(self) -> None:
        """Compares the last entry with DLedger's checkpoint, and drops the records that are not committed (DLG-10, DLG-11)."""
        log, last = self._log, self._last
        place = Place(f"{self._member.name}/checkpoint", None, "endIndex",
                      self._times.get("endIndex"), -1 if last is None else last.number)  # fmt: skip
        if last is not None:
            self._seen.compare("DLG-11", place)
        if log.committed < log.end:
            log.end = log.committed
            log.records.cut(log.end)
            self._seen.note("entries that were not committed at the stop, which nothing points to")


def _check_blank(file: LogFile, position: int, size: int, descriptor: int, seen: Observations) -> None:
    seen.compare("DLG-5", Place(file.name, position + 4, "blank size", size, file.size - position))
    for offset, data in parts_on_disk(descriptor, position + BLANK.size, file.size):
        if any(data):
            seen.breaks("DLG-5", Place(file.name, offset, "after the blank", "other bytes", "zeros"))
            return


def _numbers_in(path: Path) -> dict[str, int]:
    """The numbers in DLedger's checkpoint, by name; empty without the file."""
    try:
        text = read_input(path, limit=_LARGEST_CHECKPOINT, expected="the checkpoint of a DLedger log")
    except FileNotFoundError:
        return {}
    pairs = (_NUMBER.fullmatch(line.strip()) for line in text.decode("latin-1").splitlines())
    return {pair["name"]: int(pair["value"]) for pair in pairs if pair}
