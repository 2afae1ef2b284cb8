"""Reads the commit log of a store, plain or of DLedger mode, and judges the entries of the latter."""

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
    dispatch_request,
)
from rocket_spec.errors import MalformedError
from rocket_spec.layout import (
    BLANK,
    BLANK_MAGIC,
    ENTRY,
    ENTRY_BLANK_MAGIC,
    ENTRY_INDEX_FILE_SIZE,
    ENTRY_INDEX_UNIT,
    ENTRY_MAGIC,
)

from rocket_conformance.files import Window, parts_on_disk, read_input
from rocket_conformance.store_verdict.observations import Observations, Place
from rocket_conformance.store_verdict.stored_log import (
    LogFile,
    RecordTable,
    StoredLog,
    numbered_files,
    store_of,
)

_LARGEST_RECORD: Final = 16 << 20
"""Bytes of a record that are read at most."""

_HEADER: Final = struct.Struct(ENTRY.struct_format)
_UNIT: Final = struct.Struct(ENTRY_INDEX_UNIT.struct_format)
_LARGEST_CHECKPOINT: Final = 1 << 16
_REGULAR: Final = "a regular file of the commit log"
_NUMBER: Final = re.compile(r"(?P<name>\w+) *= *(?P<value>-?[0-9]{1,19})")


def read_log(facts: Any, seen: Observations) -> StoredLog:
    """The log of a store up to the first bytes that are no record; of DLedger mode, with what its entries show of the DLG clauses.

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
        for field in ("channel", "chain_crc", "body_crc"):
            at = position + ENTRY.offset_of(field)
            self._seen.compare("DLG-3", Place(file.name, at, field, getattr(entry, field), 0))
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
