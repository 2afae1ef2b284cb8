"""Dispatch requests of a large commit log, by a compiled loop over one window after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rocket_columnar import kernels
from rocket_columnar.formats import (
    DELAY_SECONDS,
    SCHEDULE_TOPIC,
    clean_utf8,
    hash_keys,
    parse_properties,
    tags_code,
)
from rocket_columnar.kernels import (
    LEFT,
    READ,
    SLACK,
    STOP,
    TOPIC,
    BodyChecks,
    DispatchTopics,
    DistinctStrings,
    OpenLog,
    RequestColumns,
    prepared,
    scan_requests,
)
from rocket_columnar.log.request_columns import ROLLBACK, Requests, TopicNames, index_keys, topic_code

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocket_columnar.store import Reader

__all__ = ["Windows"]

_WINDOW: Final = 1 << 19  # with what is made of it, it stays in a processor's own cache
_FEW_ROWS: Final = 1 << 12
_SHARE: Final = 8  # a batch of few rows, fewer than one in 8 of its room, is copied, and its room used again
_KEYS: Final = 1 << 21  # beside those of a record of 32 KB of properties
_SECONDS: Final = np.array(DELAY_SECONDS, np.int64)


class _Topics:
    """The topics found so far, in the form that the loop uses."""

    def __init__(self, names: TopicNames) -> None:
        self._names = names
        self._distinct = DistinctStrings()
        self._room = 8
        self._numbers = np.zeros(self._room, np.int32)
        self._codes = np.zeros(self._room, np.int64)
        self._scheduled = np.zeros(self._room, np.bool_)
        self.known = self._packed()

    def __getitem__(self, number: int) -> bytes:
        return self._distinct.items[number]

    def add(self, raw: bytes) -> None:
        """Adds a topic."""
        name, number = clean_utf8(raw).decode(), len(self._distinct.items)
        if number == self._room:
            self._room *= 2
            for column in ("_numbers", "_codes", "_scheduled"):
                setattr(self, column, np.resize(getattr(self, column), self._room))
        self._distinct.add(raw)
        self._numbers[number] = self._names.number(name)
        self._codes[number] = topic_code(name)
        self._scheduled[number] = raw == SCHEDULE_TOPIC
        self.known = self._packed()

    def _packed(self) -> DispatchTopics:
        return DispatchTopics(self._distinct.strings, self._numbers, self._codes, self._scheduled, _SECONDS)


def _room(count: int, *, check_crc: bool) -> RequestColumns:
    """Memory for the records of a batch, which the loop fills."""
    checked = count if check_crc else 0
    kinds = Requests.dtypes()
    columns: dict[str, Any] = {name: np.empty(count, kind) for name, kind in kinds.items()}
    columns["crc_ok"][:] = True
    columns["key_hash"] = np.empty(min(_KEYS, 3 * count + (1 << 15)), np.int32)
    bodies = BodyChecks(
        np.empty(checked, np.int64),
        np.empty(checked, np.int64),
        np.empty(checked, np.int64),
        kernels.crc_table() if check_crc else np.empty((0, 256), np.uint32),
    )
    return RequestColumns(**columns, bodies=bodies)


def _taken(rows: RequestColumns, count: int, hashes: int) -> Requests:
    """The first rows and their first keys, without copying."""
    columns: dict[str, Any] = {name: getattr(rows, name)[:count] for name in Requests.dtypes()}
    columns["key_hash"] = rows.key_hash[:hashes]
    return Requests(**columns)


def _copied(rows: RequestColumns, count: int, hashes: int) -> Requests:
    """The same as copies; the rows can be filled again."""
    taken = _taken(rows, count, hashes)
    copied = Requests(**{name: getattr(taken, name).copy() for name in Requests.dtypes()})
    taken.crc_ok[:] = True
    return copied


class Windows:
    """The scan of one file: its window, which is reused, and the topics known so far."""

    def __init__(
        self, reader: Reader, base_offset: int, names: TopicNames, *, check_crc: bool, rows: int
    ) -> None:
        self._reader = reader
        window = np.empty(_WINDOW + SLACK, np.uint8)
        self._log = OpenLog(reader.descriptor, reader.size, base_offset, window, np.zeros(2, np.int64))
        try:
            self._topics = names.compiled.pop()
        except IndexError:
            self._topics = _Topics(names)
        self._names = names
        self._check_crc = check_crc
        self._rows = self._most_rows = rows
        self._spare: RequestColumns | None = None
        self._scan = prepared(scan_requests)

    def close(self) -> None:
        """Leaves the known topics to another walk."""
        self._names.compiled.append(self._topics)

    def forget(self) -> None:
        """Reads the window again for the next run."""
        self._log.held[:] = 0

    def run(self, position: int, end: int) -> tuple[Requests | None, int]:
        """Requests of the records from `position` on that begin before `end`, at most a batch of them.

        Returns:
            The requests, and where the next record begins; None if no record there verifies and fits into a window.
        """
        rows = self._spare or _room(min(self._rows, (end - position) // 91 + 1), check_crc=self._check_crc)
        self._spare = None
        stop = np.zeros(1, STOP)
        while position < end:
            why, position = self._scan(self._log, position, end, self._topics.known, rows, stop)
            if why == READ:
                self._load(position)
            elif why == TOPIC:
                begin, length = int(stop["topic"][0]), int(stop["length"][0])
                self._topics.add(self._log.window[begin : begin + length].tobytes())
            elif why == LEFT:
                self._complete(rows, stop)
                position += int(stop["size"][0])
            else:
                break
        count, hashes = int(stop["rows"][0]), int(stop["hashes"][0])
        self._rows = min(max(2 * count, _FEW_ROWS), self._most_rows)
        few = count < _FEW_ROWS and count * _SHARE < rows.phy_offset.size
        if few:  # around damage: the caller may hold many such batches
            self._spare = rows
            return _copied(rows, count, hashes) if count else None, position
        return _taken(rows, count, hashes), position

    def _load(self, position: int) -> None:
        length = min(_WINDOW, self._reader.size - position)
        self._reader.read_into(position, self._log.window[:length])
        self._log.held[:] = position, position + length

    def _complete(self, rows: RequestColumns, stop: NDArray[np.void]) -> None:
        """Completes the row that the loop left to Python."""
        left = stop[0]
        row, used = int(left["rows"]), int(left["hashes"])
        begin, end = int(left["properties"]), int(left["properties"] + left["length"])
        raw = self._topics[int(left["number"])]
        pairs = parse_properties(self._log.window[begin:end].tobytes())
        code = tags_code(raw, pairs, int(rows.store_timestamp[row]))
        keys: list[str] = []
        if code is not None and rows.transaction[row] != ROLLBACK:
            keys = index_keys(clean_utf8(raw).decode(), pairs)
        rows.tags_code[row], rows.dispatched[row], rows.key_count[row] = (
            code or 0,
            code is not None,
            len(keys),
        )
        rows.copied[row] = b"INNER_MULTI_DISPATCH" in pairs
        rows.key_hash[used : used + len(keys)] = hash_keys(keys)
        left["rows"], left["hashes"] = row + 1, used + len(keys)
