"""Large commit logs to columns: a window of the file at a time, its records found and read by compiled loops.

The window's memory is used again; what a column needs is copied out of it, bodies only where they are asked for.
Whatever does not verify is left to the walk in `_decode_log`, so that gaps are told the same way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from rocket_columnar import _arrow, _compiled_log
from rocket_columnar._compiled_log import (
    BODY,
    BODY_LENGTH,
    INTS,
    LONGS,
    SPANS,
    START,
    TOPIC,
    TOPIC_LENGTH,
)
from rocket_columnar._interned import Interned
from rocket_columnar._record import host
from rocket_columnar._scan_properties import pair_columns, text_columns

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

    from numpy.typing import NDArray

    from rocket_columnar._arrow import Array, Columns
    from rocket_columnar._log_rows import Topics
    from rocket_columnar._read import Reader
    from rocket_columnar.filters import Where

__all__ = ["LogScan", "Part"]

_WINDOW: Final = 8 << 20
_ROWS: Final = 1 << 16
_LEFT: Final = 1 << 20  # a window with so many bytes to come is not given up for the next
_IPV6: Final = {"born_host": 16, "store_host": 32}
_MOST_HOSTS: Final = 1 << 16  # known at a time: ports make each client another
_SCHEDULE: Final = b"SCHEDULE_TOPIC_XXXX"


class Part:
    """Records of one window: their fixed fields by name, and where their parts lie in it."""

    def __init__(self, window: NDArray[np.uint8], longs: NDArray[np.int64], ints: NDArray[np.int32]) -> None:
        self.window = window
        self.fixed: dict[str, NDArray[np.int64] | NDArray[np.int32]] = {
            **dict(zip(LONGS, longs, strict=True)),
            **dict(zip(INTS, ints, strict=True)),
        }
        self.spans = np.empty((SPANS, 0), np.int32)
        self.scheduled = np.empty(0, np.bool_)

    def span(self, start: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Starts and lengths of the part of each record whose constants are `start` and the one behind it."""
        return self.spans[start], self.spans[start + 1]

    def bytes(self, row: int, start: int) -> bytes:
        """That part of one record."""
        at, length = self.spans[start, row], self.spans[start + 1, row]
        return self.window[at : at + length].tobytes()


class LogScan:
    """The scan of one decode: what its columns are, the window, and the topics and hosts known so far."""

    def __init__(
        self,
        names: set[str],
        topics: Topics,
        batch_rows: int,
        where: Where | None = None,
        pool: ThreadPoolExecutor | None = None,
    ) -> None:
        """Scans for columns of these names; with a `pool`, one window is read while the one before is looked at."""
        self._pool = pool
        self._spare = np.empty(_WINDOW if pool is not None else 0, np.uint8)
        self._ahead: tuple[Reader, int, Future[None]] | None = None
        self._where = where
        self._names = names
        self._topics = topics
        self._rows = min(batch_rows, _ROWS)
        self._window = np.empty(_WINDOW, np.uint8)
        self._reader: Reader | None = None
        self._begin = 0
        self._end = 0
        self._topic_bytes = Interned()
        self._topic_numbers = np.empty(0, np.int32)
        self._hosts = Interned()
        self._crc_table = _compiled_log.crc_table()

    def run(self, reader: Reader, base_offset: int, position: int, stop: int) -> tuple[int, int, Columns]:
        """Rows from `position` of the file on that begin before `stop`, at most a window of them.

        Returns:
            How many rows, where the next record begins, and the columns, less `file`. No step forward: what
            lies there does not verify, or is longer than the window.
        """
        longs = np.empty((len(LONGS), self._rows), np.int64)
        ints = np.empty((len(INTS), self._rows), np.int32)
        spans = np.empty((SPANS, self._rows), np.int32)
        count, at = 0, 0
        for fresh in (False, True):
            if fresh or reader is not self._reader or not self._begin <= position < self._end:
                self._load(reader, position)
            at = position - self._begin
            count, at = _compiled_log.frames(
                self._window,
                self._end - self._begin,
                at,
                reader.size - position,
                base_offset + position,
                longs,
                ints,
                spans,
            )
            if count or self._begin == position:
                break
        if not count:
            return 0, position, {}
        if self._begin + at > stop:
            count = int(np.searchsorted(spans[START, :count], stop - self._begin))
            at = int(spans[START, count - 1] + ints[0, count - 1])
        if self._begin + at < stop:
            self._read_ahead(reader, self._begin + at)
        longs, ints, spans = longs[:, :count], ints[:, :count], spans[:, :count]
        keep = None if self._where is None else self._kept(self._where, longs, spans)
        if keep is not None:
            longs, ints, spans = longs[:, keep], ints[:, keep], np.ascontiguousarray(spans[:, keep])
        part = Part(self._window, longs, ints)
        part.spans = spans
        count = spans.shape[1]
        return count, self._begin + at, self._columns(part) if count else {}

    def _kept(
        self, where: Where, longs: NDArray[np.int64], spans: NDArray[np.int32]
    ) -> NDArray[np.bool_] | None:
        """Which records are rows; nothing else of them has been read."""
        fixed = dict(zip(LONGS, longs, strict=True))
        keep = where.rows(phy_offsets=fixed["phy_offset"], store_timestamps=fixed["store_timestamp"])
        if where.topics is not None:
            numbers = self._topic_bytes.numbers(self._window, spans[TOPIC], spans[TOPIC_LENGTH])
            passing = np.array([where.topic(raw) for raw in self._topic_bytes.items], np.bool_)
            keep = passing[numbers] if keep is None else keep & passing[numbers]
        return keep

    def _load(self, reader: Reader, position: int) -> None:
        """Makes the window hold the bytes from `position` on: those that were read ahead, or read now."""
        length = min(len(self._window), reader.size - position)
        ahead, self._ahead = self._ahead, None
        if ahead is not None:
            ahead[2].result()
        if ahead is not None and ahead[:2] == (reader, position):
            self._window, self._spare = self._spare, self._window
        else:
            reader.read_into(position, self._window[:length])
        self._reader, self._begin, self._end = reader, position, position + length

    def _read_ahead(self, reader: Reader, position: int) -> None:
        """Has the window behind this one read, unless that holds more than was looked at."""
        if (
            self._pool is None
            or self._ahead is not None
            or self._end - position > _LEFT < reader.size - position
        ):
            return
        room = self._spare[: min(len(self._spare), reader.size - position)]
        self._ahead = reader, position, self._pool.submit(reader.read_into, position, room)

    def drop(self) -> None:
        """Waits for what is read ahead: the reader is closed next."""
        if self._ahead is not None:
            self._ahead[2].result()
            self._ahead = None

    def _columns(self, part: Part) -> Columns:
        names = self._names
        columns: Columns = {
            name: _arrow.integers(values) for name, values in part.fixed.items() if name in names
        }
        for name in names & _IPV6.keys():
            columns[name] = self._host_column(part, name)
        if names & {"topic", "tags_code", "keys", "uniq_key", "tags"}:
            topics = self._topic_column(part)
            if "topic" in names:
                columns["topic"] = topics
        if "body" in names:
            columns["body"] = _arrow.gathered(*_gathered(part.window, *part.span(BODY)))
        if "crc_ok" in names:
            good = np.empty(part.spans.shape[1], np.bool_)
            expected = part.fixed["body_crc"].astype(np.int64, copy=False)
            _compiled_log.check_bodies(
                part.window, part.spans[BODY], part.spans[BODY_LENGTH], expected, self._crc_table, good
            )
            columns["crc_ok"] = _arrow.booleans(good)
        if names & {"keys", "uniq_key", "tags", "tags_code"}:
            columns |= text_columns(part, names)
        if "properties" in names:
            columns["properties"] = pair_columns(part)
        return columns

    def _topic_column(self, part: Part) -> Array:
        numbers = self._topic_bytes.numbers(part.window, part.spans[TOPIC], part.spans[TOPIC_LENGTH])
        known = self._topic_bytes.items
        if len(known) > len(self._topic_numbers):
            self._topic_numbers = np.array([self._topics.number(raw) for raw in known], np.int32)
        if _SCHEDULE in known:
            part.scheduled = numbers == known.index(_SCHEDULE)
        else:
            part.scheduled = np.zeros(len(numbers), np.bool_)
        return _arrow.dictionary(self._topic_numbers[numbers], self._topics.array())

    def _host_column(self, part: Part, name: str) -> Array:
        flags = part.fixed["sys_flag"]
        lengths = np.where(flags & _IPV6[name], np.int32(20), np.int32(8))
        starts = part.spans[START] + np.int32(48)
        if name == "store_host":
            starts += np.where(flags & _IPV6["born_host"], np.int32(28), np.int32(16))
        if len(self._hosts) > _MOST_HOSTS:
            self._hosts = Interned()
        numbers = self._hosts.numbers(part.window, starts, lengths)
        used, places = np.unique(numbers, return_inverse=True)
        known = self._hosts.items
        texts = _arrow.strings([host(known[number]) for number in used.tolist()])
        return _arrow.taken(texts, places.astype(np.int32))


def _gathered(
    window: NDArray[np.uint8], starts: NDArray[np.int32], lengths: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
    offsets = np.zeros(len(lengths) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    data = np.empty(int(offsets[-1]), np.uint8)
    _compiled_log.gather(window, window[:0], starts, offsets, data)
    return offsets, data
