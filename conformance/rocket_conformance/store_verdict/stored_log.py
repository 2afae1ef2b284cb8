"""The commit log of a store, taken as what was stored, and the clauses about its own bytes."""

from __future__ import annotations

import sys
from bisect import bisect_left
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from rocket_reference import (
    DispatchRequest,
    JavaError,
    Record,
    base_offset,
    body_checksum,
    dispatch_request,
    file_name,
    index_keys,
    key_hash,
    record,
)
from rocket_spec.errors import FormatError, MalformedError
from rocket_spec.layout import BLANK, BLANK_MAGIC

from rocket_conformance.store_verdict.observations import Observations, Place
from rocket_conformance.store_verdict.sparse import Window

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["LARGEST_LOG", "ROLLBACK", "LogFile", "StoredLog", "StoredRecord", "numbered_files", "read_log"]

LARGEST_LOG: Final = 1 << 30
"""Bytes of commit log on disk that are judged at most: every record is held in memory, in about 1 KB."""

_LARGEST_RECORD: Final = 16 << 20
_KEPT: Final = ("TAGS", "INNER_MULTI_DISPATCH", "INNER_MULTI_QUEUE_OFFSET")

_TRANSACTION_TYPE: Final = 12
PREPARED: Final = 4
ROLLBACK: Final = 12


@dataclass(frozen=True, slots=True)
class StoredRecord:
    """A record of the log: where it is, and what a dispatch makes of it.

    Attributes:
        position: its place in the log, bytes; 4.9.3 takes the recorded offset, which is the same in a healthy log.
        request: what goes to consume queue and index; of its properties only those that decide where it goes.
        hashes: key hashes that go to the index, in their order.
    """

    position: int
    request: DispatchRequest
    hashes: tuple[int, ...]

    @property
    def transaction(self) -> int:
        """0 NOT, 4 PREPARED, 8 COMMIT, 12 ROLLBACK."""
        return self.request.sys_flag & _TRANSACTION_TYPE

    @property
    def keys(self) -> list[str]:
        """The keys of `hashes`, with topic and `#`."""
        return list(index_keys(self.request))

    @property
    def indexed(self) -> bool:
        """Whether 4.9.3 makes index entries for it."""
        return bool(self.hashes) and self.transaction != ROLLBACK

    @property
    def queued(self) -> bool:
        """Whether 4.9.3 makes a unit for it (LOG-DSP-7)."""
        return self.transaction not in (PREPARED, ROLLBACK)

    def __str__(self) -> str:
        return f"record at {self.position:,}, topic {self.request.topic}"


@dataclass(frozen=True, slots=True)
class LogFile:
    """A commit-log file: its base offset and length, bytes."""

    name: str
    base: int
    size: int


@dataclass
class StoredLog:
    """The records of a log in their order.

    Attributes:
        records: in the order of their positions.
        files: of the log, in their order.
        end: where the log ends, bytes; 0 without a file.
        whole: whether every file could be read to its end; else what follows the damage is unknown.
    """

    records: list[StoredRecord] = field(default_factory=list[StoredRecord])
    files: list[LogFile] = field(default_factory=list[LogFile])
    end: int = 0
    whole: bool = True

    def __post_init__(self) -> None:
        self._positions: list[int] = []

    @property
    def begin(self) -> int:
        """Where the log begins, bytes."""
        return self.files[0].base if self.files else 0

    def place_of(self, offset: int) -> int:
        """Number of the first record at or after an offset."""
        if len(self._positions) != len(self.records):
            self._positions = [stored.position for stored in self.records]
        return bisect_left(self._positions, offset)

    def at(self, offset: int) -> StoredRecord | None:
        """The record that begins at an offset."""
        place = self.place_of(offset)
        found = self.records[place] if place < len(self.records) else None
        return found if found is not None and found.position == offset else None

    def starts_a_file(self, place: int) -> bool:
        """Whether the record with this number is the first of its file that matters: recoveries begin there."""
        position = self.records[place].position
        before = self.records[place - 1].position if place else -1
        return any(before < file.base <= position for file in self.files)


def numbered_files(folder: Path) -> list[tuple[int, Path]]:
    """The regular files of a folder with the number that each is named by, in the order of their names.

    Files whose name is no Java long are left out.
    """
    found: list[tuple[int, Path]] = []
    for path in sorted(folder.iterdir(), key=lambda path: path.name) if folder.is_dir() else []:
        if path.is_symlink() or not path.is_file():
            continue
        try:
            found.append((base_offset(path.name), path))
        except JavaError:
            continue
    return found


def read_log(store: Path, seen: Observations) -> StoredLog:
    """The log of a store, with what its bytes show of the LOG clauses.

    Raises:
        MalformedError: when the files have more than `LARGEST_LOG` bytes together.
        OSError: when a file cannot be read.
    """
    log = StoredLog()
    paths = numbered_files(store / "commitlog")
    sizes = [path.stat().st_size for _, path in paths]
    if sum(path.stat().st_blocks * 512 for _, path in paths) > LARGEST_LOG:
        raise MalformedError(
            file=str(store / "commitlog"),
            found=f"{sum(sizes):,} bytes of commit log",
            expected=f"at most {LARGEST_LOG:,} to judge a store; audit has no such limit",
        )
    for (base, path), size in zip(paths, sizes, strict=True):
        log.files.append(LogFile(path.name, base, size))
    for number, (file, (_, path)) in enumerate(zip(log.files, paths, strict=True)):
        name = f"commitlog/{path.name}"
        seen.compare("LOG-FILE-1", Place(name, None, "name", path.name, file_name(file.base)))
        seen.compare("LOG-FILE-1", Place(name, None, "length", file.size, log.files[0].size))
        if number:
            before = log.files[number - 1]
            seen.compare("LOG-FILE-1", Place(name, None, "base offset", file.base, before.base + before.size))
        if not _read_file(log, file, path, seen):
            if any(_written(later) for _, later in paths[number + 1 :]):
                log.whole = False
                seen.breaks(
                    "LOG-BLANK-1",
                    Place(
                        name,
                        log.end - file.base,
                        "end of the file",
                        "no blank",
                        "a blank before the next file",
                    ),
                )
            break
    _check_queue_offsets(log, seen)
    return log


def _written(path: Path) -> bool:
    with path.open("rb") as file:
        return any(file.read(8))


def _read_file(log: StoredLog, file: LogFile, path: Path, seen: Observations) -> bool:
    """Reads the records of one file; whether it ended in a blank or at its last byte."""
    with path.open("rb") as opened:
        window = Window(opened.fileno())
        position = 0
        name = f"commitlog/{path.name}"
        while position < file.size:
            log.end = file.base + position
            data, at = window.at(position, BLANK.size)
            head = data[at : at + BLANK.size]
            if not any(head):
                seen.hold("LOG-FILE-2")
                return False
            claimed = int.from_bytes(head[:4], "big", signed=True)
            if int.from_bytes(head[4:8], "big", signed=True) == BLANK_MAGIC:
                seen.compare(
                    "LOG-BLANK-1", Place(name, position, "blank size", claimed, file.size - position)
                )
                log.end = file.base + file.size
                return True
            length = claimed if 0 < claimed <= min(_LARGEST_RECORD, file.size - position) else BLANK.size
            data, at = window.at(position, length)
            request = dispatch_request(data, at, check_crc=False, read_body=False)
            if not request.success or request.msg_size <= 0:
                log.whole = False
                found = "bytes that are no record"
                seen.breaks("LOG-REC-1", Place(name, position, "record", found, "a record or zeros"))
                return False
            _check_record(_row(data, at), position, file, request, seen)
            hashes = tuple(key_hash(key) for key in index_keys(request))
            log.records.append(StoredRecord(file.base + position, _kept(request), hashes))
            position += request.msg_size
    log.end = file.base + position
    return position == file.size


def _kept(request: DispatchRequest) -> DispatchRequest:
    """A request without the properties that nothing here looks at."""
    properties = request.properties or {}
    kept = {name: properties[name] for name in _KEPT if name in properties}
    return replace(request, topic=sys.intern(request.topic), properties=kept)


def _row(data: bytes, at: int) -> Record | None:
    try:
        return record(data, at)
    except FormatError:
        return None


def _check_record(
    row: Record | None, position: int, file: LogFile, request: DispatchRequest, seen: Observations
) -> None:
    name = f"commitlog/{file.name}"
    place = file.base + position
    seen.hold("LOG-REC-1", "LOG-REC-3")
    seen.compare("LOG-REC-7", Place(name, position + 28, "phy_offset", request.commit_log_offset, place))
    if position + request.msg_size + BLANK.size > file.size:
        free = "8 bytes left free at the file's end"
        seen.breaks("LOG-BLANK-1", Place(name, position, "record", f"{request.msg_size} bytes", free))
    if row is not None and row.body:
        found = body_checksum(row.body)
        seen.compare(
            "LOG-REC-4", Place(name, position + 8, "body_crc", row.body_crc, found, f"record at {place:,}")
        )
    if row is not None and row.sys_flag & 48:
        seen.hold("LOG-REC-2")


def _check_queue_offsets(log: StoredLog, seen: Observations) -> None:
    """Whether the records of a queue count up by one (LOG-REC-6); a deleted queue may begin again at 0."""
    following: dict[tuple[str, int], int] = {}
    for stored in log.records:
        request = stored.request
        queue = request.topic, request.queue_id
        where = f"commitlog position {stored.position:,}"
        if not stored.queued:
            seen.compare(
                "LOG-REC-6", Place(where, None, "queue_offset", request.consume_queue_offset, 0, str(stored))
            )
            continue
        expected = following.get(queue, request.consume_queue_offset)
        following[queue] = request.consume_queue_offset + 1
        if request.consume_queue_offset == 0 != expected:
            seen.note(
                "a queue counts from 0 again: its files were deleted, or it lost its units to a restart"
            )
            continue
        seen.compare(
            "LOG-REC-6",
            Place(where, None, "queue_offset", request.consume_queue_offset, expected, str(stored)),
        )
