"""Reads the commit log of a store, plain or of DLedger mode, and judges the clauses about its own bytes."""

import os
import re
import struct
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

from rocket_reference import (
    DispatchRequest,
    JavaFatalError,
    Rules,
    body_checksum,
    dispatch_request,
    file_name,
    record,
)
from rocket_spec.errors import FormatError, MalformedError, UsageError
from rocket_spec.layout import (
    BLANK,
    BLANK_MAGIC,
    ENTRY,
    ENTRY_BLANK_MAGIC,
    ENTRY_INDEX_FILE_SIZE,
    ENTRY_INDEX_UNIT,
    ENTRY_MAGIC,
    RECORD_MAGICS,
)

from rocket_conformance.files import read_input
from rocket_conformance.store_verdict.facts import StoreFacts
from rocket_conformance.store_verdict.observations import Observations, Place
from rocket_conformance.store_verdict.record_table import Queue, RecordTable
from rocket_conformance.store_verdict.sparse import Window, parts_on_disk
from rocket_conformance.store_verdict.stored_log import LogFile, StoredLog, numbered_files

_LARGEST_RECORD: Final = 16 << 20
"""Bytes of a record that are read at most."""

_HEADER: Final = struct.Struct(ENTRY.struct_format)
_UNIT: Final = struct.Struct(ENTRY_INDEX_UNIT.struct_format)
_LARGEST_CHECKPOINT: Final = 1 << 16
_REGULAR: Final = "a regular file of the commit log"
_NUMBER: Final = re.compile(r"(?P<name>\w+) *= *(?P<value>-?[0-9]{1,19})")


def read_log(facts: Any, seen: Observations) -> StoredLog:
    """The log of a store, with what its bytes show of the LOG clauses, and of the DLG clauses in DLedger mode.

    Args:
        facts: of the store.
        seen: takes what is observed.

    Raises:
        MalformedError: a file is not a regular file, or ends beyond 64 bits.
        OSError: a file cannot be read.
    """
    store = store_of(facts)
    member = next((file.path.parents[1] for file in facts.logs if file.framed), None)
    table = RecordTable(seen.rules, light=facts.light)
    log = StoredLog(store, table, stopped=facts.clean, dledger=member is not None)
    for name, reason in facts.skipped:
        if name.startswith("commitlog/") and name.rpartition("/")[2].isdecimal():
            raise MalformedError(file=str(store / name), found=reason, expected=_REGULAR)
    for file in facts.logs:
        if file.path.is_symlink():
            raise MalformedError(file=str(file.path), found="a link", expected=_REGULAR)
        log.files.append(LogFile(file.path, file.name, file.base_offset, file.path.stat().st_size))
    _check_files(log, seen)
    plain = sum(not file.framed for file in facts.logs)
    own, rest = log.files[:plain], log.files[plain:]
    stopped_at = _read_files(own, partial(_read_file, log, seen, facts.delays))
    if stopped_at and (rest or _is_written(own, stopped_at)):
        log.whole = False
        place = ("end of the file", "no blank", "a blank before the next file")
        seen.breaks("LOG-BLANK-1", Place(stopped_at.name, log.end - stopped_at.base, *place))
    if rest:
        log.dledger_begin = rest[0].base
    if member is not None and stopped_at is None:
        reading = _Reading(log, member, seen, facts.delays)
        stopped_at = _read_files(rest, reading.read_file)
        if stopped_at and _is_written(rest, stopped_at):
            log.whole = False
            place = ("entry", "other bytes", "an entry, or a blank before the next file")
            seen.breaks("DLG-2", Place(stopped_at.name, log.end - stopped_at.base, *place))
        if log.stopped:
            reading.check_end()
    _check_queue_offsets(log, seen)
    return log


def store_of(facts: StoreFacts) -> Path:
    """The directory of a store; UsageError if its files are elsewhere."""
    if facts.path is None:
        raise UsageError(f"{facts.name}: not a directory of this machine")
    return facts.path


def _check_files(log: StoredLog, seen: Observations) -> None:
    """Names, equal lengths, and no gap, from the commit log's directories to DLedger's data (LOG-FILE-1, DLG-14)."""
    following: int | None = None
    for file in log.files:
        if file.base + file.size >= 1 << 63:
            raise MalformedError(
                file=file.name, found=f"base offset {file.base:,}", expected="offsets below 2^63 in the file"
            )
        name = file.name.rpartition("/")[2]
        seen.compare("LOG-FILE-1", Place(file.name, None, "name", name, file_name(file.base)))
        seen.compare("LOG-FILE-1", Place(file.name, None, "length", file.size, log.files[0].size))
        if following is not None:
            seen.compare("LOG-FILE-1", Place(file.name, None, "base offset", file.base, following))
        following = file.base + file.size


def _read_files(files: Sequence[LogFile], read: Callable[[LogFile, int], bool]) -> LogFile | None:
    """Reads files of the log in their order; the first after which it does not go on, by what `read` returns."""
    for file in files:
        with file.path.open("rb") as opened:
            if not read(file, opened.fileno()):
                return file
    return None


def _is_written(files: Sequence[LogFile], last: LogFile) -> bool:
    """Whether a file after the last one that was read begins with other bytes than zeros."""
    for file in files[files.index(last) + 1 :]:
        with file.path.open("rb") as opened:
            if any(opened.read(8)):
                return True
    return False


# --- records ----------------------------------------------------------------------------------------------


def _read_file(
    log: StoredLog, seen: Observations, delays: Sequence[int], file: LogFile, descriptor: int
) -> bool:
    """Reads the records of one file of a plain log; whether it ended in a blank or at its last byte."""
    window = Window(descriptor)
    position = 0
    while position < file.size:
        if position and file.base in log.after_blanks:
            seen.hold("LOG-BLANK-2")
        log.end = file.base + position
        data, at = window.at(position, BLANK.size)
        head = data[at : at + BLANK.size]
        if not any(head):
            seen.hold("LOG-FILE-2")
            return False
        claimed, magic = int.from_bytes(head[:4], signed=True), int.from_bytes(head[4:8], signed=True)
        rest = file.size - position
        if magic == BLANK_MAGIC:
            seen.compare("LOG-BLANK-1", Place(file.name, position, "blank size", claimed, rest))
            log.end = file.base + file.size
            log.after_blanks.add(log.end)
            return True
        length = claimed if 0 < claimed <= min(_LARGEST_RECORD, rest) else BLANK.size
        data, at = window.at(position, length)
        request = _record_at(data, at, seen.rules, delays)
        if request is None or request.msg_size <= 0:
            log.whole = False
            place = Place(file.name, position, "record", "bytes that are no record", "a record or zeros")
            seen.breaks("LOG-REC-3" if magic in RECORD_MAGICS else "LOG-REC-1", place)
            return False
        _check_record(data[at : at + length], file, position, request, seen)
        _check_room("LOG-BLANK-1", "record", file, position, request.msg_size, seen)
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


def _check_record(
    data: bytes,
    file: LogFile,
    position: int,
    request: DispatchRequest,
    seen: Observations,
    clause: str = "LOG-REC-7",
) -> None:
    """Judges a record, which begins at `position` in its file, by what a dispatch makes of it; `clause` is on its offset."""
    place = file.base + position
    seen.hold("LOG-REC-1", "LOG-REC-3")
    offset = request.commit_log_offset
    if offset == place:
        seen.hold("LOG-REC-7")
    else:
        seen.breaks(clause, Place(file.name, position + 28, "phy_offset", offset, place))
    try:
        row = record(data, rules=seen.rules)
    except FormatError:
        return
    if row.body:
        found = body_checksum(row.body)
        name = f"record at {place:,}"
        seen.compare("LOG-REC-4", Place(file.name, position + 8, "body_crc", row.body_crc, found, name))
    if row.sys_flag & 48:
        seen.hold("LOG-REC-2")


def _check_room(clause: str, what: str, file: LogFile, position: int, size: int, seen: Observations) -> None:
    if position + size + BLANK.size > file.size:
        free = "8 bytes left free at the file's end"
        seen.breaks(clause, Place(file.name, position, what, f"{size} bytes", free))


def _check_queue_offsets(log: StoredLog, seen: Observations) -> None:
    """Whether the records of a queue count up by one (LOG-REC-6); a deleted queue may begin again at 0."""
    following: dict[Queue, int] = {}
    for stored in log.records:
        found, expected, queue = stored.request.consume_queue_offset, 0, stored.queue
        if stored.request.topic in log.batched:
            continue
        where = f"commitlog position {stored.position:,}"
        if queue is not None:
            expected = following.get(queue, found)
            following[queue] = found + 1
            if found == 0 != expected:
                text = (
                    "a queue counts from 0 again: its files were deleted, or it lost its units to a restart"
                )
                seen.note(text)
                continue
        seen.compare("LOG-REC-6", Place(where, None, "queue_offset", found, expected, stored))


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
                log.whole = False
                seen.breaks("DLG-4", Place(file.name, body, "body", "bytes that are no record", "one record"))
                break
            self._check_entry(entry, file, position)
            _check_record(data[at : at + entry.body_size], file, body, request, seen, clause="DLG-4")
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
        for field in ("channel", "chain_crc", "body_crc"):
            at = position + ENTRY.offset_of(field)
            self._seen.compare("DLG-3", Place(file.name, at, field, getattr(entry, field), 0))
        _check_room("DLG-5", "entry", file, position, entry.size, self._seen)
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
        if last is not None and not self._seen.compare("DLG-11", place):
            log.whole = False
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
