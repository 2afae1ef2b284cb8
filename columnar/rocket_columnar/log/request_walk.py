"""The dispatch requests that a healthy broker makes from a range of one commit-log file.

Only the contents of queues and index files are kept: no bodies, no texts, and only the hashes of keys. Small logs are read
record by record in Python; large ones a window at a time by compiled loops, which leave only records that do not verify,
and text that is not plain UTF-8, to Python.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from zlib import crc32

import numpy as np

from rocket_columnar.formats import (
    Bad,
    FixedFields,
    Record,
    clean_utf8,
    hash_keys,
    parse_properties,
    tags_code,
)
from rocket_columnar.log.frame_walk import NARROW, Walk
from rocket_columnar.log.gaps import Gap
from rocket_columnar.log.request_columns import ROLLBACK, Requests, TopicNames, index_keys

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rocket_columnar.formats import Buffer
    from rocket_columnar.log.compiled_walk import Windows
    from rocket_columnar.store import Reader

__all__ = ["LogStretch"]


_ROWS: Final = 1 << 13


@dataclass(slots=True)
class _Dispatched:
    """The result of each record's dispatch; the columns are those of `Requests`."""

    topic: list[int] = field(default_factory=list)
    tags_code: list[int] = field(default_factory=list)
    dispatched: list[bool] = field(default_factory=list)
    crc_ok: list[bool] = field(default_factory=list)
    copied: list[bool] = field(default_factory=list)
    key_count: list[int] = field(default_factory=list)


class _Rows:
    """Collects records one by one.

    The columns of a decode would do as well, but for the properties that multi-dispatch needs: with these, and before the
    keys are split and hashed, they take a tenth longer.
    """

    def __init__(self, names: TopicNames, *, check_crc: bool) -> None:
        self._names = names
        self._check_crc = check_crc
        self._fixed: list[tuple[int | bytes, ...]] = []
        self._dispatched = _Dispatched()
        self._keys: list[str] = []
        self._topics: dict[bytes, str] = {}

    def __len__(self) -> int:
        return len(self._fixed)

    def add(self, window: Buffer, record: Record) -> None:
        """Adds a record, from the window that contains it."""
        fixed = record.fixed
        raw = window[record.topic : record.topic + record.topic_length]
        topic = self._topics.get(raw)
        if topic is None:
            topic = self._topics[raw] = clean_utf8(raw).decode()
        pairs = parse_properties(window[record.properties : record.properties + record.properties_length])
        code = tags_code(raw, pairs, fixed.store_timestamp)
        keys: list[str] = []
        if code is not None and fixed.sys_flag & ROLLBACK != ROLLBACK:
            keys = index_keys(topic, pairs)
        good = True
        if self._check_crc:
            stored = window[record.body : record.topic - 1]
            good = not stored or crc32(stored) & 0x7FFFFFFF == fixed.body_crc
        self._keys += keys
        self._fixed.append(tuple(fixed))  # garbage collection skips plain tuples of numbers
        columns = self._dispatched
        columns.topic.append(self._names.number(topic))
        columns.tags_code.append(code or 0)
        columns.dispatched.append(code is not None)
        columns.crc_ok.append(good)
        columns.copied.append(b"INNER_MULTI_DISPATCH" in pairs)
        columns.key_count.append(len(keys))

    def take(self) -> Requests:
        """The batch of what was added since the last time."""
        fixed = FixedFields._make(zip(*self._fixed, strict=True))
        columns = self._dispatched
        batch = Requests(
            phy_offset=np.array(fixed.phy_offset, np.int64),
            size=np.array(fixed.total_size, np.int32),
            topic=np.array(columns.topic, np.int32),
            queue_id=np.array(fixed.queue_id, np.int32),
            queue_offset=np.array(fixed.queue_offset, np.int64),
            tags_code=np.array(columns.tags_code, np.int64),
            dispatched=np.array(columns.dispatched, np.bool_),
            store_timestamp=np.array(fixed.store_timestamp, np.int64),
            transaction=(np.array(fixed.sys_flag, np.int32) & ROLLBACK).astype(np.int8),
            crc_ok=np.array(columns.crc_ok, np.bool_),
            copied=np.array(columns.copied, np.bool_),
            key_count=np.array(columns.key_count, np.int32),
            key_hash=hash_keys(self._keys),
        )
        self._fixed, self._dispatched, self._keys = [], _Dispatched(), []
        return batch


class LogStretch:
    """A walk over the records of one file that begin in a range of it.

    Args:
        reader: of the file.
        base_offset: where the file begins in the log, in bytes.
        names: to which topics are added.
        check_crc: whether bodies are checked against their sums.
        compiled: whether compiled loops read it.
        rows: maximum number of records in a batch that these loops make.

    Attributes:
        first: where the walk's first record begins; for a walk without records, where the next one begins that it knows
            of, or the file's end; bytes in the file.
        next: where the first record after the range begins, or the file's end.
        at_end: whether the walk reached the file's end, a blank, or zeros that end the log.
    """

    def __init__(
        self,
        reader: Reader,
        base_offset: int,
        names: TopicNames,
        *,
        check_crc: bool = False,
        compiled: bool = False,
        rows: int = 1 << 14,  # their columns stay in a processor's own cache
    ) -> None:
        self.first = 0
        self.next = 0
        self.at_end = False
        self._reader = reader
        self._base = base_offset
        self._names = names
        self._check_crc = check_crc
        self._compiled = compiled
        self._most_rows = rows
        self._windows: Windows | None = None

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
            end: byte of the file; a gap that begins before it is reported whole.
            exact: whether a record is known to begin at `begin`; otherwise the walk begins at the next
                one in the range that verifies, and what is before it belongs to the range before.
            on_gap: called with each gap; zeros to the file's end are not a gap but still to be written.
        """
        walk = Walk(self._reader, self._base, bodies=self._check_crc, window=NARROW)
        position = begin if exact else walk.next_frame(begin, end)
        self.first = position
        rows = _Rows(self._names, check_crc=self._check_crc)
        windows = None
        if self._compiled:
            from rocket_columnar.log.compiled_walk import Windows

            windows = self._windows = Windows(
                self._reader, self._base, self._names, check_crc=self._check_crc, rows=self._most_rows
            )
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
                position += record.fixed.total_size
                if windows is not None or len(rows) >= _ROWS:
                    yield rows.take()
                continue
            header = walk.entry_header(position)
            if header:
                windows = None  # the compiled loops know no headers between records
                position += header
                continue
            gap, position = self._passed(walk, position, record)
            if gap is not None:
                on_gap(gap)
        self._end(position)
        if len(rows):
            yield rows.take()

    def _end(self, position: int) -> None:
        self.next = position
        self.at_end = position >= self._reader.size
        if self._windows is not None:
            self._windows.close()
            self._windows = None

    def _passed(self, walk: Walk, position: int, bad: Bad) -> tuple[Gap | None, int]:
        """The gap that begins here, and where it goes on; None if the records end, or are written by now."""
        if walk.is_blank(position) or self._reader.first_nonzero(position, self._reader.size) is None:
            return None, self._reader.size
        after = walk.next_frame(position + 1)
        if walk.is_written(position, last=after >= self._reader.size):
            if self._windows is not None:
                self._windows.forget()
            return None, position
        bad = walk.why_none(position, bad)
        return Gap(
            self._reader.name, self._base + position, self._base + after, bad.found, bad.expected
        ), after
