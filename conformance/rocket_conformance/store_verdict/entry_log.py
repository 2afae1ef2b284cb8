"""The entries of a DLedger log: the records in them, and what their bytes show of the DLG clauses."""

import os
import re
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from rocket_spec.errors import MalformedError
from rocket_spec.layout import ENTRY, ENTRY_BLANK_MAGIC, ENTRY_INDEX_FILE_SIZE, ENTRY_INDEX_UNIT, ENTRY_MAGIC

from rocket_conformance.files import read_input
from rocket_conformance.store_verdict.observations import Observations, Place
from rocket_conformance.store_verdict.sparse import Window, parts_on_disk
from rocket_conformance.store_verdict.stored_log import StoredLog, is_written, name_in, numbered_files
from rocket_conformance.store_verdict.stored_record import LARGEST_RECORD, LogFile, check_record, record_at

_HEADER: Final = struct.Struct(ENTRY.struct_format)
_UNIT: Final = struct.Struct(ENTRY_INDEX_UNIT.struct_format)
_BLANK: Final = 8
_LARGEST_CHECKPOINT: Final = 1 << 16
_NUMBER: Final = re.compile(r"(?P<name>\w+) *= *(?P<value>-?[0-9]{1,19})")


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
    """What is known of the entries while they are read one by one."""

    def __init__(self, log: StoredLog, member: Path, seen: Observations, *, stopped: bool) -> None:
        self.log = log
        self.seen = seen
        self.last: _Entry | None = None
        self._member = member
        self._stopped = stopped
        self._times = _properties(member / "checkpoint")
        self._index = dict(numbered_files(member / "index"))

    def take(self, entry: _Entry) -> None:
        """Takes the next entry; after a clean stop its unit in the index of entries is compared."""
        self.last = entry
        if entry.number > self._times.get("committedIndex", entry.number):
            self.log.committed = min(self.log.committed, entry.pos)
        if self._stopped:
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
        name = name_in(self._member.parent, path)
        self.seen.compare("DLG-6", Place(name, at, f"unit {entry.number}", found, expected))

    def check_end(self) -> None:
        """Compares the last entry with DLedger's checkpoint, and drops the records that are not committed (DLG-10, DLG-11)."""
        last = -1 if self.last is None else self.last.number
        name = name_in(self._member.parent, self._member / "checkpoint")
        place = Place(name, None, "endIndex", self._times.get("endIndex"), last)
        if self.last is not None and not self.seen.compare("DLG-11", place):
            self.log.whole = False
        if self.log.committed < self.log.end:
            self.log.end = self.log.committed
            self.log.records.cut(self.log.end)
            self.seen.note("entries that were not committed at the stop, which nothing points to")


def dledger_member(store: Path) -> Path | None:
    """The directory of a store's DLedger log, `dledger-SELFID`; None for a plain store.

    Raises:
        MalformedError: there are several.
    """
    found = sorted(path for path in store.glob("dledger-*") if (path / "data").is_dir())
    if len(found) > 1:
        names = ", ".join(path.name for path in found)
        raise MalformedError(
            file=str(store), found=f"several DLedger logs: {names}", expected="the store of one member"
        )
    return found[0] if found else None


def read_entries(
    log: StoredLog, paths: Sequence[Path], member: Path, seen: Observations, *, stopped: bool
) -> None:
    """Reads the data files, which are the last of `log.files`, up to the last entry.

    After a clean stop the log ends at the committed position (DLG-10). The last file may hold more: entries that are not
    committed, and remains of truncated ones (DLG-18).

    Args:
        log: takes the records.
        paths: of the data files.
        member: the directory `dledger-SELFID`.
        seen: takes what is observed.
        stopped: whether the broker stopped cleanly.
    """
    files = log.files[len(log.files) - len(paths) :]
    reading = _Reading(log, member, seen, stopped=stopped)
    for number, (file, path) in enumerate(zip(files, paths, strict=True)):
        with path.open("rb") as opened:
            ended = _read_file(reading, file, opened.fileno())
        if not ended:
            if any(is_written(later) for later in paths[number + 1 :]):
                log.whole = False
                expected = "an entry, or a blank before the next file"
                place = Place(file.name, log.end - file.base, "entry", "other bytes", expected)
                seen.breaks("DLG-2", place)
            break
    if stopped:
        reading.check_end()


def _read_file(reading: _Reading, file: LogFile, descriptor: int) -> bool:
    """Reads the entries of one file; whether it ended in a blank."""
    log, seen = reading.log, reading.seen
    window = Window(descriptor)
    position = 0
    while position + _BLANK <= file.size:
        log.end = file.base + position
        data, at = window.at(position, _HEADER.size)
        magic, size = struct.unpack_from(">ii", data, at)
        if magic == ENTRY_BLANK_MAGIC:
            _check_blank(file, position, size, descriptor, seen)
            log.end = file.base + file.size
            return True
        entry = _entry(data, at, file, position, reading.last)
        if entry is None:
            break
        data, at = window.at(position, entry.size)
        at += _HEADER.size
        request = record_at(data, at, seen.rules)
        if request is None or request.msg_size != entry.body_size:
            log.whole = False
            place = Place(
                file.name, position + _HEADER.size, "body", "bytes that are no record", "one record"
            )
            seen.breaks("DLG-4", place)
            break
        _check_entry(entry, file, position, seen)
        check_record(data, at, position + _HEADER.size, file, request, seen)
        seen.hold("DLG-4")
        log.keep(file.base + position + _HEADER.size, request)
        reading.take(entry)
        position += entry.size
        log.end = file.base + position
    return False


def _entry(data: bytes, at: int, file: LogFile, position: int, before: _Entry | None) -> _Entry | None:
    """The entry here; None for bytes that a recovery does not take for one (DLG-17)."""
    if position + _HEADER.size > file.size or len(data) - at < _HEADER.size:
        return None
    entry = _Entry(*_HEADER.unpack_from(data, at))
    if entry.magic != ENTRY_MAGIC or entry.pos != file.base + position:
        return None
    if entry.size != _HEADER.size + entry.body_size or not 0 < entry.body_size <= LARGEST_RECORD:
        return None
    if entry.size > file.size - position:
        return None
    if before is not None and (entry.number != before.number + 1 or entry.term < before.term):
        return None
    return entry


def _check_entry(entry: _Entry, file: LogFile, position: int, seen: Observations) -> None:
    seen.hold("DLG-1", "DLG-2", "DLG-7", "DLG-9")
    for field in ("channel", "chain_crc", "body_crc"):
        seen.compare(
            "DLG-3", Place(file.name, position + ENTRY.offset_of(field), field, getattr(entry, field), 0)
        )
    if position + entry.size + _BLANK > file.size:
        free = "8 bytes left free at the file's end"
        seen.breaks("DLG-5", Place(file.name, position, "entry", f"{entry.size} bytes", free))


def _check_blank(file: LogFile, position: int, size: int, descriptor: int, seen: Observations) -> None:
    seen.compare("DLG-5", Place(file.name, position + 4, "blank size", size, file.size - position))
    for offset, data in parts_on_disk(descriptor, position + _BLANK, file.size):
        if any(data):
            found = "other bytes"
            seen.breaks("DLG-5", Place(file.name, offset, "after the blank", found, "zeros"))
            return


def _properties(path: Path) -> dict[str, int]:
    """The numbers in DLedger's checkpoint, by name; empty without the file."""
    try:
        text = read_input(path, limit=_LARGEST_CHECKPOINT, expected="the checkpoint of a DLedger log")
    except FileNotFoundError:
        return {}
    pairs = (_NUMBER.fullmatch(line.strip()) for line in text.decode("latin-1").splitlines())
    return {pair["name"]: int(pair["value"]) for pair in pairs if pair}
