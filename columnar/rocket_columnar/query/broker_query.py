"""Queries by key, as a broker answers them: through the index files to the commit log.

`query` answers once; `OpenStore` keeps the files open for many queries. Nothing is written.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Final, Literal, TypeVar

import numpy as np
from rocket_spec.errors import InvalidError, UsageError
from rocket_spec.layout import Geometry

from rocket_columnar.decode import decode
from rocket_columnar.facts import Store
from rocket_columnar.formats import LONG_MAX, LONG_MIN, SCHEDULE_TOPIC, OffsetId, hash_key, index_key, to_i64
from rocket_columnar.index import IndexFile
from rocket_columnar.query.open_files import CommitLog, OpenFiles, Row, keys_of
from rocket_columnar.store import StoreFile, WorkDone, is_gone, size_of

# Explains a query by the commit log: the record of each hit, and records of the key without a hit.


_COLUMNS: Final = ("phy_offset", "topic", "keys", "uniq_key", "store_timestamp", "sys_flag", "properties")
_WAITING: Final = {"RMQ_SYS_TRANS_HALF_TOPIC": "half", SCHEDULE_TOPIC.decode(): "delayed"}
_BYTES_AT_ONCE: Final = 4 << 20


@dataclass(frozen=True, slots=True)
class Check:
    """The record at the physical offset of an entry: whether it is one with the key, the same in words, and its store timestamp in ms, if any."""

    verdict: Literal["the key", "another key", "no record"]
    text: str
    store_timestamp: int | None


@dataclass(frozen=True, slots=True)
class Found:
    """A record of the log that has a key, or nearly."""

    phy_offset: int  # its physical offset, bytes
    topic: str
    store_timestamp: int
    sys_flag: int  # as stored
    # "key" (a dispatch indexes it under the key), "other topic", or "part" (the key is a part of a key with commas, or holds
    # spaces itself)
    how: Literal["key", "other topic", "part"]
    # where it is a message for the topic asked for that is under another: "half" of a transaction, "delayed", or one that
    # multi-dispatch "copied" into that queue; else None
    stands_for: str | None = None


def check_record(log: CommitLog, offset: int, topic: str, key: str) -> Check:
    """Reads the record at a physical offset, and compares topic and keys."""
    row = log.row(offset)
    if row["topic"] is not None:
        same = row["topic"] == topic and key in keys_of(row)
        keys = " ".join(sorted(keys_of(row))) or "none"
        text = f"topic {row['topic']}, keys {keys}"
        return Check("the key" if same else "another key", text, row["store_timestamp"])
    bounds = log.range
    if bounds is None:
        text = "the store has no commit log"
    elif (file := log.file_at(offset)) is None:
        if offset < bounds[0]:
            text = f"the commit log begins at {bounds[0]:,}: expired"
        elif offset >= bounds[1]:
            text = f"the commit log's files end at {bounds[1]:,}"
        else:
            text = "a commit-log file is missing there"
    else:
        text = f"{file.name} has no whole record there"
    return Check("no record", text, None)


def find_key(log: CommitLog, topic: str, key: str) -> Iterator[Found]:
    """Records that have the key, in the order of the log; damaged ranges are skipped."""
    sizes = [size_of(file) or 0 for file in log.files]
    work = WorkDone(log.on_progress, sum(sizes))
    for file, end in zip(log.files, accumulate(sizes), strict=True):
        try:
            yield from _find_in(file, topic, key, work)
        except FileNotFoundError:  # expired since it was listed
            if not is_gone(file):
                raise
        work.reach(end)


def _find_in(file: StoreFile, topic: str, key: str, work: WorkDone) -> Iterator[Found]:
    if not _holds(file, key, work):
        return
    for _, batch in decode([file], tables=["commit_log"], columns=_COLUMNS, on_gap=lambda _: None):
        for row in batch.to_pylist():
            how = _how(row, topic, key)
            if how is not None:
                place = row["phy_offset"], row["topic"], row["store_timestamp"], row["sys_flag"]
                yield Found(*place, how, _stands_for(row, topic) if how == "other topic" else None)


def _stands_for(row: Row, topic: str) -> str | None:
    properties = dict(row["properties"])
    if properties.get("REAL_TOPIC") == topic:
        return _WAITING.get(row["topic"])
    copied = properties.get("INNER_MULTI_DISPATCH", "").split(",")
    return "copied" if topic and topic in copied else None


def _how(row: Row, topic: str, key: str) -> Literal["key", "other topic", "part"] | None:
    keys = keys_of(row)
    if key in keys:
        return "key" if row["topic"] == topic else "other topic"
    if row["topic"] != topic:
        return None
    if row["keys"] == key or any(key in part.split(",") for part in keys):
        return "part"
    return None


def _holds(file: StoreFile, key: str, work: WorkDone) -> bool:
    """Whether the file's bytes hold the key's, so that it pays to decode it."""
    needle = key.encode(errors="replace")
    if not needle or "\ufffd" in key:  # bytes that are not UTF-8 decode to U+FFFD
        return True
    with file.open() as reader:
        for begin, end in reader.extents():
            for start in range(begin, end, _BYTES_AT_ONCE):
                stop = min(start + _BYTES_AT_ONCE + len(needle) - 1, end)
                work.add(min(_BYTES_AT_ONCE, end - start))
                if needle in reader.read(start, stop - start).tobytes():
                    return True
    return False


# Walks one chain, entry by entry, and states what each means to a query; always ends.


_T = TypeVar("_T")

Verdict = Literal["hit", "other hash", "outside the window"]


@dataclass(frozen=True, slots=True)
class Step:
    """One entry of a chain.

    Attributes:
        offset: byte offset in the file.
        phy_offset: as stored, bytes.
        time_diff: as stored, seconds.
        store_timestamp: begin_timestamp + 1000 * time_diff, ms: where a query places the entry.
        verdict: what the entry by itself means to the query.
        read: whether a broker gets here; False after the entry that ends its walk.
        stop: why a broker's walk ends at this entry, and the clause; None if it goes on.
    """

    entry: int
    offset: int
    key_hash: int
    phy_offset: int
    time_diff: int
    store_timestamp: int
    prev_entry: int
    verdict: Verdict
    read: bool
    stop: str | None


def walk(
    index: IndexFile, key_hash: int, begin: int, end: int, *, past_stop: bool = False, searched: bool = True
) -> Iterator[Step]:
    """The entries of the hash's chain, newest first, each once, for a window in ms, both ends inclusive.

    With `past_stop` to the chain's real end, after the entry at which a broker stops; `searched` is whether a broker opens this file
    for the query at all. Source: IDX-SEL-1 .. IDX-SEL-8; `IndexFile.selectPhyOffset` 191-265.
    """
    header = index.header()
    count = header.index_count
    seen: set[int] = set()
    read = searched
    for entry, stored in index.chain(key_hash):
        seen.add(entry)
        time = to_i64(header.begin_timestamp + 1000 * stored.time_diff)
        verdict: Verdict = "hit" if begin <= time <= end else "outside the window"
        if stored.key_hash != key_hash:
            verdict = "other hash"
        end_of_chain = _end(index, entry, stored.prev_entry, count, seen)
        stop = end_of_chain
        if stored.time_diff < 0:
            verdict = verdict if verdict == "other hash" else "outside the window"
            stop = "its time diff is negative (IDX-SEL-5)"
        elif time < begin and end_of_chain is None:
            stop = "it is before the window (IDX-SEL-7)"
        yield Step(
            entry,
            index.entry_position(entry),
            *stored[:3],
            time,
            stored.prev_entry,
            verdict,
            read,
            stop if read else None,
        )
        read = read and stop is None
        if end_of_chain is not None or not (read or past_stop):
            return


def settled(index: IndexFile, key_hash: int, ask: Callable[[], _T]) -> _T:
    """The answer of `ask` by the hash's slot; the file is read again if a broker has put into the slot since its header was."""
    index.settled(np.array([key_hash]))
    return ask()


def _end(index: IndexFile, entry: int, previous: int, count: int, seen: set[int]) -> str | None:
    """The reason that a chain has no further entry, or None."""
    if previous == 0:
        return "the chain ends"
    if previous < 0 or previous > count:
        return f"its previous entry, {previous:,}, is out of range (IDX-SEL-6)"
    if previous == entry:
        return "its previous entry is itself (IDX-SEL-6)"
    if previous in seen:
        return f"the chain leads back to entry {previous:,}: a cycle, which a broker follows forever"
    if index.entry(previous) is None:
        return f"entry {previous:,} is outside the file (IDX-SEL-8)"
    return None


# Messages that a broker does not return: every one with a key, by the IDs of a message, or without the index.
#
# A record is returned only if the commit log contains it with the requested topic and key; each once, in
# ascending order of offset. Windows use the record's own store timestamp, to the ms.


_LONG: Final = (LONG_MIN, LONG_MAX)


def find_all(store: OpenFiles, topic: str, key: str, *, window: tuple[int, int] = _LONG) -> list[Row]:
    """Every message that some index file leads to under a key or unique key, stored in a window of ms, both ends inclusive.

    All files are walked to the real ends of their chains; damage ends a chain, and every walk ends.
    """
    return _find(store, [topic], key, window)


def _find(store: OpenFiles, topics: Sequence[str], key: str, window: tuple[int, int] = _LONG) -> list[Row]:
    """The messages of several topics, topic by topic."""
    hashes = np.array([hash_key(index_key(topic, key)) for topic in topics], np.int64)
    offsets: list[set[int]] = [set() for _ in topics]
    for _, index in store.indexes.files:
        index.load()
        for number, offset in zip(*(column.tolist() for column in index.hits(hashes)), strict=True):
            offsets[number].add(offset)
    return [
        row
        for topic, some in zip(topics, offsets, strict=True)
        for row in _rows(store, topic, key, some, window)
    ]


def _rows(
    store: OpenFiles, topic: str, key: str, offsets: Iterable[int], window: tuple[int, int]
) -> list[Row]:
    """The records at these offsets that have a topic and a key."""
    rows = (store.log.row(offset) for offset in sorted(offsets))
    return [row for row in rows if row["topic"] == topic and key in keys_of(row) and _inside(row, window)]


def scan(store: OpenFiles, topic: str | None, key: str, *, window: tuple[int, int] = _LONG) -> list[Row]:
    """Every message with a key in the commit log, damaged ranges aside, without using the index; of any topic if none is given."""
    wanted = ("key",) if topic is not None else ("key", "other topic")
    found = (record.phy_offset for record in find_key(store.log, topic or "", key) if record.how in wanted)
    return [row for row in map(store.log.row, sorted(set(found))) if _inside(row, window)]


def find_by_unique_key(store: OpenFiles, unique_key: str, topics: Iterable[str]) -> list[Row]:
    """Every message of these topics with this unique key from a client; a resend has the key of the first attempt.

    Source: `MQAdminImpl.queryMessageByUniqKey`, which keeps the one that was stored first.
    """
    return [row for row in _find(store, list(topics), unique_key) if row["uniq_key"] == unique_key]


def find_by_offset_id(store: OpenFiles, offset_id: OffsetId) -> list[Row]:
    """A list of the record at the offset of an ID, or an empty one; no index is used.

    Source: `QueryMessageProcessor.viewMessageById` 127-160.
    """
    row = store.log.row(offset_id.phy_offset)
    return [] if row["topic"] is None else [row]


def _inside(row: Row, window: tuple[int, int]) -> bool:
    """Whether a record is stored in a window; there is none in a file that another overlaps, or that is gone since."""
    return row["topic"] is not None and bool(window[0] <= row["store_timestamp"] <= window[1])


MAX_BATCH: Final = 64  # hits at most, whatever is asked for (`MessageStoreConfig.maxMsgsNumBatch`)

_ROUNDS: Final = 3


@dataclass(frozen=True, slots=True)
class OffsetAnswer:
    """The result of the index service (`QueryOffsetResult`)."""

    offsets: tuple[int, ...]  # physical offsets in bytes, newest file and newest entry first, repeats kept
    last_update_timestamp: int  # end timestamp of the newest file, ms; 0 without files
    last_update_phy_offset: int  # end physical offset of the newest file, bytes; 0 without files


@dataclass(frozen=True, slots=True)
class QueryAnswer:
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
        """The files that a search opens, newest first. Source: `IndexService.queryOffset` 166-187."""
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
        """Physical offsets of the hits, at most 64, for a key or unique key in a window of ms, both ends inclusive.

        Raises UsageError: a negative `max_num`, for which 4.9.3 throws an exception.
        Raises InvalidError: a chain with a cycle but no hit; 4.9.3 would never answer.
        Source: `IndexService.queryOffset` 157-195.
        """
        limit = _limit(max_num)
        offsets = self._search(index_key(topic, key), limit, begin, end)
        if not self.indexes.files:
            return OffsetAnswer(tuple(offsets), 0, 0)
        newest = self.indexes.files[-1][1].header()
        return OffsetAnswer(tuple(offsets), newest.end_timestamp, newest.end_phy_offset)

    def query(self, topic: str, key: str, *, max_num: int, begin: int, end: int) -> QueryAnswer:
        """The broker's answer; arguments and errors as `query_offset`. Source: `DefaultMessageStore.queryMessage` 973-1036.

        Up to three rounds, each with a window that ends at the store time of the lowest hit before; the first that yields a message is the last.
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
        return QueryAnswer(first.offsets, tuple(messages), *updated, truncated)

    def _more(self, key: str, hits: int, limit: int, begin: int, end: int) -> bool:
        """Whether there is a hit beyond the limit."""
        if hits < limit:
            return False
        try:
            return len(self._search(key, limit + 1, begin, end)) > limit
        except InvalidError:  # a cycle after the last hit; the broker doesn't get there
            return False

    def query_exact(self, topic: str, key: str, *, max_num: int, begin: int, end: int) -> QueryAnswer:
        """As `query`; hits whose records do not decode or have other keys are dropped before the limit, and each message counted once."""
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

    def query_all(
        self, topic: str, key: str, *, begin: int | None = None, end: int | None = None
    ) -> QueryAnswer:
        """Every message with a topic and key, whatever a broker's limits; see `rocket_columnar.query.find_all`."""
        window = (LONG_MIN if begin is None else begin, LONG_MAX if end is None else end)
        return self.answer_of(find_all(self, topic, key, window=window))

    def answer_of(self, rows: Sequence[Row]) -> QueryAnswer:
        """An answer from rows that were not found in a broker's way."""
        updated = (0, 0)
        if rows and self.indexes.files:
            newest = self.indexes.files[-1][1].header()
            updated = (newest.end_timestamp, newest.end_phy_offset)
        return QueryAnswer(tuple(row["phy_offset"] for row in rows), tuple(rows), *updated, truncated=False)

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
) -> QueryAnswer:
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
