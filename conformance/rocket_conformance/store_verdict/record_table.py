"""The records of a log in a private database on disk: memory does not grow with their number."""

import marshal
import sqlite3
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Final
from weakref import finalize

from rocket_reference import RULES_4_9_3, DispatchRequest, JavaError, Rules, index_keys, java

Queue = tuple[str, int]
"""Topic and queue number."""

PREPARED: Final = 4
ROLLBACK: Final = 12
_TRANSACTION_TYPE: Final = 12

_AT_ONCE: Final = 1_000
"""Records that are written together, and read together."""

_LONG: Final = range(-(1 << 63), 1 << 63)
_VALUES: Final = attrgetter(*(field.name for field in fields(DispatchRequest)))

_TABLES: Final = """
    pragma journal_mode = off;
    create table record (position integer primary key, queue integer, row blob) strict;
    create table further (name blob, queue_id integer, position integer, asked integer) strict;
"""
_BY_QUEUE: Final = "create index by_queue on record (queue); create index by_name on further (name);"
_OF_QUEUE: Final = """
    select position, (select row from record where record.position = unit.position), asked from (
        select position, null as asked from record where queue = ?1
        union all select position, asked from further where name = ?2 and (queue_id = ?3 or ?4)
        order by position
    ) as unit
"""


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

    def further_queues(self) -> Iterator[tuple[str, int]]:
        """Names of further queues that it is put into, and the logical offsets that it asks for there (CQ-LMQ-1)."""
        properties = self.request.properties or {}
        if "INNER_MULTI_DISPATCH" not in properties or self.queue is None:
            return
        names = java.split(properties["INNER_MULTI_DISPATCH"], ",")
        offsets = java.split(properties.get("INNER_MULTI_QUEUE_OFFSET", ""), ",")
        if len(names) == len(offsets) and names != [""]:
            for name, text in zip(names, offsets, strict=True):
                try:
                    yield name, java.parse_long(text)
                except JavaError:
                    return

    def __str__(self) -> str:
        return f"record at {self.position:,}, topic {self.request.topic}"


@contextmanager
def disk_errors() -> Generator[None]:
    """Around work with tables; also a decorator.

    Raises:
        OSError: a table's temporary file cannot be made, or its disk is full.
    """
    try:
        yield
    except sqlite3.OperationalError as error:
        text = f"temporary file: {error}; set TMPDIR to a directory with room for all records of the log"
        raise OSError(text) from error


class RecordTable:
    """Records by position and by queue. Of several at one position, which overlapping log files have, the first is kept.

    SQLite keeps the database in memory while it is small, and else in a file that goes with this process.

    Attributes:
        rules: of the release that the store is judged by.
    """

    def __init__(self, rules: Rules = RULES_4_9_3) -> None:
        self.rules = rules
        self._database = sqlite3.connect("")
        finalize(self, self._database.close)
        self._database.executescript(_TABLES)
        self._queues: dict[Queue, int] = {}
        self._waiting: list[tuple[int, int | None, bytes]] = []
        self._count = 0
        self._indexed = False

    def __len__(self) -> int:
        self._write()
        return self._count

    def __iter__(self) -> Iterator[StoredRecord]:
        return self._select("order by position")

    def backwards(self, *, queued: bool = False) -> Iterator[StoredRecord]:
        """The records from the last one on, or those with a unit in a consume queue."""
        return self._select(f"{'where queue is not null' if queued else ''} order by position desc")

    def add(self, stored: StoredRecord) -> None:
        """Adds the record after all that are there."""
        queue = stored.queue
        number = None if queue is None else self._queues.setdefault(queue, len(self._queues))
        for name, asked in stored.further_queues():
            values = _bytes(name), stored.request.queue_id, stored.position, asked
            self._database.execute("insert into further values (?, ?, ?, ?)", values)
        self._waiting.append(
            (stored.position, number, marshal.dumps((_VALUES(stored.request), stored.hashes)))
        )
        if len(self._waiting) >= _AT_ONCE:
            self._write()

    def at(self, position: int) -> StoredRecord | None:
        """The record at a position, bytes."""
        return next(self._select("where position = ?", position), None) if position in _LONG else None

    def between(self, begin: int, end: int) -> Iterator[StoredRecord]:
        """The records from `begin` up to and without `end`, bytes, in their order."""
        return self._select("where position >= ? and position < ? order by position", begin, end)

    def cut(self, position: int) -> None:
        """Removes the records at and after a position, bytes."""
        self._write()
        for table in ("record", "further"):
            self._database.execute(f"delete from {table} where position >= ?", (position,))  # noqa: S608
        ((self._count,),) = self._database.execute("select count(*) from record")

    # --- queues -----------------------------------------------------------------------------------------

    def queues(self) -> list[Queue]:
        """The queues that records have as their own."""
        self._write()
        used = {number for (number,) in self._database.execute("select distinct queue from record")}
        return [queue for queue, number in self._queues.items() if number in used]

    def of_queue(
        self, queue: Queue, *, further: bool = False, any_number: bool = False
    ) -> Iterator[tuple[StoredRecord, int]]:
        """The records of a queue in their order, with the logical offsets that they ask for.

        Args:
            queue: topic and number.
            further: whether records that name it as a further queue belong to it.
            any_number: of those, the ones of queues with other numbers, too.
        """
        self._write()
        if not self._indexed:
            self._database.executescript(_BY_QUEUE)
            self._indexed = True
        name = _bytes(queue[0]) if further else None
        values = self._queues.get(queue, -1), name, queue[1], any_number
        for position, row, asked in self._rows(_OF_QUEUE, values):
            if row is not None:  # else a further one of a record that was not kept
                stored = self._unpacked(position, row)
                yield stored, stored.request.consume_queue_offset if asked is None else asked

    def is_further(self, name: str) -> bool:
        """Whether a record names a further queue of that name."""
        return any(self._rows("select 1 from further where name = ? limit 1", (_bytes(name),)))

    # --- the database -----------------------------------------------------------------------------------

    def _write(self) -> None:
        if self._waiting:
            command = "insert or ignore into record values (?, ?, ?)"
            self._count += self._database.executemany(command, self._waiting).rowcount
            self._waiting.clear()

    def _rows(self, query: str, values: tuple[object, ...]) -> sqlite3.Cursor:
        self._write()
        cursor = self._database.execute(query, values)
        cursor.arraysize = _AT_ONCE
        return cursor

    def _select(self, condition: str, *values: int) -> Iterator[StoredRecord]:
        rows = self._rows(f"select position, row from record {condition}", values)  # noqa: S608
        return (self._unpacked(position, row) for position, row in rows)

    def _unpacked(self, position: int, row: bytes) -> StoredRecord:
        values, hashes = marshal.loads(row)  # noqa: S302 - bytes of this process
        return StoredRecord(position, DispatchRequest(*values), hashes, self.rules)


def _bytes(name: str) -> bytes:
    """A name as the database compares it: the name of a directory may hold a lone surrogate, for a byte that is not UTF-8."""
    return name.encode("utf-8", "surrogatepass")
