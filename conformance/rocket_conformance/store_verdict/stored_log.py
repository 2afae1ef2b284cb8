"""The commit log of a store as its records and files: the records are in a temporary file, memory holds their positions alone."""

import heapq
import marshal
import os
import sys
import tempfile
from array import array
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, replace
from operator import attrgetter
from pathlib import Path
from typing import Any, Final

from rocket_reference import (
    RULES_4_9_3,
    DispatchRequest,
    JavaError,
    Record,
    Rules,
    base_offset,
    index_keys,
    java,
    key_hash,
    record,
)
from rocket_spec.deviations import Audited
from rocket_spec.errors import UsageError
from rocket_spec.layout import LONG_TOPIC_MAGIC

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
    """A record of the log.

    Attributes:
        position: its place in the log, bytes; 4.9.3 takes the recorded offset, which is the same in a healthy log.
        request: what goes to consume queue and index; of its properties only those that decide where it goes.
        hashes: key hashes that go to the index, in their order.
        rules: of the release that the store is judged by.
    """

    position: int
    request: DispatchRequest
    hashes: tuple[int, ...]
    rules: Rules = RULES_4_9_3

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
        """Further queues that it is put into, and the logical offsets that it asks for there (CQ-LMQ-1, CQ-LMQ-2).

        Args:
            light: whether light queues have the number 0.
        """
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
    """Records by position and by queue. Of several at one position, which overlapping log files have, the first is kept.

    Attributes:
        rules: of the release that the store is judged by.
        light: whether light queues have the number 0.
    """

    def __init__(self, rules: Rules = RULES_4_9_3, *, light: bool = True) -> None:
        self.rules = rules
        self.light = light
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

        Raises:
            OSError: the disk has no room for it.
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
