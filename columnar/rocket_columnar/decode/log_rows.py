"""A commit-log file to rows: record after record to the blank or the zeros after the last one.

Where a record does not verify, the walk goes on at the next frame that does, and reports the gap.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

from rocket_spec.errors import MalformedError

from rocket_columnar.decode.record_columns import LogRows, Topics
from rocket_columnar.formats import Bad, Record
from rocket_columnar.log import LARGE, Gap, Walk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rocket_columnar.arrow import Columns
    from rocket_columnar.decode.filters import Where
    from rocket_columnar.decode.large_log import LogScan
    from rocket_columnar.store import Reader

__all__ = ["COMPILED_FROM", "LARGE", "LogState", "log_columns"]

COMPILED_FROM: Final = 100_000
"""Records of a log from which compiled loops serve; below, their start-up would cost more than they save."""

_ROWS: Final = 1 << 13  # of a batch at most: Python's objects of more rows than this cost more than they save
_SAMPLE: Final = 1 << 6  # records that tell how many there may be


def _zeros(reader: Reader, position: int) -> bool:
    return reader.first_nonzero(position, reader.size) is None


class LogState:
    """What the files of one decode share: the topics, and the compiled scan once it is worth its start.

    Attributes:
        names: the columns wanted.
        batch_rows: rows of a batch at most.
        where: which records are rows; None for all.
        topics: the dictionary of topics.
        room: bytes that the disk holds of the files up to the present one.
    """

    def __init__(
        self, names: set[str], batch_rows: int, where: Where | None = None, *, threads: int = 1
    ) -> None:
        self.names = names
        self.bodies = bool(names & {"body", "crc_ok"})
        self._threads = threads
        self._mean = 0  # bytes of a record, of late
        self.where = where
        self.batch_rows = batch_rows
        self.topics = Topics()
        self.room = 0
        self._rows = 0
        self._bytes = 0
        self._scan: LogScan | None = None
        self._framed = False

    def entered(self) -> None:
        """Notes an entry header: the file is one of DLedger mode, whose records the compiled scan does not follow."""
        self._framed = True

    def seen(self, size: int) -> None:
        """One more record, of so many bytes."""
        self._rows += 1
        self._bytes += size
        self._mean += (size - self._mean) // 4

    def scanned(self, size: int, count: int) -> None:
        """So many bytes of records went through the scan."""
        self._mean = size // count

    def drop(self) -> None:
        """Lets go of the file: it is closed next."""
        self._framed = False
        if self._scan is not None:
            self._scan.drop()

    def scan(self) -> LogScan | None:
        """The compiled scan, where so many records are to be expected that it pays."""
        if self._scan is None and self._rows >= min(COMPILED_FROM, _SAMPLE):
            expected = self._rows + (self.room - self._bytes) * self._rows // max(self._bytes, 1)
            if expected >= COMPILED_FROM:
                from rocket_columnar.decode.large_log import LogScan

                pool = ThreadPoolExecutor(1) if self._threads > 1 else None
                self._scan = LogScan(self.names, self.topics, self.batch_rows, self.where, pool)
        # The walk passes over large bodies, the scan reads them.
        return None if self._framed or (self._mean >= LARGE and not self.bodies) else self._scan


def log_columns(
    reader: Reader,
    base_offset: int,
    state: LogState,
    log_range: tuple[int, int],
    *,
    on_gap: Callable[[Gap], None],
    goes_on: Callable[[], bool],
) -> Iterator[tuple[int, Columns]]:
    """The rows of `commit_log`, less `file`, of the columns in the state's `names`.

    A record verifies when its magic, its lengths and its physical offset are right; the body's CRC is a column of
    its own. `goes_on` tells whether a later file of the log holds records: zeros at the end of this one are then
    a gap, and otherwise the room that is still to be written. Of `log_range` see `decode`.

    Where the state asks for physical offsets, the walk begins shortly before the first, and only gaps that touch them
    are told.
    """
    where = state.where

    def tell(gap: Gap) -> None:
        if where is None or where.gap(gap.begin, gap.end):
            on_gap(gap)

    try:
        yield from _columns(reader, base_offset, state, log_range, on_gap=tell, goes_on=goes_on)
    finally:
        state.drop()


def _columns(  # noqa: C901, PLR0912, PLR0915 - one walk, from record to record
    reader: Reader,
    base_offset: int,
    state: LogState,
    log_range: tuple[int, int],
    *,
    on_gap: Callable[[Gap], None],
    goes_on: Callable[[], bool],
) -> Iterator[tuple[int, Columns]]:
    if not reader.size:
        raise MalformedError(
            file=reader.name, found="an empty file", expected="a commit log", clause="LOG-FILE-1"
        )
    batch_rows = min(state.batch_rows, _ROWS)
    walk = Walk(reader, base_offset, bodies=state.bodies)
    rows = LogRows(state.names, state.topics)
    position = max(log_range[0] - base_offset, 0)
    stop = end = min(log_range[1] - base_offset, reader.size)
    if state.where is not None and state.where.offsets is not None:
        stop = min(stop, state.where.offsets[1] - base_offset)
    if position:
        position = walk.next_frame(position, stop)
    if state.where is not None and state.where.offsets is not None:
        position = max(position, walk.frame_before(state.where.offsets[0] - base_offset))
    state.room += max(0, min(reader.allocated, stop - position))
    start = position
    while position < stop:
        scan = state.scan()
        if scan is not None:
            if rows.count:
                yield rows.count, rows.take()
            count, records, after, columns = scan.run(reader, base_offset, position, stop)
            if count:
                yield count, columns
            if after > position:
                state.scanned(after - position, records)
                position = after
                continue
        record = walk.record(position)
        if isinstance(record, Record):
            if state.where is None or state.where.record(walk.window, record):
                rows.add(walk.window, record)
            state.seen(record.fixed.total_size)
            position += record.fixed.total_size
            if rows.count >= batch_rows or rows.full:
                yield rows.count, rows.take()
            continue
        header = walk.entry_header(position)
        if header:
            state.entered()
            position += header
            continue
        gap = _gap(walk, position, record, goes_on)
        if gap is None:
            break
        after = gap.end - base_offset
        if walk.is_written(position, last=after >= reader.size):
            continue
        on_gap(gap)
        position = after
    else:
        # The gap behind a range's last record is this range's: the next one begins at the next frame.
        if start < position < reader.size and position >= end:
            gap = _gap(walk, position, walk.record(position), goes_on)
            if gap is not None and not walk.is_written(position, last=gap.end >= base_offset + reader.size):
                on_gap(gap)
    if rows.count:
        yield rows.count, rows.take()


def _gap(walk: Walk, position: int, record: Record | Bad, goes_on: Callable[[], bool]) -> Gap | None:
    """The gap at a frame that was found to be `record`; None for a record, the blank, or the end of the log."""
    if isinstance(record, Record) or walk.is_blank(position) or walk.entry_header(position):
        return None
    reader = walk.reader
    if _zeros(reader, position):
        if not goes_on():
            return None
        record = Bad("zeros to the file's end", "a record or a blank, since a later file holds records")
    end = walk.next_frame(position + 1)
    return Gap(
        reader.name, walk.base_offset + position, walk.base_offset + end, *walk.why_none(position, record)
    )


def _is_written(walk: Walk, gap: Gap) -> bool:
    """Whether a frame verifies at a gap by now: a broker may have written it since the window was read."""
    end = walk.base_offset + walk.reader.size
    return walk.is_written(gap.begin - walk.base_offset, last=gap.end >= end)
