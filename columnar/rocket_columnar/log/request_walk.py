"""A stretch of one commit-log file as the dispatch requests that a healthy broker makes of it.

Only what queues and index files are made of is kept: no bodies, no texts, of each key its hash. Small logs go record
by record through Python; large ones a window at a time through compiled loops, and only what those leave - records
that do not verify, and text that is no plain UTF-8 - comes back to Python.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from zlib import crc32

import numpy as np

from rocket_columnar.formats import Bad, Record, clean_utf8, hash_keys, parse_properties, tags_code
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
            end: byte of the file; a gap that begins before it is told whole.
            exact: whether `begin` is known to be where a record should begin; else the walk begins at the next
                one that verifies, and what lies before it belongs to the range before.
            on_gap: gets what is passed over; zeros to the file's end are the room that is still to be written.
        """
        walk = Walk(self._reader, self._base, bodies=self._check_crc, window=NARROW)
        position = begin if exact else walk.next_frame(begin)
        self.first = position
        rows = _Rows(self._names, check_crc=self._check_crc)
        windows = None
        if self._compiled:
            from rocket_columnar.log.compiled_walk import Windows

            windows = self._windows = Windows(
                self._reader, self._base, self._names, check_crc=self._check_crc
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
                position += record.fixed[0]
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
        self.next = position
        self.at_end = position >= self._reader.size
        if len(rows):
            yield rows.take()

    def _passed(self, walk: Walk, position: int, bad: Bad) -> tuple[Gap | None, int]:
        """The gap that begins here, and where it goes on; None where the records end, or are written by now."""
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
