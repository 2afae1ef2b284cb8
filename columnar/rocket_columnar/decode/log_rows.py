"""A commit-log file to rows: record after record to the blank or the zeros after the last one.

If a record does not verify, the scan reports a gap and continues at the next frame that verifies.
"""

from collections.abc import Callable, Iterator

from rocket_spec.errors import MalformedError

from rocket_columnar.arrow import Columns
from rocket_columnar.decode.log_columns import LogColumns
from rocket_columnar.decode.row_choice import RowChoice
from rocket_columnar.fast import log_form
from rocket_columnar.log import Gap, Records, Scan, Walk
from rocket_columnar.store import Reader


class LogState:
    """State that the files of one decode share: the columns with their topics.

    Args:
        choice: the columns, which records are rows, and the size of a batch.
    """

    def __init__(self, choice: RowChoice) -> None:
        self.choice = choice
        self._columns: LogColumns | None = None

    def columns(self, room: int) -> LogColumns:
        """The columns, for one more file of which the disk holds `room` bytes."""
        form = log_form(room)
        if self._columns is None or type(form) is not type(self._columns.form):
            topics = None if self._columns is None else self._columns.topics
            self._columns = LogColumns(self.choice.names, form, topics)
        return self._columns


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

    columns = state.columns(reader.allocated)
    scan = Scan(
        reader,
        base_offset,
        columns.form,
        bodies=columns.bodies,
        rows=state.choice.batch_rows,
        goes_on=goes_on,
    )
    start, stop, end = _range(scan.walk, state.choice)
    for records in scan.run(start, stop, exact=True, on_gap=report):
        wanted = _wanted(records, state.choice, columns)
        if len(wanted.rows):
            yield len(wanted.rows), columns.of(wanted)
    # The gap after a range's last record belongs to this range: the next range begins at the next frame.
    position = scan.next
    if start < position < reader.size and position >= end:
        gap = scan.gap_at(position)
        if gap is not None:
            report(gap)


def _wanted(records: Records, choice: RowChoice, columns: LogColumns) -> Records:
    """The records that pass the filter."""
    where, rows = choice.where, records.rows
    if where is None:
        return records
    keep = where.rows(phy_offsets=rows["phy_offset"], store_timestamps=rows["store_timestamp"])
    if where.topics is not None:
        wanted = columns.has_topic(records, where.topic)
        keep = wanted if keep is None else keep & wanted
    return records if keep is None else Records(records.window, rows[keep], records.form)


def _range(walk: Walk, choice: RowChoice) -> tuple[int, int, int]:
    """The frame from which a file is walked, where the walk stops, and where its range ends; bytes."""
    base_offset = walk.base_offset
    begin, end = (offset - base_offset for offset in choice.log_range)
    start, end = max(begin, 0), min(end, walk.reader.size)
    offsets = None if choice.where is None else choice.where.offsets
    stop = end if offsets is None else min(end, offsets[1] - base_offset)
    if start:
        start = walk.next_frame(start, stop)
    if offsets is not None:
        start = max(start, walk.frame_before(offsets[0] - base_offset))
    return start, stop, end
