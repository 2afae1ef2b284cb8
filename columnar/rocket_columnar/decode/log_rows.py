"""A commit-log file to rows: record after record to the blank or the zeros after the last one.

If a record does not verify, the walk reports a gap and continues at the next frame that verifies.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final, NamedTuple

from rocket_spec.errors import FormatError, MalformedError

from rocket_columnar.decode.record_columns import LogRows, Topics
from rocket_columnar.formats import Bad, Record
from rocket_columnar.log import LARGE, Gap, Walk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Future

    from rocket_columnar.arrow import Columns
    from rocket_columnar.decode.large_log import LogScan
    from rocket_columnar.decode.row_choice import RowChoice
    from rocket_columnar.store import Reader

__all__ = ["COMPILED_FROM", "LARGE", "LogState", "log_columns"]

COMPILED_FROM: Final = 100_000
"""Number of records of a log from which compiled loops are used; for fewer their start-up costs more than it saves."""

_ROWS: Final = 1 << 13  # of a batch at most: Python's objects of more rows than this cost more than they save
_SAMPLE: Final = 1 << 6  # records from whose size the number of records is estimated


def _zeros(reader: Reader, position: int) -> bool:
    return reader.first_nonzero(position, reader.size) is None


class LogState:
    """What the files of one decode share: the topics, and the compiled scan once it is worth its start.

    Attributes:
        choice: the columns, which records are rows, and the size of a batch.
        bodies: whether the columns need the records' bodies.
        topics: the dictionary of topics.
        room: bytes that the disk holds of the files up to the present one.
    """

    def __init__(self, choice: RowChoice) -> None:
        self.choice = choice
        self.bodies = bool(choice.names & {"body", "crc_ok"})
        self._mean = 0  # recent mean of the records' sizes, bytes
        self.topics = Topics()
        self.room = 0
        self._rows = 0
        self._bytes = 0
        self._scan: LogScan | None = None
        self._framed = False

    def entered(self) -> None:
        """Notes an entry header: the file is in DLedger mode, which the compiled scan does not read."""
        self._framed = True

    def seen(self, size: int) -> None:
        """Counts one more record, of `size` bytes."""
        self._rows += 1
        self._bytes += size
        self._mean += (size - self._mean) // 4

    def scanned(self, size: int, count: int) -> None:
        """Notes that `count` records of `size` bytes together went through the scan."""
        self._mean = size // count

    def drop(self) -> None:
        """Releases the file, which is closed next."""
        self._framed = False
        if self._scan is not None:
            self._scan.drop()

    def scan(self) -> LogScan | None:
        """The compiled scan, if enough records are to be expected for it to pay."""
        if self._scan is None and self._rows >= min(COMPILED_FROM, _SAMPLE):
            expected = self._rows + (self.room - self._bytes) * self._rows // max(self._bytes, 1)
            if expected >= COMPILED_FROM:
                from rocket_columnar.decode.large_log import LogScan

                choice = self.choice
                pool = ThreadPoolExecutor(1) if choice.threads > 1 else None
                self._scan = LogScan(choice.names, self.topics, choice.batch_rows, choice.where, pool)
        # The walk does not read large bodies, the scan does.
        return None if self._framed or (self._mean >= LARGE and not self.bodies) else self._scan


def log_columns(
    reader: Reader,
    base_offset: int,
    state: LogState,
    *,
    on_gap: Callable[[Gap], None],
    goes_on: Callable[[], bool],
) -> Iterator[tuple[int, Columns]]:
    """The rows of `commit_log`, without `file`.

    A record verifies when its magic, its lengths and its physical offset are right; the body's CRC is a column of
    its own. `goes_on` returns whether a later file of the log contains records: zeros at the end of this one are then
    a gap, and otherwise space that is still to be written.

    If only certain physical offsets are wanted, the walk begins shortly before the first, and only gaps that touch
    them are reported.

    Raises:
        MalformedError: the file is empty (LOG-FILE-1), or as `on_gap` raises it.
    """
    if not reader.size:
        raise MalformedError(
            file=reader.name, found="an empty file", expected="a commit log", clause="LOG-FILE-1"
        )
    where = state.choice.where

    def report(gap: Gap) -> None:
        if where is None or where.gap(gap.begin, gap.end):
            on_gap(gap)

    walk = Walk(reader, base_offset, bodies=state.bodies)
    try:
        yield from _whole(_columns(walk, state, on_gap=report, goes_on=goes_on))
    finally:
        state.drop()


def _whole(batches: Iterator[_Batch]) -> Iterator[tuple[int, Columns]]:
    """The batches with their late columns, which are made while the next batch is scanned."""
    held: _Batch | None = None
    failure: Exception | None = None
    try:
        for batch in batches:
            if held is not None:
                yield held.rows, held.whole()
            held = None if batch.late is None else batch
            if held is None:
                yield batch.rows, batch.columns
    except (FormatError, OSError) as error:
        failure = error
    if held is not None:
        yield held.rows, held.whole()
    if failure is not None:
        raise failure


class _Batch(NamedTuple):
    """The columns of some rows, and those that another thread is making."""

    rows: int
    columns: Columns
    late: Future[Columns] | None = None

    def whole(self) -> Columns:
        """All columns, as soon as they are made."""
        return self.columns if self.late is None else self.columns | self.late.result()


class _Span(NamedTuple):
    """The bytes of a file that are walked: from a frame at `start` to before `stop`; the range ends at `end`."""

    start: int
    stop: int
    end: int


def _span(walk: Walk, choice: RowChoice) -> _Span:
    """The part of a file that the log's range and the wanted physical offsets leave."""
    base_offset = walk.base_offset
    begin, end = (offset - base_offset for offset in choice.log_range)
    start, end = max(begin, 0), min(end, walk.reader.size)
    offsets = None if choice.where is None else choice.where.offsets
    stop = end if offsets is None else min(end, offsets[1] - base_offset)
    if start:
        start = walk.next_frame(start, stop)
    if offsets is not None:
        start = max(start, walk.frame_before(offsets[0] - base_offset))
    return _Span(start, stop, end)


def _columns(  # noqa: C901, PLR0912 - one walk, from record to record
    walk: Walk, state: LogState, *, on_gap: Callable[[Gap], None], goes_on: Callable[[], bool]
) -> Iterator[_Batch]:
    reader, base_offset, where = walk.reader, walk.base_offset, state.choice.where
    batch_rows = min(state.choice.batch_rows, _ROWS)
    rows = LogRows(state.choice.names, state.topics)
    start, stop, end = _span(walk, state.choice)
    state.room += max(0, min(reader.allocated, stop - start))
    position = start
    while position < stop:
        scan = state.scan()
        if scan is not None:
            if rows.count:
                yield _Batch(rows.count, rows.take())
            found = scan.run(reader, base_offset, position, stop)
            if found.rows:
                yield _Batch(found.rows, found.columns, found.late)
            if found.after > position:
                state.scanned(found.after - position, found.records)
                position = found.after
                continue
        record = walk.record(position)
        if isinstance(record, Record):
            if where is None or where.record(walk.window, record):
                rows.add(walk.window, record)
            state.seen(record.fixed.total_size)
            position += record.fixed.total_size
            if rows.count >= batch_rows or rows.full:
                yield _Batch(rows.count, rows.take())
            continue
        header = walk.entry_header(position)
        if header:
            state.entered()
            position += header
            continue
        gap = _gap(walk, position, record, goes_on)
        if gap is None:
            break
        if _is_written(walk, gap):
            continue
        on_gap(gap)
        position = gap.end - base_offset
    else:
        # The gap after a range's last record belongs to this range: the next range begins at the next frame.
        if start < position < reader.size and position >= end:
            gap = _gap(walk, position, walk.record(position), goes_on)
            if gap is not None and not _is_written(walk, gap):
                on_gap(gap)
    if rows.count:
        yield _Batch(rows.count, rows.take())


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
    """Whether a frame verifies at a gap now: a broker may have written it since the window was read."""
    end = walk.base_offset + walk.reader.size
    return walk.is_written(gap.begin - walk.base_offset, last=gap.end >= end)
