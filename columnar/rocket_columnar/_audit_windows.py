"""A window of a large commit log at a time, by compiled loops, to dispatch requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from rocket_columnar import _audit_compiled, _compiled_log, _compiled_text
from rocket_columnar._audit_scan import ROLLBACK, Requests, TopicNames, index_keys, topic_code
from rocket_columnar._compiled_log import (
    BODY,
    BODY_LENGTH,
    INTS,
    LONGS,
    PROPERTIES,
    PROPERTIES_LENGTH,
    SPANS,
    TOPIC,
    TOPIC_LENGTH,
)
from rocket_columnar._interned import Interned
from rocket_columnar._record import DELAY_SECONDS, clean_utf8, parse_properties, tags_code
from rocket_columnar.hashing import hash_keys

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocket_columnar._read import Reader

__all__ = ["Windows"]

_WINDOW: Final = 1 << 20
_ROWS: Final = 1 << 14
_SECONDS: Final = np.array(DELAY_SECONDS, np.int64)
_SCHEDULE: Final = "SCHEDULE_TOPIC_XXXX"
_LONG: Final = {name: number for number, name in enumerate(LONGS)}
_INT: Final = {name: number for number, name in enumerate(INTS)}


class Windows:
    """The scan of one file: its window, used again and again, and the topics known so far."""

    def __init__(self, reader: Reader, base_offset: int, names: TopicNames, *, check_crc: bool) -> None:
        self._reader = reader
        self._base = base_offset
        self._names = names
        self._window = np.empty(_WINDOW, np.uint8)
        self._begin = self._end = 0
        self._longs = np.empty((len(LONGS), _ROWS), np.int64)
        self._ints = np.empty((len(INTS), _ROWS), np.int32)
        self._spans = np.empty((SPANS, _ROWS), np.int32)
        self._places = np.zeros((3, _ROWS), np.int32)
        self._sizes = np.empty((3, _ROWS), np.int32)
        self._interned = Interned()
        self._topics = np.empty(0, np.int32)
        self._codes = np.empty(0, np.int64)
        self._scheduled = np.empty(0, np.bool_)
        self._crc = _compiled_log.crc_table() if check_crc else None

    def run(self, position: int, end: int) -> tuple[Requests | None, int]:
        """Requests of the records from `position` on that begin before `end`, at most a window of them.

        Returns:
            The requests, and where the next record begins; None where none verifies that fits into a window.
        """
        count, at = 0, 0
        for fresh in (False, True):
            if fresh or not self._begin <= position < self._end:
                self._load(position)
            at = position - self._begin
            room, offset = self._reader.size - position, self._base + position
            count, at = _compiled_log.frames(
                self._window, self._end - self._begin, at, room, offset, self._longs, self._ints, self._spans
            )
            if count or self._begin == position:
                break
        if not count:
            return None, position
        after = self._begin + at
        if after > end:
            begins = self._spans[0, :count] + self._begin
            inside = int(np.searchsorted(begins, end))
            after = after if inside == count else int(begins[inside])
            count = inside
        return self._batch(count), after

    def _load(self, position: int) -> None:
        length = min(_WINDOW, self._reader.size - position)
        self._reader.read_into(position, self._window[:length])
        self._begin, self._end = position, position + length

    def _topic_numbers(self, spans: NDArray[np.int32]) -> NDArray[np.int32]:
        """Of each record the number of its topic among those that this scan has met."""
        numbers = self._interned.numbers(self._window, spans[TOPIC], spans[TOPIC_LENGTH])
        known = self._interned.items
        if len(known) > len(self._topics):
            names = [clean_utf8(raw).decode() for raw in known]
            self._topics = np.array([self._names.number(name) for name in names], np.int32)
            self._codes = np.array([topic_code(name) for name in names], np.int64)
            self._scheduled = np.array([raw == _SCHEDULE.encode() for raw in known], np.bool_)
        return numbers

    def _batch(self, count: int) -> Requests:
        longs, ints, spans = self._longs[:, :count], self._ints[:, :count], self._spans[:, :count]
        interned = self._topic_numbers(spans)
        times = longs[_LONG["store_timestamp"]]
        transaction = (ints[_INT["sys_flag"]] & ROLLBACK).astype(np.int8)
        tags = np.empty(count, np.int64)
        dispatched = np.ones(count, np.bool_)
        texts = self._texts(spans, self._scheduled[interned], times, tags, dispatched)
        indexed = dispatched & (transaction != ROLLBACK)
        key_count, key_hash = self._key_hashes(texts, interned, indexed, count)
        return Requests(
            phy_offset=longs[_LONG["phy_offset"]].copy(),
            size=ints[_INT["size"]].copy(),
            topic=self._topics[interned],
            queue_id=ints[_INT["queue_id"]].copy(),
            queue_offset=longs[_LONG["queue_offset"]].copy(),
            tags_code=tags,
            dispatched=dispatched,
            store_timestamp=times.copy(),
            transaction=transaction,
            crc_ok=self._bodies(longs, spans),
            key_count=key_count,
            key_hash=key_hash,
        )

    def _texts(
        self,
        spans: NDArray[np.int32],
        scheduled: NDArray[np.bool_],
        times: NDArray[np.int64],
        tags: NDArray[np.int64],
        dispatched: NDArray[np.bool_],
    ) -> dict[int, list[str]]:
        """Fills tags codes, and the places of keys; index keys of the rows that compiled loops leave."""
        count = len(tags)
        left: dict[int, list[str]] = {}
        row = 0
        while True:
            row = _compiled_text.dispatch_texts(
                self._window,
                spans[PROPERTIES],
                spans[PROPERTIES_LENGTH],
                scheduled,
                times,
                _SECONDS,
                row,
                self._places[:, :count],
                self._sizes[:, :count],
                tags,
            )
            if row == count:
                return left
            raw, rest = (
                self._window[at : at + length].tobytes()
                for at, length in (
                    (spans[TOPIC, row], spans[TOPIC_LENGTH, row]),
                    (spans[PROPERTIES, row], spans[PROPERTIES_LENGTH, row]),
                )
            )
            pairs = parse_properties(rest)
            code = tags_code(raw, pairs, int(times[row]))
            tags[row], dispatched[row] = code or 0, code is not None
            left[row] = index_keys(clean_utf8(raw).decode(), pairs)
            self._sizes[:, row] = -1
            row += 1

    def _key_hashes(
        self,
        left: dict[int, list[str]],
        interned: NDArray[np.int32],
        indexed: NDArray[np.bool_],
        count: int,
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        key_count = np.empty(count, np.int32)
        room = int(np.maximum(self._sizes[0, :count], 0).sum(dtype=np.int64)) // 2 + 2 * count + 1
        key_hash = np.empty(room, np.int32)
        used = _audit_compiled.key_hashes(
            self._window,
            self._places[:, :count],
            self._sizes[:, :count],
            self._codes[interned],
            indexed,
            key_count,
            key_hash,
        )
        key_hash = key_hash[:used].copy()
        for row, keys in left.items():
            if indexed[row] and keys:
                at = int(key_count[:row].sum(dtype=np.int64))
                key_hash = np.insert(key_hash, at, hash_keys(keys))
                key_count[row] = len(keys)
        return key_count, key_hash

    def _bodies(self, longs: NDArray[np.int64], spans: NDArray[np.int32]) -> NDArray[np.bool_]:
        good = np.ones(spans.shape[1], np.bool_)
        if self._crc is not None:
            expected = longs[_LONG["body_crc"]]
            _compiled_log.check_bodies(
                self._window, spans[BODY], spans[BODY_LENGTH], expected, self._crc, good
            )
        return good
