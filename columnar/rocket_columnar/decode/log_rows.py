"""The rows of a commit-log file, and what a decode chooses of any table: filters, columns, and the size of batches."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from rocket_spec.errors import MalformedError, UsageError
from rocket_spec.layout import Geometry

from rocket_columnar import arrow
from rocket_columnar.arrow import Array, Columns
from rocket_columnar.fast import PlainLog, log_form
from rocket_columnar.formats import LONG_MAX, LONG_MIN, clean_utf8, host_text
from rocket_columnar.log import Gap, Records, RowTopics, Scan, Walk, bodies_match, tags_codes
from rocket_columnar.store import Reader, StoreFile

_COLUMNS = {
    "time": ("store_timestamp", ("index_entries", "commit_log", "consume_queue_ext", "batch_consume_queue")),
    "offset": (
        "phy_offset",
        ("index_entries", "consume_queue", "commit_log", "batch_consume_queue", "timer_log"),
    ),
    "key_hash": ("key_hash", ("index_entries",)),
    "topic": ("topic", ("consume_queue", "consume_queue_ext", "commit_log", "batch_consume_queue")),
}


@dataclass(frozen=True, slots=True)
class Where:
    """A filter for rows; a criterion that is None lets all rows pass."""

    times: tuple[int, int] | None = None  # first and last store timestamp, ms, both inclusive
    # physical offsets from the first up to, but excluding, the second, bytes
    offsets: tuple[int, int] | None = None
    key_hashes: Collection[int] | None = None  # of index entries
    topics: Collection[str] | None = None  # names

    def check(self, tables: Sequence[str]) -> None:
        """Raises UsageError for a criterion that a table has no column for."""
        given = (self.times, self.offsets, self.key_hashes, self.topics)
        for criterion, (column, having) in zip(given, _COLUMNS.values(), strict=True):
            for table in tables:
                if criterion is not None and table not in having:
                    raise UsageError(f"table {table} has no {column} to filter by; select other tables")

    def file(self, file: StoreFile, size: int) -> bool:
        """Whether a file of `size` bytes can contain such rows at all."""
        if (
            file.kind in ("queue", "ext", "batch")
            and self.topics is not None
            and file.topic not in self.topics
        ):
            return False
        if file.kind == "log" and self.offsets is not None:
            first, end = self.offsets
            return first < file.base_offset + size and file.base_offset < end
        return True

    def gap(self, begin: int, end: int) -> bool:
        """Whether a gap of the log touches the offsets."""
        return self.offsets is None or (begin < self.offsets[1] and self.offsets[0] < end)

    def rows(
        self,
        *,
        phy_offsets: NDArray[Any] | None = None,
        store_timestamps: NDArray[Any] | None = None,
        key_hashes: NDArray[Any] | None = None,
    ) -> NDArray[np.bool_] | None:
        """A mask of the rows that pass, by those of their columns that are given; None if all do."""
        masks: list[NDArray[np.bool_]] = []
        if self.offsets is not None and phy_offsets is not None:
            masks.append((phy_offsets >= self.offsets[0]) & (phy_offsets < self.offsets[1]))
        if self.times is not None and store_timestamps is not None:
            masks.append((store_timestamps >= self.times[0]) & (store_timestamps <= self.times[1]))
        if self.key_hashes is not None and key_hashes is not None:
            masks.append(np.isin(key_hashes, np.array(sorted(self.key_hashes), np.int32)))
        return np.logical_and.reduce(masks) if masks else None

    def topic(self, raw: bytes) -> bool:
        """Whether a record's topic passes."""
        return self.topics is None or clean_utf8(raw).decode() in self.topics


class Skip:
    """The rows of a table that are still to be skipped."""

    def __init__(self, rows: int) -> None:
        self.rows = rows

    def of(self, count: int) -> int:
        """Number of rows to skip among the next `count`."""
        passed = min(self.rows, count)
        self.rows -= passed
        return passed


# The rows and columns of a table that a decode returns, and the size of its batches.


WHOLE_LOG: Final = (LONG_MIN, LONG_MAX + 1)  # the range of all physical offsets


@dataclass(frozen=True, slots=True)
class RowChoice:
    """The rows and columns of one table that are wanted; the names are those of `decode`, and `skip` is shared by all files of the table."""

    names: set[str]
    batch_rows: int
    where: Where | None = None
    skip: Skip = field(default_factory=lambda: Skip(0))
    all_entries: bool = False
    threads: int = 1
    log_range: tuple[int, int] = WHOLE_LOG
    geometry: Geometry | None = None


# A commit-log file to rows: record after record to the blank or the zeros after the last one.
#
# If a record does not verify, the scan reports a gap and continues at the next frame that verifies.


# The columns of `commit_log`, made of the records of a scan; only those that are requested.


_NUMBERS: Final = (
    *("size", "queue_id", "flag", "queue_offset", "phy_offset", "sys_flag", "born_timestamp"),
    *("store_timestamp", "reconsume_times", "prepared_transaction_offset"),
)
_TEXTS: Final = ("keys", "uniq_key", "tags")
_HOSTS: Final = ("born_host", "store_host")

_VALUES: Final = frozenset({*_TEXTS, "tags_code", "properties"})  # columns of what the properties contain

_MOST_HOSTS: Final = 1 << 16  # known at a time: ports make each client another


class Topics:
    """The dictionary of topics. It grows during a decode, so each batch's dictionary extends the one before."""

    def __init__(self) -> None:
        self._by_name: dict[bytes, int] = {}
        self._new: list[bytes] = []
        self._array = arrow.texts([])

    def number(self, raw: bytes) -> int:
        """The number of a topic's bytes; different malformed bytes can be one name."""
        name = clean_utf8(raw)
        number = self._by_name.setdefault(name, len(self._by_name))
        if number == len(self._array) + len(self._new):
            self._new.append(name)
        return number

    def array(self) -> Array:
        """All names so far."""
        if self._new:
            self._array = pa.concat_arrays([self._array, arrow.texts(self._new)])
            self._new = []
        return self._array


class LogColumns:
    """Makes the columns of a decode, batch by batch; `bodies` is whether they need the records' bodies."""

    def __init__(self, names: set[str], form: PlainLog, topics: Topics | None = None) -> None:
        self.form = form
        self.bodies = bool(names & {"body", "crc_ok"})
        self.topics = topics or Topics()
        self._names = names
        self._row_topics = RowTopics(form, self.topics.number)
        self._hosts = form.new_numbers()

    def has_topic(self, records: Records, wanted: Callable[[bytes], bool]) -> NDArray[np.bool_]:
        """A mask of the records whose topic is wanted."""
        distinct = self.form.new_numbers()
        numbers = distinct.numbers(*records.places("topic"))
        return np.array([wanted(raw) for raw in distinct.items], np.bool_)[numbers]

    def of(self, records: Records) -> Columns:
        """The columns of some records, without `file`."""
        names, rows = self._names, records.rows
        if names & _VALUES:
            records.find_values()
        columns: Columns = {name: arrow.integers(rows[name]) for name in _NUMBERS if name in names}
        if "body_crc" in names:
            columns["body_crc"] = arrow.integers(rows["body_crc"].astype(np.int64) & 0xFFFFFFFF)
        if names & {"topic", "tags_code"}:
            self._add_topics(records, columns)
        for name in names.intersection(_TEXTS):
            offsets, data = self.form.gather(*records.places(name))
            columns[name] = arrow.gathered(offsets, data, valid=rows[f"{name}_length"] > 0, text=True)
        for name in names.intersection(_HOSTS):
            columns[name] = self._host_column(*records.places(name))
        if "body" in names:
            columns["body"] = arrow.gathered(*self.form.gather(*records.places("body")))
        if "crc_ok" in names:
            columns["crc_ok"] = arrow.booleans(bodies_match(records))
        if "properties" in names:
            counts, keys, items = self.form.split_properties(records.window, rows)
            columns["properties"] = arrow.map_of(
                counts, arrow.gathered(*keys, text=True), arrow.gathered(*items, text=True)
            )
        return columns

    def _add_topics(self, records: Records, columns: Columns) -> None:
        numbers = self._row_topics.numbers(records)
        if "topic" in self._names:
            indices = self._row_topics.values(numbers).astype(np.int32)
            columns["topic"] = arrow.dictionary(indices, self.topics.array())
        if "tags_code" in self._names:
            codes, known = tags_codes(records, self._row_topics.scheduled[numbers])
            columns["tags_code"] = arrow.integers(codes, known)

    def _host_column(
        self, window: NDArray[np.uint8], at: NDArray[np.int64], lengths: NDArray[np.int64]
    ) -> Array:
        if len(self._hosts.items) > _MOST_HOSTS:
            self._hosts = self.form.new_numbers()
        used, places = np.unique(self._hosts.numbers(window, at, lengths), return_inverse=True)
        texts = arrow.strings([host_text(self._hosts.items[number]) for number in used.tolist()])
        return arrow.taken(texts, places.astype(np.int32))


class LogState:
    """State that the files of one decode share: the columns with their topics."""

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
    """The rows of `commit_log`, without `file`; an empty file is a MalformedError (LOG-FILE-1).

    A record verifies when its magic, its lengths and its physical offset are right; the body's CRC is a column of
    its own. `goes_on` returns whether a later file of the log contains records: zeros at the end of this one are then
    a gap, and otherwise space that is still to be written.

    If only certain physical offsets are wanted, the walk begins shortly before the first, and only gaps that touch
    them are reported.
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
