"""The commit log of a store as its records and files."""

import os
import sys
from bisect import bisect_right
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from rocket_reference import (
    DispatchRequest,
    JavaError,
    Record,
    base_offset,
    index_keys,
    java,
    key_hash,
    record,
)
from rocket_spec.layout import LONG_TOPIC_MAGIC

from rocket_conformance.store_verdict.record_table import RecordTable, StoredRecord

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
    """The records of a log in their order, and its files.

    Attributes:
        store: its directory.
        records: in the order of their positions.
        stopped: whether the broker stopped cleanly, so that nothing may be missing at the end: there is no file `abort`.
        files: of the log, in their order.
        end: where the log ends, bytes; 0 without a file.
        dledger: whether the log, or its last part, is kept by DLedger.
        committed: where the entries begin that DLedger does not call committed, bytes; beyond every offset without them.
    """

    store: Path
    records: RecordTable
    stopped: bool
    files: list[LogFile] = field(default_factory=list[LogFile])
    end: int = 0
    dledger: bool = False
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
