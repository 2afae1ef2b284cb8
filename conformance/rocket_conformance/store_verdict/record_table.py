"""The records of a log in a private database on disk: memory does not grow with their number."""

import marshal
import sqlite3
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from heapq import merge
from typing import Any, Final
from weakref import finalize

from rocket_reference import RULES_4_9_3, DispatchRequest, Rules

from rocket_conformance.store_verdict.stored_record import StoredRecord, further_queues

Queue = tuple[str, int]
"""Topic and queue number."""

_AT_ONCE: Final = 1_000
"""Records that are written together, and read together."""

_LONG: Final = range(-(1 << 63), 1 << 63)

_TABLES: Final = """
    pragma journal_mode = off;
    create table record (position integer primary key, queue integer, row blob) strict;
    create table further (name blob, queue_id integer, position integer, asked integer) strict;
"""


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
        return self.between(-(1 << 63), (1 << 63) - 1)

    def __reversed__(self) -> Iterator[StoredRecord]:
        return self._select("order by position desc")

    def add(self, stored: StoredRecord) -> None:
        """Adds the record after all that are there."""
        queue: int | None = None
        if stored.queued:
            own = stored.request.topic, stored.request.queue_id
            queue = self._queues.setdefault(own, len(self._queues))
            for name, asked in further_queues(stored):
                values = _bytes(name), stored.request.queue_id, stored.position, asked
                self._database.execute("insert into further values (?, ?, ?, ?)", values)
        self._waiting.append((stored.position, queue, _packed(stored)))
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

    def last_queued(self) -> StoredRecord | None:
        """The last record that has a unit in a consume queue."""
        return next(self._select("where queue is not null order by position desc"), None)

    def last_times(self, milliseconds: int) -> Iterator[int]:
        """Store timestamps of the records with a unit, from the last to the first one more than so long before it."""
        last: int | None = None
        for stored in self._select("where queue is not null order by position desc"):
            time = stored.request.store_timestamp
            yield time
            last = time if last is None else last
            if last - time > milliseconds:
                return

    def times_back_to(self, time: int) -> Iterator[int]:
        """Store timestamps of the records, from the last to the first one before a time, ms."""
        for stored in reversed(self):
            yield stored.request.store_timestamp
            if stored.request.store_timestamp < time:
                return

    # --- queues -----------------------------------------------------------------------------------------

    def queues(self) -> list[Queue]:
        """The queues that records have as their own."""
        self._write()
        used = {number for (number,) in self._database.execute("select distinct queue from record")}
        return [queue for queue, number in self._queues.items() if number in used]

    def of_queue(self, queue: Queue) -> Iterator[StoredRecord]:
        """The records whose own queue it is, in their order."""
        self._write()
        if not self._indexed:
            self._database.executescript(
                "create index by_queue on record (queue); create index by_name on further (name);"
            )
            self._indexed = True
        number = self._queues.get(queue)
        return iter(()) if number is None else self._select("where queue = ? order by position", number)

    def with_further(self, queue: Queue, *, any_number: bool) -> Iterator[tuple[StoredRecord, int]]:
        """The records of a queue, with the logical offsets that they ask for, those that name it as a further one included.

        Args:
            queue: topic and number.
            any_number: whether records of queues with other numbers belong to it.
        """
        own = ((stored, stored.request.consume_queue_offset) for stored in self.of_queue(queue))
        condition = "name = ?" if any_number else "name = ? and queue_id = ?"
        rows = self._database.execute(
            f"select position, asked from further where {condition} order by position",  # noqa: S608
            (_bytes(queue[0]), *queue[1:])[: 1 if any_number else 2],
        )
        others = ((stored, asked) for position, asked in rows if (stored := self.at(position)) is not None)
        return merge(own, others, key=lambda pair: pair[0].position)

    def is_further(self, name: str) -> bool:
        """Whether a record names a further queue of that name."""
        self._write()
        return any(self._database.execute("select 1 from further where name = ? limit 1", (_bytes(name),)))

    # --- the database -----------------------------------------------------------------------------------

    def _write(self) -> None:
        if self._waiting:
            command = "insert or ignore into record values (?, ?, ?)"
            self._count += self._database.executemany(command, self._waiting).rowcount
            self._waiting.clear()

    def _select(self, condition: str, *values: int) -> Iterator[StoredRecord]:
        self._write()
        cursor = self._database.execute(f"select position, row from record {condition}", values)  # noqa: S608
        cursor.arraysize = _AT_ONCE
        return (_unpacked(position, row, self.rules) for position, row in cursor)


def _bytes(name: str) -> bytes:
    """A name as the database compares it: the name of a directory may hold a lone surrogate, for a byte that is not UTF-8."""
    return name.encode("utf-8", "surrogatepass")


def _packed(stored: StoredRecord) -> bytes:
    request = stored.request
    values = (
        request.topic,
        request.queue_id,
        request.commit_log_offset,
        request.msg_size,
        request.tags_code,
        request.store_timestamp,
        request.consume_queue_offset,
        request.keys,
        request.uniq_key,
        request.sys_flag,
        request.prepared_transaction_offset,
        dict(request.properties or {}),
        True,  # success
    )
    return marshal.dumps((values, stored.hashes))


def _unpacked(position: int, row: bytes, rules: Rules) -> StoredRecord:
    values: tuple[Any, ...]
    values, hashes = marshal.loads(row)  # noqa: S302 - bytes of this process
    return StoredRecord(position, DispatchRequest(*values), hashes, rules)
