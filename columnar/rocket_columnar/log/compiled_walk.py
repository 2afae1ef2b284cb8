"""A large commit log to dispatch requests, by a compiled loop over one window after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from rocket_columnar import kernels
from rocket_columnar.formats import DELAY_SECONDS, clean_utf8, hash_keys, parse_properties, tags_code
from rocket_columnar.kernels import LEFT, READ, SLACK, TOPIC, free_place, scan_requests
from rocket_columnar.log.request_columns import ROLLBACK, Requests, TopicNames, index_keys, topic_code

if TYPE_CHECKING:
    from rocket_columnar.store import Reader

__all__ = ["Windows"]

_WINDOW: Final = 1 << 19  # with what is made of it, it stays in a processor's own cache
_ROWS: Final = 1 << 19
_KEYS: Final = 1 << 21  # beside those of a record of 32 KB of properties
_SECONDS: Final = np.array(DELAY_SECONDS, np.int64)
_TOPIC: Final = 127  # bytes of a topic at most
_SCHEDULE: Final = b"SCHEDULE_TOPIC_XXXX"


class _Topics:
    """The topics that a scan has met, as its loop looks them up."""

    def __init__(self, names: TopicNames) -> None:
        self._names = names
        self.items: list[bytes] = []
        self._make_room(8)

    def add(self, raw: bytes) -> None:
        """One more."""
        self.items.append(raw)
        if len(self.items) > self._room:
            self._make_room(2 * self._room)
        self._put(len(self.items) - 1)

    def _make_room(self, room: int) -> None:
        self._room = room
        self.arrays = (
            np.full(4 * room, -1, np.int32),
            np.zeros(_TOPIC * room + SLACK, np.uint8),
            np.zeros(room + 1, np.int64),
            np.zeros(room, np.int32),
            np.zeros(room, np.int64),
            np.zeros(room, np.bool_),
        )
        for number in range(len(self.items) - 1):
            self._put(number)

    def _put(self, number: int) -> None:
        table, pool, bounds, numbers, codes, scheduled = self.arrays
        raw = self.items[number]
        begin, end = int(bounds[number]), int(bounds[number]) + len(raw)
        pool[begin:end] = np.frombuffer(raw, np.uint8)
        bounds[number + 1] = end
        table[free_place(pool, number, table, bounds)] = number
        name = clean_utf8(raw).decode()
        numbers[number], codes[number] = self._names.number(name), topic_code(name)
        scheduled[number] = raw == _SCHEDULE


class _Rows:
    """Room for the records of a batch, as the loop fills it."""

    def __init__(self, count: int, *, check_crc: bool) -> None:
        self.arrays = (
            np.empty((4, count), np.int64),
            np.empty((4, count), np.int32),
            np.empty((3, count), np.int8),
            np.empty(min(_KEYS, 3 * count + (1 << 15)), np.int32),
            np.empty((3, count if check_crc else 0), np.int64),
            np.ones(count, np.bool_),
        )

    def requests(self, count: int, used: int) -> Requests:
        """The first records, with so many keys, as they lie in this room."""
        longs, ints, marks, hashes, _, good = self.arrays
        return Requests(
            phy_offset=longs[0, :count],
            size=ints[0, :count],
            topic=ints[1, :count],
            queue_id=ints[2, :count],
            queue_offset=longs[1, :count],
            tags_code=longs[3, :count],
            dispatched=marks[1, :count].view(np.bool_),
            store_timestamp=longs[2, :count],
            transaction=marks[0, :count],
            crc_ok=good[:count],
            copied=marks[2, :count].view(np.bool_),
            key_count=ints[3, :count],
            key_hash=hashes[:used],
        )


class Windows:
    """The scan of one file: its window, used again and again, and the topics known so far."""

    def __init__(self, reader: Reader, base_offset: int, names: TopicNames, *, check_crc: bool) -> None:
        self._reader = reader
        self._base = base_offset
        self._window = np.empty(_WINDOW + SLACK, np.uint8)
        self._held = np.zeros(2, np.int64)
        self._topics = _Topics(names)
        self._info = np.zeros(6, np.int64)
        self._check_crc = check_crc
        self._crc = kernels.crc_table() if check_crc else np.empty((0, 256), np.uint32)

    def run(self, position: int, end: int) -> tuple[Requests | None, int]:
        """Requests of the records from `position` on that begin before `end`, at most as many as a batch takes.

        Returns:
            The requests, and where the next record begins; None where none verifies that fits into a window.
        """
        rows = _Rows(min(_ROWS, (end - position) // 91 + 1), check_crc=self._check_crc)
        row, used = 0, 0
        while position < end:
            why, position, row, used = scan_requests(
                self._reader.descriptor,
                self._window,
                self._held,
                position,
                end,
                self._reader.size,
                self._base,
                self._topics.arrays,
                _SECONDS,
                rows.arrays,
                self._crc,
                self._info,
                row,
                used,
            )
            if why == READ:
                self._load(position)
            elif why == TOPIC:
                begin, length = self._info[:2].tolist()
                self._topics.add(self._window[begin : begin + length].tobytes())
            elif why == LEFT:
                position, used = self._left(position, rows, row, used)
                row += 1
            else:
                break
        return rows.requests(row, used) if row else None, position

    def _load(self, position: int) -> None:
        length = min(_WINDOW, self._reader.size - position)
        self._reader.read_into(position, self._window[:length])
        self._held[:] = position, position + length

    def _left(self, position: int, rows: _Rows, row: int, used: int) -> tuple[int, int]:
        """Fills what the loop left of a row; where the next record begins, and how many hashes there are."""
        longs, ints, marks, hashes, *_ = rows.arrays
        begin, length, total, place = self._info[2:].tolist()
        raw = self._topics.items[place]
        pairs = parse_properties(self._window[begin : begin + length].tobytes())
        code = tags_code(raw, pairs, int(longs[2, row]))
        keys: list[str] = []
        if code is not None and marks[0, row] != ROLLBACK:
            keys = index_keys(clean_utf8(raw).decode(), pairs)
        longs[3, row], marks[1, row], ints[3, row] = code or 0, code is not None, len(keys)
        marks[2, row] = b"INNER_MULTI_DISPATCH" in pairs
        hashes[used : used + len(keys)] = hash_keys(keys)
        return position + total, used + len(keys)
