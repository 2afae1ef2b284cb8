"""The dispatch requests that a healthy broker makes of a log's records, single records by their offsets, and where the log ends."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import lru_cache
from threading import Lock
from typing import Any, Final, NamedTuple, Self
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from rocket_spec.layout import RECORD_FIXED_V4, RECORD_MAGICS
from rocket_spec.profiles import profile

from rocket_columnar.fast import PlainLog, log_form
from rocket_columnar.formats import (
    DELAYS,
    FixedFields,
    Record,
    clean_utf8,
    index_key,
    parse_properties,
    string_hash,
    tag_key,
)
from rocket_columnar.log.scan import (
    ROWS,
    Gap,
    Records,
    RowTopics,
    Scan,
    Walk,
    bodies_match,
    tags_codes,
)
from rocket_columnar.store import Reader, StoreFile, file_at

# Dispatch requests of commit-log records, as columns.


# Transaction types: the bits 4 and 8 of sys_flag (LOG-REC-5).
NOT: Final = 0
PREPARED: Final = 4
COMMIT: Final = 8
ROLLBACK: Final = 12


_NAMING: Final = Lock()


@dataclass(slots=True)
class TopicNames:
    """Topics by number, and numbers by topic, shared by all batches of a log and the threads that read it."""

    names: list[str] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)

    def number(self, name: str) -> int:
        """The number of a topic, a new one if it has none."""
        number = self.numbers.get(name)
        if number is not None:
            return number
        with _NAMING:
            if name not in self.numbers:
                self.names.append(name)
                self.numbers[name] = len(self.names) - 1
        return self.numbers[name]


@dataclass(frozen=True, slots=True)
class Requests:
    """Records of one batch, in the order of the log; all arrays but `key_hash` have one length."""

    phy_offset: NDArray[np.int64]  # bytes
    size: NDArray[np.int32]  # bytes
    topic: NDArray[np.int32]  # numbers of the shared `TopicNames`
    queue_id: NDArray[np.int32]
    queue_offset: NDArray[np.int64]
    tags_code: NDArray[np.int64]  # as a healthy dispatch writes it
    # False if the dispatch throws an exception, so that nothing is queued or indexed
    dispatched: NDArray[np.bool_]
    store_timestamp: NDArray[np.int64]  # ms since the epoch
    transaction: NDArray[np.int8]  # NOT, PREPARED, COMMIT or ROLLBACK
    crc_ok: NDArray[np.bool_]  # whether the body matches its checksum; all True if that was not requested
    copied: NDArray[np.bool_]  # whether the record names queues for multi-dispatch
    key_count: NDArray[np.int32]  # number of entries of each record in the index
    key_hash: NDArray[np.int32]  # hashes of these keys, record after record, in the order of their puts

    @property
    def queued(self) -> NDArray[np.bool_]:
        """A mask of the records that go into consume queues (LOG-DSP-7)."""
        queued: NDArray[np.bool_] = (self.transaction == NOT) | (self.transaction == COMMIT)
        return queued & self.dispatched

    def part(self, start: int, stop: int, bounds: NDArray[np.int64]) -> Requests:
        """Records `start` up to `stop`; `bounds` has the number of keys before each record."""
        columns: dict[str, Any] = {name: getattr(self, name)[start:stop] for name in _DTYPES}
        columns["key_hash"] = self.key_hash[int(bounds[start]) : int(bounds[stop])]
        return Requests(**columns)

    @staticmethod
    def dtypes() -> dict[str, type[np.generic]]:
        """The type of each column."""
        return dict(_DTYPES)

    @staticmethod
    def joined(parts: list[Requests]) -> Requests:
        """Batches as one."""
        if len(parts) == 1:
            return parts[0]
        columns: dict[str, Any] = {
            name: np.concatenate([np.empty(0, kind), *(getattr(part, name) for part in parts)])
            for name, kind in _DTYPES.items()
        }
        return Requests(**columns)


_DTYPES: Final[dict[str, type[np.generic]]] = {
    "phy_offset": np.int64,
    "size": np.int32,
    "topic": np.int32,
    "queue_id": np.int32,
    "queue_offset": np.int64,
    "tags_code": np.int64,
    "dispatched": np.bool_,
    "store_timestamp": np.int64,
    "transaction": np.int8,
    "crc_ok": np.bool_,
    "copied": np.bool_,
    "key_count": np.int32,
    "key_hash": np.int32,
}


@lru_cache(maxsize=1 << 16)
def topic_code(topic: str) -> int:
    """`String.hashCode` of what precedes a topic's keys in the index, as an unsigned number."""
    return string_hash(index_key(topic, "")) & 0xFFFFFFFF


@lru_cache(maxsize=1 << 16)
def tag_code(topic: str) -> int:
    """The same of what precedes a topic's tags in the index of 5.4.0 and later."""
    return string_hash(tag_key(topic, "")) & 0xFFFFFFFF


_CRC_NAME: Final = b"__CRC32#\1"
_CRC_SIZE: Final = 20  # bytes: the name, ten digits and a byte 2


def property_crc_matches(record: bytes | memoryview) -> bool:
    """Whether the checksum that ends a whole record is that of the bytes before it; true without one (LOG-PROP-8)."""
    name, digits = bytes(record[-_CRC_SIZE:-11]), bytes(record[-11:-1])
    if name != _CRC_NAME or not digits.isdigit():
        return True
    return crc32(record[:-_CRC_SIZE]) & 0x7FFFFFFF == int(digits[::-1])


def properties_match(records: Records) -> NDArray[np.bool_]:
    """Whether each record has the CRC of its own property `__CRC32#`; only before its values are found."""
    view, rows = records.window.data, records.rows
    ends = (rows["properties_at"] + rows["properties_length"]).tolist()
    good = [
        property_crc_matches(view[end - size : end])
        for end, size in zip(ends, rows["size"].tolist(), strict=True)
    ]
    return np.array(good, np.bool_)


# The dispatch requests that a healthy broker makes from a range of one commit-log file.


class KeyRules(NamedTuple):
    """Rules by which a broker reads the properties of a record, by its release and configuration."""

    tag_keys: bool = False  # messages are also indexed under their tags, as since 5.4.0
    one_separator: bool = False  # a property that contains a second separator is dropped, as before 4.9.1
    delays: tuple[int, ...] = DELAYS  # ms of each delay level of the broker

    @staticmethod
    def of(version: str) -> KeyRules:
        """The rules of a release."""
        rules = profile(version).rules
        return KeyRules(rules.get("has_tag_keys", False), rules.get("one_separator", False))


RULES_4_9_3: Final = KeyRules()


class Dispatch:
    """Makes dispatch requests of records, and adds their topics to `names`; with `check_crc` bodies and properties are checked against their sums."""

    def __init__(self, names: TopicNames, form: PlainLog, *, check_crc: bool, keys: KeyRules) -> None:
        self._names = names
        self._rules = keys
        self._check_crc = check_crc
        self._topics = RowTopics(form, lambda raw: names.number(clean_utf8(raw).decode()))

    def requests(self, records: Records) -> Requests:
        """The requests of some records; their rows are changed."""
        sound = np.ones(len(records.rows), np.bool_)
        if self._check_crc:
            sound = bodies_match(records) & properties_match(records)
        records.find_values(one_separator=self._rules.one_separator)
        rows = records.rows
        numbers = self._topics.numbers(records)
        topics = self._topics.values(numbers).astype(np.int32)
        codes, known = tags_codes(records, self._topics.scheduled[numbers], self._rules.delays)
        dispatched = np.ones(len(rows), np.bool_) if known is None else known
        transaction = rows["sys_flag"] & ROLLBACK
        silent = ~dispatched | (transaction == ROLLBACK)
        for name in ("keys", "uniq_key", "tags"):
            rows[f"{name}_length"][silent] = 0
        key_count, key_hash = self._keys(records, topics, topic_code)
        if self._rules.tag_keys:
            rows["uniq_key_at"], rows["uniq_key_length"] = rows["tags_at"], rows["tags_length"]
            rows["keys_length"] = 0
            counts, hashes = self._keys(records, topics, tag_code)
            key_hash = np.insert(key_hash, np.cumsum(key_count)[counts > 0], hashes)
            key_count += counts
        return Requests(
            **{name: rows[name].copy() for name in ("phy_offset", "size", "queue_id", "queue_offset")},
            topic=topics,
            tags_code=codes,
            dispatched=dispatched,
            store_timestamp=rows["store_timestamp"].copy(),
            transaction=transaction.astype(np.int8),
            crc_ok=sound,
            copied=rows["multi_dispatch"].copy(),
            key_count=key_count,
            key_hash=key_hash,
        )

    def _keys(
        self, records: Records, topics: NDArray[np.int32], code_of: Callable[[str], int]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        before = np.array([code_of(name) for name in self._names.names], np.uint32)[topics]
        return records.form.hash_keys(records.window, records.rows, before)


class RequestScan:
    """The requests of the records of one file that begin in a range of it; arguments as of `Scan` and `Dispatch`.

    Only the contents of queues and index files are kept: no bodies, no texts, and only the hashes of keys.
    """

    def __init__(
        self,
        reader: Reader,
        base_offset: int,
        names: TopicNames,
        *,
        check_crc: bool = False,
        rows: int = ROWS,
        keys: KeyRules = RULES_4_9_3,
    ) -> None:
        form = log_form(reader.allocated)
        self._scan = Scan(reader, base_offset, form, bodies=check_crc, rows=rows)
        self._dispatch = Dispatch(names, form, check_crc=check_crc, keys=keys)

    @property
    def first(self) -> int:
        """See `Scan`."""
        return self._scan.first

    @property
    def next(self) -> int:
        """See `Scan`."""
        return self._scan.next

    def run(self, begin: int, end: int, *, exact: bool, on_gap: Callable[[Gap], None]) -> Iterator[Requests]:
        """The batches of the records that begin in [begin, end); arguments as of `Scan.run`."""
        for records in self._scan.run(begin, end, exact=exact, on_gap=on_gap):
            yield self._dispatch.requests(records)


def read_requests(
    file: StoreFile, names: TopicNames, on_gap: Callable[[Gap], None], *, keys: KeyRules = RULES_4_9_3
) -> Iterator[Requests]:
    """The requests of one commit-log file, by the rules of the release; `on_gap` is called with each range in which no record verifies."""
    with file.open() as reader:
        if not reader.size:
            on_gap(Gap(reader.name, file.base_offset, file.base_offset, "an empty file", "a commit log"))
            return
        scan = RequestScan(reader, file.base_offset, names, keys=keys)
        yield from scan.run(0, reader.size, exact=True, on_gap=on_gap)


# The puts of a queue's records: which of them get a unit (CQ-PUT-2, CQ-PUT-3; `ConsumeQueue.putMessagePositionInfo` 481-513).


def units_taken(offsets: NDArray[np.int64], next_unit: int) -> NDArray[np.bool_]:
    """A mask of a queue's records, in the order of the log, that get a unit, by the logical offsets that they state.

    A record that states a logical offset below the next unit's gets none, unless it states 0; one that states a greater
    offset gets the next unit. `next_unit` is the one before them.
    """
    if offsets.size and offsets[0] >= next_unit and (np.diff(offsets) > 0).all():
        return np.ones(offsets.size, np.bool_)
    taken = np.zeros(offsets.size, np.bool_)
    for place, offset in enumerate(offsets.tolist()):
        if offset == 0 or offset >= next_unit:
            taken[place] = True
            next_unit += 1
    return taken


def requests_before_gap(
    files: Iterable[tuple[StoreFile, int]],
    names: TopicNames,
    *,
    bounds: tuple[int, int],
    on_gap: Callable[[Gap], None] = lambda _: None,
    keys: KeyRules = RULES_4_9_3,
) -> Iterator[tuple[Reader, int, Requests]]:
    """The requests of a log up to its first gap, which a missing file is not, with the reader and the start of their file.

    Each file comes with its length. Records begin at physical offsets within `bounds`; `on_gap` is called with the first gap.
    """
    for file, size in files:
        base = file.base_offset
        first, stop = max(bounds[0] - base, 0), min(bounds[1] - base, size)
        if first >= stop:
            continue
        gaps: list[Gap] = []
        with file.open() as reader:
            scan = RequestScan(reader, base, names, keys=keys)
            for batch in scan.run(first, stop, exact=True, on_gap=gaps.append):
                if not gaps:
                    yield reader, base, batch
        if gaps:
            on_gap(gaps[0])
            return


# Single records of a log, and its end.


def misplaced(reader: Reader, base_offset: int, at: int) -> tuple[int, int]:
    """Length of a record that verifies but for its own offset, and by how much that is off; zeros if there is none."""
    if at + RECORD_FIXED_V4 > reader.size:
        return 0, 0
    head = reader.read(at, RECORD_FIXED_V4).tobytes()
    recorded = int.from_bytes(head[28:36], signed=True)
    if int.from_bytes(head[4:8], signed=True) not in RECORD_MAGICS or recorded == base_offset + at:
        return 0, 0
    walk = Walk(reader, recorded - at)  # as if it were at the offset that it gives
    record = walk.record(at)
    return (record.fixed.total_size, recorded - base_offset - at) if isinstance(record, Record) else (0, 0)


# Finds the end of the log, reading only little before it.


_BACK: Final = 1 << 18


class Tail(NamedTuple):
    """The files of a log and its end."""

    files: tuple[StoreFile, ...]  # those that exist
    sizes: tuple[int, ...]
    # number of bytes of each file up to the end of its data, without holes at its end
    filled: tuple[int, ...]
    end: int  # physical offset after the last record; where the log begins without one
    newest: int | None  # store timestamp of the newest record near the end, ms; None without one


def log_tail(files: Sequence[StoreFile]) -> Tail:
    """Finds the end of a log; a file that no longer exists is skipped. An OSError if one cannot be read."""
    there, sizes, filled = [], [], []
    for file in files:
        try:
            with file.open() as reader:
                there.append(file)
                sizes.append(reader.size)
                filled.append(reader.data_end())
        except FileNotFoundError:  # expired meanwhile
            continue
    for file in reversed(there):
        found = _end(file)
        if found is not None:
            return Tail(tuple(there), tuple(sizes), tuple(filled), *found)
    begin = there[0].base_offset if there else 0
    return Tail(tuple(there), tuple(sizes), tuple(filled), begin, None)


def zeros_after(files: Sequence[StoreFile], end: int) -> bool:
    """Whether log files hold nothing but zeros from a physical offset on; an OSError if one cannot be read."""
    for file in files:
        with file.open() as reader:
            if reader.first_nonzero(max(end - file.base_offset, 0), reader.size) is not None:
                return False
    return True


def _end(file: StoreFile) -> tuple[int, int] | None:
    """Physical offset after the last record of a file and the newest store timestamp near it, or None."""
    with file.open() as reader:
        last = reader.last_nonzero(0, reader.size)
        if last is None:
            return None
        walk = Walk(reader, file.base_offset, bodies=False)
        back = _BACK
        while True:
            position = walk.next_frame(max(last - back, 0)) if back < last else 0
            end, newest = 0, 0
            while position <= last:
                record = walk.record(position)
                if isinstance(record, Record):
                    position += record.fixed.total_size
                    end, newest = position, max(newest, record.fixed.store_timestamp)
                elif walk.is_blank(position):
                    break
                else:
                    position = walk.next_frame(position + 1)
            if end:
                return file.base_offset + end, newest
            if back >= last:
                return None
            back *= 8


# Records of the log by physical offset, one here and one there.


class VerifiedRecord(NamedTuple):
    """A record that verifies, without its body: its fixed fields, its topic, and the pairs of its properties."""

    fixed: FixedFields
    topic: str
    pairs: dict[bytes, bytes]


class StoredRecords:
    """The records of some log files, in the order of their offsets; use it in a `with` block.

    The file of the last record stays open: of ascending offsets the next record is often in what was read.
    """

    def __init__(self, files: Sequence[StoreFile]) -> None:
        self._files = files
        self._stack = ExitStack()
        self._file: StoreFile | None = None
        self._walk: Walk | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def at(self, phy_offset: int, *, shifted: bool = False) -> VerifiedRecord | None:
        """The record that begins at a physical offset; None if none verifies there. An OSError if its file cannot be read.

        With `shifted` also one that verifies but for its own offset.
        """
        file = file_at(self._files, phy_offset)
        if file is None:
            return None
        if self._walk is None or file is not self._file:
            self._stack.close()
            reader = self._stack.enter_context(file.open())
            self._file, self._walk = file, Walk(reader, file.base_offset, bodies=False)
        walk, position = self._walk, phy_offset - file.base_offset
        record = walk.record(position)
        if shifted and not isinstance(record, Record):
            _, shift = misplaced(walk.reader, file.base_offset, position)
            walk = Walk(walk.reader, file.base_offset + shift, bodies=False)
            record = walk.record(position)
        window = walk.window
        if not isinstance(record, Record):
            return None
        topic = window[record.topic :][: record.topic_length].tobytes()
        pairs = parse_properties(window[record.properties :][: record.properties_length].tobytes())
        return VerifiedRecord(record.fixed, clean_utf8(topic).decode(), pairs)
