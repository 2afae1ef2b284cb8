"""The commit log of a store as its records and files."""

from __future__ import annotations

import os
import sys
from bisect import bisect_left
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from rocket_reference import DispatchRequest, JavaError, Record, base_offset, index_keys, key_hash, record

__all__ = ["ROLLBACK", "LogFile", "StoredLog", "StoredRecord", "name_in", "numbered_files"]

_KEPT: Final = ("TAGS", "INNER_MULTI_DISPATCH", "INNER_MULTI_QUEUE_OFFSET")

_FIXED: Final = 91
_IPV6: Final = 48
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
    """A commit-log file: its path relative to the store, its base offset and length, bytes."""

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
        dledger: whether the log, or its last part, is kept by DLedger.
        dledger_begin: where that part begins, bytes; beyond every offset in a plain log.
        store: its directory.
        after_blanks: where files begin that follow one with a blank at its end.
    """

    records: list[StoredRecord] = field(default_factory=list[StoredRecord])
    files: list[LogFile] = field(default_factory=list[LogFile])
    end: int = 0
    whole: bool = True
    dledger: bool = False
    dledger_begin: int = 1 << 63
    store: Path = Path()
    after_blanks: set[int] = field(default_factory=set[int])

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

    def keep(self, position: int, request: DispatchRequest) -> None:
        """Adds the record at a position, after all that are there."""
        hashes = tuple(key_hash(key) for key in index_keys(request))
        self.records.append(StoredRecord(position, _kept(request), hashes))

    def row_of(self, stored: StoredRecord) -> Record:
        """All fields of a record, read from its file again."""
        return record(self._bytes_of(stored))

    def properties_of(self, stored: StoredRecord) -> bytes:
        """The properties of a record as they are stored: what is left of its length (LOG-REC-3)."""
        data = self._bytes_of(stored)
        row = record(data)
        hosts = 12 * (row.sys_flag & _IPV6).bit_count()
        return data[_FIXED + hosts + len(row.body) + len(row.topic.encode("utf-8")) :]

    def _bytes_of(self, stored: StoredRecord) -> bytes:
        file = next(file for file in self.files if 0 <= stored.position - file.base < file.size)
        with (self.store / file.name).open("rb") as opened:
            return os.pread(opened.fileno(), stored.request.msg_size, stored.position - file.base)

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


def name_in(store: Path, path: Path) -> str:
    """A file's path relative to the store, or as it is when the file is outside."""
    return path.relative_to(store).as_posix() if path.is_relative_to(store) else str(path)


def _kept(request: DispatchRequest) -> DispatchRequest:
    """A request without the properties that nothing here looks at."""
    properties = request.properties or {}
    kept = {name: properties[name] for name in _KEPT if name in properties}
    return replace(request, topic=sys.intern(request.topic), properties=kept)
