"""Queries by key, as a broker answers them: through the index files to the commit log.

`query` answers once; `OpenStore` keeps the files open for many queries. Nothing is written.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

from rocket_spec.errors import InvalidError, UsageError
from rocket_spec.layout import Geometry

from rocket_columnar.facts import Store
from rocket_columnar.formats import LONG_MAX, LONG_MIN, hash_key, index_key
from rocket_columnar.index import IndexFile
from rocket_columnar.query.beyond_broker import find_all
from rocket_columnar.query.chain_walk import Step, settled, walk
from rocket_columnar.query.log_records import Row, keys_of
from rocket_columnar.query.open_files import OpenFiles

MAX_BATCH: Final = 64
"""Hits at most, whatever is asked for (`MessageStoreConfig.maxMsgsNumBatch`)."""

_ROUNDS: Final = 3


@dataclass(frozen=True, slots=True)
class OffsetAnswer:
    """The result of the index service (`QueryOffsetResult`).

    Attributes:
        offsets: physical offsets in bytes, newest file and newest entry first, repeats kept.
        last_update_timestamp: end timestamp of the newest file, ms; 0 without files.
        last_update_phy_offset: end physical offset of the newest file, bytes; 0 without files.
    """

    offsets: tuple[int, ...]
    last_update_timestamp: int
    last_update_phy_offset: int


@dataclass(frozen=True, slots=True)
class Answer:
    """A broker's answer to a query by key.

    Attributes:
        offsets: physical offsets as the index service finds them in the first round.
        messages: rows of the table commit_log in ascending order of offset; for bytes that do not decode,
            only the columns phy_offset, size and file.
        last_update_timestamp: end timestamp of the newest index file, ms; 0 without a hit.
        last_update_phy_offset: end physical offset of the newest index file, bytes; 0 without a hit.
        truncated: whether hits were dropped because of the limit, min(max_num, 64).
    """

    offsets: tuple[int, ...]
    messages: tuple[Row, ...]
    last_update_timestamp: int
    last_update_phy_offset: int
    truncated: bool


class OpenStore(OpenFiles):
    """An open store for queries; arguments and errors as in `OpenFiles`."""

    def _searched(self, begin: int, end: int) -> Iterator[IndexFile]:
        """The files that a search opens, newest first.

        Source: `IndexService.queryOffset` 166-187.
        """
        for _, index in reversed(self.indexes.files):
            index.load()
            if index.time_matched(begin, end):
                yield index
            if index.header().begin_timestamp < begin:
                return

    def _search(self, key: str, limit: int, begin: int, end: int) -> list[int]:
        offsets: list[int] = []
        for index in self._searched(begin, end):
            select = partial(index.select, key, limit, begin, end, offsets)
            offsets = settled(index, hash_key(key), select)
            if len(offsets) >= limit:
                break
        return offsets

    def query_offset(self, topic: str, key: str, max_num: int, begin: int, end: int) -> OffsetAnswer:
        """Physical offsets of the hits for a key.

        Args:
            topic: its topic.
            key: a key or unique key.
            max_num: maximum number of hits, at most 64.
            begin: first ms of the window, inclusive.
            end: last ms of the window, inclusive.

        Raises:
            UsageError: a negative `max_num`, for which 4.9.3 throws an exception.
            InvalidError: a chain with a cycle but no hit; 4.9.3 would never answer.

        Source: `IndexService.queryOffset` 157-195.
        """
        limit = _limit(max_num)
        offsets = self._search(index_key(topic, key), limit, begin, end)
        if not self.indexes.files:
            return OffsetAnswer(tuple(offsets), 0, 0)
        newest = self.indexes.files[-1][1].header()
        return OffsetAnswer(tuple(offsets), newest.end_timestamp, newest.end_phy_offset)

    def query(self, topic: str, key: str, *, max_num: int, begin: int, end: int) -> Answer:
        """The broker's answer; arguments and errors as `query_offset`.

        Up to three rounds, each with a window that ends at the store time of the lowest hit before; the
        first that yields a message is the last.

        Source: `DefaultMessageStore.queryMessage` 973-1036.
        """
        messages: list[Row] = []
        updated = (0, 0)
        last_end = end
        first = found = self.query_offset(topic, key, max_num, begin, end)
        for number in range(_ROUNDS):
            if number:
                found = self.query_offset(topic, key, max_num, begin, last_end)
            if not found.offsets:
                break
            updated = (found.last_update_timestamp, found.last_update_phy_offset)
            for place, offset in enumerate(sorted(found.offsets)):
                if place == 0:
                    stored = self.log.store_timestamp(offset)
                    if stored is None:
                        continue
                    last_end = stored
                if self.log.data(offset):
                    messages.append(self.log.row(offset))
            if messages or last_end < begin:
                break
        truncated = self._more(index_key(topic, key), len(first.offsets), _limit(max_num), begin, end)
        return Answer(first.offsets, tuple(messages), *updated, truncated)

    def _more(self, key: str, hits: int, limit: int, begin: int, end: int) -> bool:
        """Whether there is a hit beyond the limit."""
        if hits < limit:
            return False
        try:
            return len(self._search(key, limit + 1, begin, end)) > limit
        except InvalidError:  # a cycle after the last hit; the broker doesn't get there
            return False

    def query_exact(self, topic: str, key: str, *, max_num: int, begin: int, end: int) -> Answer:
        """As `query`, with hits of other keys dropped before the limit, and each message counted once.

        A hit counts if the record at its offset decodes and has the requested topic and key.
        """
        limit = _limit(max_num)
        found: dict[int, Row] = {}
        truncated = False
        for offset in self._distinct_hits(hash_key(index_key(topic, key)), begin, end):
            row = self.log.row(offset)
            if row["topic"] == topic and key in keys_of(row):
                if len(found) == limit:
                    truncated = True
                    break
                found[offset] = row
        answer = self.answer_of([found[offset] for offset in sorted(found)])
        return replace(answer, offsets=tuple(found), truncated=truncated)

    def query_all(self, topic: str, key: str, *, begin: int | None = None, end: int | None = None) -> Answer:
        """Every message with a topic and key, whatever a broker's limits; see `rocket_columnar.query.find_all`."""
        window = (LONG_MIN if begin is None else begin, LONG_MAX if end is None else end)
        return self.answer_of(find_all(self, topic, key, window=window))

    def answer_of(self, rows: Sequence[Row]) -> Answer:
        """An answer from rows that were not found in a broker's way."""
        updated = (0, 0)
        if rows and self.indexes.files:
            newest = self.indexes.files[-1][1].header()
            updated = (newest.end_timestamp, newest.end_phy_offset)
        return Answer(tuple(row["phy_offset"] for row in rows), tuple(rows), *updated, truncated=False)

    def _distinct_hits(self, key_hash: int, begin: int, end: int) -> Iterator[int]:
        seen: set[int] = set()
        for index in self._searched(begin, end):
            for step in settled(index, key_hash, partial(_walked, index, key_hash, begin, end)):
                if step.verdict == "hit" and step.phy_offset not in seen:
                    seen.add(step.phy_offset)
                    yield step.phy_offset


def _walked(index: IndexFile, key_hash: int, begin: int, end: int) -> list[Step]:
    return list(walk(index, key_hash, begin, end))


def _limit(max_num: int) -> int:
    if max_num < 0:
        raise UsageError(f"{max_num}: the number of messages must not be negative")
    return min(max_num, MAX_BATCH)


def query(
    store: Store | Path | str,
    topic: str,
    key: str,
    *,
    begin: int | None = None,
    end: int | None = None,
    max_num: int | None = 32,
    exact: bool = False,
    geometry: Geometry | None = None,
    commitlog: Sequence[Path | str] = (),
) -> Answer:
    """Queries a store once.

    Args:
        store: the store, or its directory.
        topic: its topic.
        key: a key or unique key.
        begin: first ms of the window, inclusive; by default 0.
        end: last ms of the window, inclusive; by default the present.
        max_num: maximum number of messages, at most 64, as in a broker. With None, unlike a broker, every
            message with the topic and key is returned, each once; the window uses the records' own store timestamps
            and is unbounded by default.
        exact: drop hits of other keys with the same hash.
        geometry: of the index files; inferred from their content if not given.
        commitlog: further directories of the commit log, as for `find_files`.

    Raises:
        UsageError, FormatError, OSError: as `OpenStore` and its methods.
    """
    with OpenStore(store, geometry, commitlog=commitlog) as opened:
        if max_num is None:
            return opened.query_all(topic, key, begin=begin, end=end)
        ask = opened.query_exact if exact else opened.query
        last = time.time_ns() // 1_000_000 if end is None else end
        return ask(topic, key, max_num=max_num, begin=begin or 0, end=last)
