"""Large commit logs to columns: a piece of the file at a time, whose records a compiled loop finds and reads.

The memory of the pieces is reused, and small enough for the cache. The content of columns goes straight into their
memory, bodies only if they are requested. Whatever does not verify is left to the walk in `log_rows`, so that
gaps are reported the same way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from rocket_columnar.decode.large_log_batch import TEXTS, Rows
from rocket_columnar.decode.large_log_late_columns import PARTS, Parts
from rocket_columnar.decode.large_log_window import Window
from rocket_columnar.formats import (
    DELAY_SECONDS,
    LONG_MAX,
    LONG_MIN,
    SCHEDULE_TOPIC,
    parse_properties,
    tags_code,
)
from rocket_columnar.kernels import (
    FULL,
    LEFT,
    SCHEDULED,
    STOP,
    TOPIC,
    WANTED,
    DistinctStrings,
    Limits,
    Piece,
    RowSpans,
    TopicKinds,
    prepared,
    scan_columns,
)

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

    from rocket_columnar.arrow import Columns
    from rocket_columnar.decode.filters import Where
    from rocket_columnar.decode.record_columns import Topics
    from rocket_columnar.store import Reader

__all__ = ["LogScan", "Scanned"]

_PIECE: Final = 1 << 20
_LARGE_PIECE: Final = 4 << 20  # where each piece is a batch, or goes from thread to thread
_ROWS: Final = 1 << 15
_FIRST_ROWS: Final = 1 << 13
_FIRST_TOPICS: Final = 8
_BYTES: Final = 32 << 20  # of the log that a batch is made of, even where it has few rows
_SECONDS: Final = np.array(DELAY_SECONDS, np.int64)


class _Known:
    """The topics found so far, in the form that the compiled loop uses."""

    def __init__(self, topics: Topics, where: Where | None) -> None:
        self._topics = topics
        self._where = where
        self._distinct = DistinctStrings()
        self._numbers, self._kinds = np.zeros(_FIRST_TOPICS, np.int32), np.zeros(_FIRST_TOPICS, np.uint8)
        self._pack()

    def __getitem__(self, number: int) -> bytes:
        return self._distinct.items[number]

    def add(self, raw: bytes) -> None:
        """One more."""
        number = len(self._distinct.items)
        if number == self._numbers.size:
            self._numbers = np.resize(self._numbers, 2 * number)
            self._kinds = np.resize(self._kinds, 2 * number)
        self._distinct.add(raw)
        self._numbers[number] = self._topics.number(raw)
        wanted = self._where is None or self._where.topic(raw)
        self._kinds[number] = WANTED * wanted | SCHEDULED * (raw == SCHEDULE_TOPIC)
        self._pack()

    def _pack(self) -> None:
        self.kinds = TopicKinds(self._distinct.strings, self._numbers, self._kinds, _SECONDS)


def _limits(where: Where | None) -> Limits:
    times = where.times if where is not None else None
    offsets = where.offsets if where is not None else None
    values = (*(times or (LONG_MIN, LONG_MAX)), *(offsets or (LONG_MIN, LONG_MAX)))
    return Limits(*(min(max(value, LONG_MIN), LONG_MAX) for value in values))


class Scanned(NamedTuple):
    """What one run of a scan found.

    Attributes:
        rows: how many rows.
        records: how many records they are of.
        after: where the next record begins. If it did not advance, what is there does not verify, or is longer than
            the window.
        columns: without `file`.
        late: more columns, which another thread is making.
    """

    rows: int
    records: int
    after: int
    columns: Columns
    late: Future[Columns] | None


class LogScan:
    """The scan of one decode: its columns, the window, and the topics and hosts known so far."""

    def __init__(
        self,
        names: set[str],
        topics: Topics,
        batch_rows: int,
        where: Where | None = None,
        pool: ThreadPoolExecutor | None = None,
    ) -> None:
        """Scans for columns of these names.

        A `pool`, of one thread, reads a piece while the one before is scanned, and makes the late columns of the one
        before that.
        """
        self._topics = topics
        self._most = min(batch_rows, _ROWS)
        self._parts = Parts(names) if names & PARTS else None
        self._names = names if self._parts is None else names | self._parts.fields
        small = self._parts is None and pool is None
        self._pool = pool
        self._window = Window(_PIECE if small else _LARGE_PIECE, pool, lends=self._parts is not None)
        self._known = _Known(topics, where)
        self._limits = _limits(where)
        self._expected = min(self._most, _FIRST_ROWS)
        self._room = dict.fromkeys(TEXTS, 32 * self._expected)
        self._stop = np.zeros(1, STOP)
        self._scan = prepared(scan_columns)

    def run(self, reader: Reader, base_offset: int, position: int, stop: int) -> Scanned:
        """Rows from `position` of the file on that begin before `stop`, at most a batch of them."""
        window, stopped = self._window, self._stop
        rows = Rows(self._names, self._expected, self._room, with_spans=self._parts is not None)
        start, records = position, 0
        while position < min(stop, start + _BYTES):
            bound = self._parts is not None and rows.count > 0  # to the window that holds the rows' parts
            if not window.holds(reader, position) and (bound or not window.move(reader, position, stop)):
                break
            at = window.first + position - window.begin
            piece = Piece(
                window.data,
                at,
                at + stop - position,
                at + window.end - position,
                reader.size - position,
                base_offset + position,
            )
            why, after, rows.count = self._scan(
                piece, self._known.kinds, self._limits, rows.columns, rows.count, stopped
            )
            position += after - at
            records += int(stopped["records"][0])
            if why == TOPIC:
                begin, length = int(stopped["topic"][0]), int(stopped["length"][0])
                self._known.add(window.data[begin : begin + length].tobytes())
            elif why == LEFT:
                if not self._add_left(rows):
                    break
                position += int(stopped["size"][0])
                records += 1
            elif why == FULL or (self._parts is not None and rows.count):
                break
            elif position < stop and not window.move(reader, position, stop):
                window.drop()
                break
        if not rows.count:
            return Scanned(0, records, position, {}, None)
        # The next batch gets as much memory as this one needed, and what it may need more.
        self._expected = min(2 * rows.count, self._most)
        self._room = {name: rows.used(name) * self._expected // rows.count for name in TEXTS}
        columns = rows.take(self._topics.array())
        return Scanned(rows.count, records, position, columns, self._make_late(rows, columns))

    def _make_late(self, rows: Rows, columns: Columns) -> Future[Columns] | None:
        """Adds the columns that are made from the rows' parts, or has another thread make them."""
        if self._parts is None:
            return None
        spans = RowSpans(*(column[: rows.count] for column in rows.columns.spans))
        wanted = self._window.data, spans, rows.field("body_crc")
        if self._pool is None:
            columns |= self._parts.columns(*wanted)
            return None
        late = self._pool.submit(self._parts.columns, *wanted)
        self._window.lend(late)
        return late

    def _add_left(self, rows: Rows) -> bool:
        """Completes the row that the compiled loop left; returns whether there was room for its texts."""
        stop = self._stop[0]
        begin, end = int(stop["properties"]), int(stop["properties"] + stop["length"])
        pairs = parse_properties(self._window.data[begin:end].tobytes())
        topic, timestamp = self._known[int(stop["number"])], int(stop["store_timestamp"])
        return rows.add_texts(pairs, tags_code(topic, pairs, timestamp))

    def drop(self) -> None:
        """Releases the file, which is closed next."""
        self._window.drop()
