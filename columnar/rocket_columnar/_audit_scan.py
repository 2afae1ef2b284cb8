"""A stretch of one commit-log file as the dispatch requests that a healthy broker makes of it.

Only what queues and index files are made of is kept: no bodies, no texts, of each key its hash. Small logs go record
by record through Python; large ones a window at a time through compiled loops, and only what those leave - records
that do not verify, and text that is no plain UTF-8 - comes back to Python.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from zlib import crc32

import numpy as np

from rocket_columnar._gap import Gap
from rocket_columnar._java import string_hash
from rocket_columnar._log_walk import NARROW, Walk
from rocket_columnar._read import PAUSES
from rocket_columnar._record import Bad, Record, clean_utf8, parse_properties, tags_code
from rocket_columnar.hashing import hash_keys, index_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from rocket_columnar._read import Reader
    from rocket_columnar._record import Buffer

__all__ = [
    "COMMIT",
    "NOT",
    "PREPARED",
    "ROLLBACK",
    "LogStretch",
    "Requests",
    "TopicNames",
    "index_keys",
    "topic_code",
]

NOT: Final = 0
PREPARED: Final = 4
COMMIT: Final = 8
ROLLBACK: Final = 12
"""Transaction types: the bits 4 and 8 of sys_flag (LOG-REC-5)."""

_ROWS: Final = 1 << 13


@dataclass(slots=True)
class TopicNames:
    """Topics by number, shared by all batches of a log."""

    names: list[str] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)

    def number(self, name: str) -> int:
        """The number of a topic, a new one where it has none."""
        if name not in self.numbers:
            self.numbers[name] = len(self.names)
            self.names.append(name)
        return self.numbers[name]


@dataclass(frozen=True, slots=True)
class Requests:
    """Records of one batch, in the order of the log; all arrays but `key_hash` have one length.

    Attributes:
        phy_offset: bytes.
        size: bytes.
        topic: numbers of the shared `TopicNames`.
        queue_id: queue numbers.
        queue_offset: logical offsets.
        tags_code: what a healthy dispatch gives.
        dispatched: false where a dispatch ends in an exception: nothing is queued or indexed.
        store_timestamp: ms since the epoch.
        transaction: NOT, PREPARED, COMMIT or ROLLBACK.
        crc_ok: whether the body has its checksum; all true where that was not asked for.
        copied: whether the record names queues for multi-dispatch.
        key_count: entries that each record gets in the index.
        key_hash: hashes of these keys, record after record, in the order of their puts.
    """

    phy_offset: NDArray[np.int64]
    size: NDArray[np.int32]
    topic: NDArray[np.int32]
    queue_id: NDArray[np.int32]
    queue_offset: NDArray[np.int64]
    tags_code: NDArray[np.int64]
    dispatched: NDArray[np.bool_]
    store_timestamp: NDArray[np.int64]
    transaction: NDArray[np.int8]
    crc_ok: NDArray[np.bool_]
    copied: NDArray[np.bool_]
    key_count: NDArray[np.int32]
    key_hash: NDArray[np.int32]

    @property
    def queued(self) -> NDArray[np.bool_]:
        """Which records go into consume queues (LOG-DSP-7)."""
        queued: NDArray[np.bool_] = (self.transaction == NOT) | (self.transaction == COMMIT)
        return queued & self.dispatched

    @staticmethod
    def joined(parts: list[Requests]) -> Requests:
        """Batches as one."""
        names = list(Requests.__slots__)
        if not parts:
            kinds = ("i8", "i4", "i4", "i4", "i8", "i8", "?", "i8", "i1", "?", "?", "i4", "i4")
            return Requests(*(np.empty(0, kind) for kind in kinds))
        if len(parts) == 1:
            return parts[0]
        return Requests(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


class _Rows:
    """Records gathered one by one."""

    def __init__(self, names: TopicNames, *, check_crc: bool) -> None:
        self._names = names
        self._check_crc = check_crc
        self._rows: list[tuple[int, int, int, int, int, int, bool, int, int, bool, bool, int]] = []
        self._keys: list[str] = []
        self._topics: dict[bytes, str] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, window: Buffer, record: Record) -> None:
        """One more record, from the window that holds it."""
        fixed = record.fixed
        raw = window[record.topic : record.topic + record.topic_length]
        topic = self._topics.get(raw)
        if topic is None:
            topic = self._topics[raw] = clean_utf8(raw).decode()
        pairs = parse_properties(window[record.properties : record.properties + record.properties_length])
        code = tags_code(raw, pairs, fixed[10])
        transaction = fixed[7] & ROLLBACK
        keys: list[str] = []
        if code is not None and transaction != ROLLBACK:
            keys = index_keys(topic, pairs)
        good = True
        if self._check_crc:
            stored = window[record.body : record.topic - 1]
            good = not stored or crc32(stored) & 0x7FFFFFFF == fixed[2]
        self._keys += keys
        self._rows.append(
            (
                fixed[6], fixed[0], self._names.number(topic), fixed[3], fixed[5], code or 0, code is not None,
                fixed[10], transaction, good, b"INNER_MULTI_DISPATCH" in pairs, len(keys),
            )
        )  # fmt: skip

    def take(self) -> Requests:
        """The batch of what was added since the last time."""
        kinds = ("i8", "i4", "i4", "i4", "i8", "i8", "?", "i8", "i1", "?", "?", "i4")
        columns: list[Any] = [
            np.array(column, kind) for column, kind in zip(zip(*self._rows, strict=True), kinds, strict=True)
        ]
        columns.append(hash_keys(self._keys))
        batch = Requests(*columns)
        self._rows, self._keys = [], []
        return batch


def index_keys(topic: str, pairs: dict[bytes, bytes]) -> list[str]:
    """The index keys of a record, in the order of their puts (IDX-SVC-1, IDX-SVC-2)."""
    keys = []
    unique = pairs.get(b"UNIQ_KEY")
    if unique is not None:
        keys.append(index_key(topic, unique.decode()))
    parts = pairs.get(b"KEYS", b"").split(b" ")
    return keys + [index_key(topic, part.decode()) for part in parts if part]


class LogStretch:
    """A walk over the records of one file that begin in a range of it.

    Attributes:
        first: where the walk's first record begins, or where the walk ended without one; bytes in the file.
        next: where the first record behind the range begins, or the file's end.
        at_end: whether the walk came to the file's end, to a blank, or to zeros that end the log.
    """

    def __init__(
        self,
        reader: Reader,
        base_offset: int,
        names: TopicNames,
        *,
        check_crc: bool = False,
        compiled: bool = False,
    ) -> None:
        self.first = 0
        self.next = 0
        self.at_end = False
        self._reader = reader
        self._base = base_offset
        self._names = names
        self._check_crc = check_crc
        self._compiled = compiled

    def run(
        self,
        begin: int,
        end: int,
        *,
        exact: bool,
        on_gap: Callable[[Gap], None],
    ) -> Iterator[Requests]:
        """The batches of the records that begin in [begin, end).

        Args:
            begin: byte of the file.
            end: byte of the file; a gap that begins before it is told whole.
            exact: whether `begin` is known to be where a record should begin; else the walk begins at the next
                one that verifies, and what lies before it belongs to the range before.
            on_gap: gets what is passed over; zeros to the file's end are the room that is still to be written.
        """
        walk = Walk(self._reader, self._base, window=NARROW)
        position = begin if exact else walk.next_frame(begin)
        self.first = position
        rows = _Rows(self._names, check_crc=self._check_crc)
        windows = None
        if self._compiled:
            from rocket_columnar._audit_windows import Windows

            windows = Windows(self._reader, self._base, self._names, check_crc=self._check_crc)
        while position < end:
            if windows is not None:
                batch, after = windows.run(position, end)
                if batch is not None:
                    position = after
                    yield batch
                    continue
            record = walk.record(position)
            if isinstance(record, Record):
                rows.add(walk.window, record)
                position += record.fixed[0]
                if windows is not None or len(rows) >= _ROWS:
                    yield rows.take()
                continue
            gap, position = self._passed(walk, position, record)
            if gap is not None:
                on_gap(gap)
        self.next = position
        self.at_end = position >= self._reader.size
        if len(rows):
            yield rows.take()

    def _passed(self, walk: Walk, position: int, bad: Bad) -> tuple[Gap | None, int]:
        """The gap that begins here, and where it goes on; None where the records end, or are written by now."""
        if walk.is_blank(position) or self._reader.first_nonzero(position, self._reader.size) is None:
            return None, self._reader.size
        after = walk.next_frame(position + 1)
        if self._is_written(position, last=after >= self._reader.size):
            walk.window = b""
            return None, position
        return Gap(
            self._reader.name, self._base + position, self._base + after, bad.found, bad.expected
        ), after

    def _is_written(self, position: int, *, last: bool) -> bool:
        """Whether a frame verifies here by now: a broker may have written it since its bytes were read."""
        for pause in (0.0, *PAUSES) if last else (0.0,):
            time.sleep(pause)
            walk = Walk(self._reader, self._base, window=NARROW)
            if isinstance(walk.record(position), Record) or walk.is_blank(position):
                return True
        return False


def topic_code(topic: str) -> int:
    """`String.hashCode` of what precedes a topic's keys in the index, as an unsigned number."""
    return string_hash(index_key(topic, "")) & 0xFFFFFFFF
