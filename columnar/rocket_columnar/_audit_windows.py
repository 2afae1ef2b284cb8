"""A large commit log to dispatch requests, by a compiled loop over one window after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from rocket_columnar import _compiled_log
from rocket_columnar._audit_compiled import DONE, LEFT, TOPIC, free_place, scan
from rocket_columnar._audit_scan import ROLLBACK, Requests, TopicNames, index_keys, topic_code
from rocket_columnar._compiled_bytes import SLACK
from rocket_columnar._record import DELAY_SECONDS, clean_utf8, parse_properties, tags_code
from rocket_columnar.hashing import hash_keys

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocket_columnar._read import Reader

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


class Windows:
    """The scan of one file: its window, used again and again, and the topics known so far."""

    def __init__(self, reader: Reader, base_offset: int, names: TopicNames, *, check_crc: bool) -> None:
        self._reader = reader
        self._base = base_offset
        self._window = np.empty(_WINDOW + SLACK, np.uint8)
        self._begin = self._end = 0
        self._topics = _Topics(names)
        self._info = np.zeros(6, np.int64)
        self._crc = _compiled_log.crc_table() if check_crc else None

    def run(  # noqa: C901 - one branch for each reason to stop
        self, position: int, end: int
    ) -> tuple[Requests | None, int]:
        """Requests of the records from `position` on that begin before `end`, at most as many as a batch takes.

        Returns:
            The requests, and where the next record begins; None where none verifies that fits into a window.
        """
        rows = min(_ROWS, (end - position) // 91 + 1)
        longs, ints = np.empty((4, rows), np.int64), np.empty((4, rows), np.int32)
        marks, good = np.empty((3, rows), np.int8), np.ones(rows, np.bool_)
        bodies = np.empty((3, rows if self._crc is not None else 0), np.int64)
        hashes = np.empty(min(_KEYS, 3 * rows + (1 << 15)), np.int32)
        row, used, checked = 0, 0, 0
        while position < end:
            if not self._begin <= position < self._end:
                self._load(position)
            why, at, row, used = scan(
                self._window,
                self._end - self._begin,
                position - self._begin,
                end - self._begin,
                self._reader.size - position,
                self._base + position,
                self._topics.arrays,
                _SECONDS,
                longs,
                ints,
                marks,
                bodies,
                hashes,
                self._info,
                row,
                used,
            )
            moved = self._begin + at > position
            position = self._begin + at
            if self._crc is not None:
                self._check(bodies, good, checked, row)
                checked = row
            if why == TOPIC:
                begin, length = self._info[:2].tolist()
                self._topics.add(self._window[begin : begin + length].tobytes())
            elif why == LEFT:
                position, used = self._left(position, longs, ints, marks, hashes, row, used)
                if self._crc is not None:
                    self._check(bodies, good, row, row + 1)
                row += 1
                checked = row
            elif why == DONE and position < end:
                if not moved and self._begin == position:
                    break
                self._begin = self._end = 0  # the record goes on behind the window
            elif why != DONE:
                break
        if not row:
            return None, position
        return _requests(longs, ints, marks, good, hashes[:used], row), position

    def _load(self, position: int) -> None:
        length = min(_WINDOW, self._reader.size - position)
        self._reader.read_into(position, self._window[:length])
        self._begin, self._end = position, position + length

    def _check(self, bodies: NDArray[np.int64], good: NDArray[np.bool_], begin: int, end: int) -> None:
        """Holds the bodies of these rows, which lie in the window, against their checksums."""
        assert self._crc is not None  # noqa: S101 - for the type checkers
        if end > begin:
            places, lengths = bodies[:2, begin:end].astype(np.int32)
            _compiled_log.check_bodies(
                self._window, places, lengths, bodies[2, begin:end], self._crc, good[begin:end]
            )

    def _left(
        self,
        position: int,
        longs: NDArray[np.int64],
        ints: NDArray[np.int32],
        marks: NDArray[np.int8],
        hashes: NDArray[np.int32],
        row: int,
        used: int,
    ) -> tuple[int, int]:
        """Fills what the loop left of a row; where the next record begins, and how many hashes there are."""
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


def _requests(
    longs: NDArray[np.int64],
    ints: NDArray[np.int32],
    marks: NDArray[np.int8],
    good: NDArray[np.bool_],
    hashes: NDArray[np.int32],
    count: int,
) -> Requests:
    return Requests(
        phy_offset=longs[0, :count],
        size=ints[0, :count],
        topic=ints[1, :count],
        queue_id=ints[2, :count],
        queue_offset=longs[1, :count],
        tags_code=longs[3, :count],
        dispatched=marks[1, :count] != 0,
        store_timestamp=longs[2, :count],
        transaction=marks[0, :count],
        crc_ok=good[:count],
        copied=marks[2, :count] != 0,
        key_count=ints[3, :count],
        key_hash=hashes,
    )
