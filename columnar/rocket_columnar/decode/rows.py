"""The rows that a decode chooses, and those of index files, queues, later files and config/ as columns."""

import struct
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from rocket_spec.errors import MalformedError, UsageError
from rocket_spec.later_layouts import BATCH_UNIT, LATER_CHECKPOINT, TIMER_SLOT, TIMER_UNIT
from rocket_spec.layout import (
    BLANK_MAGIC,
    CHECKPOINT,
    CHECKPOINT_SIZE,
    EXT_UNIT,
    INDEX_ENTRY,
    PRE_BLANK_SIZE,
    QUEUE_UNIT,
    Geometry,
    Layout,
)
from rocket_spec.tables import TABLES

from rocket_columnar.config import table_rows
from rocket_columnar.decode import arrow
from rocket_columnar.decode.arrow import Columns, Topics
from rocket_columnar.formats import ENTRY_DTYPE, LONG_MAX, LONG_MIN, clean_utf8, dtype_of, to_i64
from rocket_columnar.index import read_header
from rocket_columnar.store import Reader, StoreFile, by_queue, in_order

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


BATCH_ROWS: Final = 1 << 17
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


# Files of units of one length: which units are rows, and their fields as columns, from the layout.


_UNITS_AT_ONCE: Final = 1 << 16  # in the search for the last one


@dataclass(frozen=True, slots=True)
class UnitForm:
    """The units of one kind of file, those that count as written, and the clause by which it has whole units alone; None if it may end otherwise."""

    layout: Layout
    used: Callable[[NDArray[Any]], NDArray[np.bool_]]
    clause: str | None

    def read(self, reader: Reader, start: int, stop: int) -> NDArray[Any]:
        """The units with the numbers `start` up to `stop`."""
        size = self.layout.size
        return reader.read(start * size, (stop - start) * size).view(dtype_of(self.layout))


def require_whole_units(reader: Reader, form: UnitForm) -> None:
    """Raises MalformedError if the file is empty or its size is not a whole number of units."""
    width = form.layout.size
    if form.clause is not None and (not reader.size or reader.size % width):
        raise MalformedError(
            file=reader.name,
            offset=reader.size // width * width if reader.size else None,
            found=f"{reader.size:,} bytes" if reader.size else "an empty file",
            expected=f"{'a whole number of ' if reader.size else ''}units of {width} bytes",
            clause=form.clause,
        )


def last_units(reader: Reader, form: UnitForm, *, every: bool) -> tuple[int, int, NDArray[Any]]:
    """The number of units that are rows, and the last ones of the file: the number of the first of these, and the units.

    Rows are the units up to the last one that is used; with `every`, up to the last that is not all zeros. MalformedError for a file
    that is empty, that has a part of a unit, or that is mostly a hole before its last unit.
    """
    width = form.layout.size
    require_whole_units(reader, form)
    last = reader.last_nonzero(0, reader.size)
    end = min(0 if last is None else last // width + 1, reader.size // width)
    reader.require_held(0, end * width, f"{end:,} units", form.clause or form.layout.fields[0].clause)
    while end:
        start = max(0, end - _UNITS_AT_ONCE)
        units = form.read(reader, start, end)
        if every:
            return end, start, units
        used = np.flatnonzero(form.used(units))
        if used.size:
            return start + int(used[-1]) + 1, start, units
        end = start
    return 0, 0, np.empty(0, dtype_of(form.layout))


def unit_batches(
    reader: Reader, form: UnitForm, choice: RowChoice
) -> Iterator[tuple[NDArray[np.int64], NDArray[Any]]]:
    """The units that are rows and pass the filter, with their numbers in the file; errors as of `last_units`."""
    where = choice.where
    count, known, tail = last_units(reader, form, every=choice.all_entries)
    passed = choice.skip.of(count) if where is None else 0
    for start in range(passed, count, choice.batch_rows):
        stop = min(start + choice.batch_rows, count)
        units = tail[start - known : stop - known] if start >= known else form.read(reader, start, stop)
        numbers = np.arange(start, stop, dtype=np.int64)
        keep = None
        if where is not None:
            fields = units.dtype.names or ()
            keep = where.rows(
                phy_offsets=units["phy_offset"],
                store_timestamps=units["store_timestamp"] if "store_timestamp" in fields else None,
            )
        if keep is not None:
            units, numbers = units[keep], numbers[keep]
        if len(units):
            yield numbers, units


def field_columns(units: NDArray[Any], names: set[str]) -> Columns:
    """The fields of these names as columns."""
    return {
        name: arrow.integers(units[name].astype(units.dtype[name].newbyteorder("=")))
        for name in units.dtype.names or ()
        if name in names
    }


# Consume queues, their ext files and the checkpoint to rows.


_EXT: Final = struct.Struct(EXT_UNIT.struct_format)
_WINDOW: Final = 1 << 20


def _used(units: NDArray[Any]) -> NDArray[np.bool_]:
    """A mask of the units that 4.9.3's recovery accepts (ConsumeQueue.recover 106-122)."""
    used: NDArray[np.bool_] = (units["phy_offset"] >= 0) & (units["size"] > 0)
    return used


_UNITS: Final = UnitForm(QUEUE_UNIT, _used, "CQ-FILE-1")


def unit_count(reader: Reader) -> int:
    """The number of units of a consume-queue file up to its last valid one, as `consume_queue` has them; MalformedError as of `last_units`."""
    return last_units(reader, _UNITS, every=False)[0]


def queue_columns(reader: Reader, base_offset: int, choice: RowChoice) -> Iterator[tuple[int, Columns]]:
    """The rows of `consume_queue`, without topic, queue number and file: units up to the file's last valid one.

    Units after it were never written, or were cut off. Units before it are returned as they are in the file, even
    the invalid ones of a damaged file, so that a row's place follows from its logical offset. With `all_entries` the
    rows go on to the last unit that is not all zeros. Errors as of `last_units` (CQ-FILE-1).
    """
    first = base_offset // QUEUE_UNIT.size
    for numbers, units in unit_batches(reader, _UNITS, choice):
        columns = field_columns(units, choice.names)
        if "logical_offset" in choice.names:
            columns["logical_offset"] = arrow.integers(numbers + first)
        if "pre_blank" in choice.names:
            blank = (units["phy_offset"] == 0) & (units["size"] == PRE_BLANK_SIZE) & (units["tags_code"] == 0)
            columns["pre_blank"] = arrow.booleans(blank)
        yield len(units), columns


def ext_columns(
    reader: Reader, base_offset: int, batch_rows: int, *, where: Where | None = None
) -> Iterator[tuple[int, Columns]]:
    """The rows of `consume_queue_ext`, without topic, queue number and file: units up to an end mark or a zero.

    `address` is the unit's offset in the ext queue + Long.MIN_VALUE, as in a consume-queue unit's tags code
    (CQ-EXT-2). A restart that cuts units off clears nothing, so units written later may end within an old one: after
    a unit, bytes whose lengths do not add up are the end, too; in the place of the first one they are a MalformedError (CQ-EXT-1).
    """
    if not reader.size:
        raise MalformedError(file=reader.name, found="an empty file", expected="ext units", clause="CQ-EXT-1")
    rows: list[tuple[int, int, int, int, bytes]] = []
    position, window, begin = 0, b"", 0
    while position + 2 <= reader.size:
        if position + 0x7FFF > begin + len(window) < reader.size:
            begin, window = position, reader.read(position, min(_WINDOW, reader.size - position)).tobytes()
        at = position - begin
        size = int.from_bytes(window[at : at + 2], signed=True)
        if size < 1:
            break
        wrong = _misfit(reader, position, window[at : at + _EXT.size])
        if wrong is not None:
            if position:
                break
            raise wrong
        _, tags_code, store_timestamp, _ = _EXT.unpack_from(window, at)
        if where is None or where.times is None or where.times[0] <= store_timestamp <= where.times[1]:
            address = to_i64(base_offset + position + LONG_MIN)
            rows.append((address, size, tags_code, store_timestamp, window[at + _EXT.size : at + size]))
        position += size
        if len(rows) >= batch_rows:
            yield len(rows), _ext_columns(rows)
            rows = []
    if rows:
        yield len(rows), _ext_columns(rows)


def _misfit(reader: Reader, position: int, head: bytes) -> MalformedError | None:
    """The error in an ext unit's lengths, or None."""
    size, left = int.from_bytes(head[:2], signed=True), reader.size - position
    if size < _EXT.size or size > left:
        found, expected = f"a unit of {size} bytes", f"{_EXT.size} .. {min(0x7FFF, left)} bytes"
    else:
        bit_map = int.from_bytes(head[-2:], signed=True)
        if max(bit_map, 0) == size - _EXT.size:
            return None
        position += _EXT.size - 2
        found, expected = f"a bit map of {bit_map} bytes", f"{size - _EXT.size}, in a unit of {size}"
    return MalformedError(
        file=reader.name, offset=position, found=found, expected=expected, clause="CQ-EXT-1"
    )


def _ext_columns(rows: list[tuple[int, int, int, int, bytes]]) -> Columns:
    address, size, tags_code, store_timestamp, bit_map = zip(*rows, strict=True)
    longs = {"address": address, "tags_code": tags_code, "store_timestamp": store_timestamp}
    columns = {name: arrow.integers(np.array(values, np.int64)) for name, values in longs.items()}
    return {**columns, "size": arrow.integers(np.array(size, np.int16)), "bit_map": arrow.binaries(bit_map)}


# Consume-queue ext units by their address, queue by queue.


class ExtUnits:
    """The ext units of a store; those of a queue are read at their first use."""

    def __init__(self, files: Sequence[StoreFile]) -> None:
        self._files = by_queue(file for file in files if file.kind == "ext")

    def of(self, topic: str, queue_id: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Addresses, tags codes and store timestamps of a queue's ext units, in the order of their addresses."""
        parts: list[list[NDArray[np.int64]]] = [[np.empty(0, np.int64)] for _ in range(3)]
        columns = ["address", "tags_code", "store_timestamp"]
        for file in self._files.get((topic, queue_id), []):
            try:
                with file.open() as reader:
                    for _, found in ext_columns(reader, file.base_offset, BATCH_ROWS):
                        for part, name in zip(parts, columns, strict=True):
                            part.append(arrow.values(found[name]))
            except MalformedError:
                continue  # addresses into it will not be found
        addresses, tags, times = (np.concatenate(part) for part in parts)
        return addresses, tags, times

    def tags_codes(
        self, topic: str, queue_id: int, addresses: NDArray[np.int64]
    ) -> tuple[NDArray[np.bool_], NDArray[np.int64], NDArray[np.int64]]:
        """For each address, whether there is a unit, its tags code and its store timestamp (0 without a unit)."""
        known, tags, times = self.of(topic, queue_id)
        if not known.size:
            none = np.zeros(addresses.shape, np.int64)
            return np.zeros(addresses.shape, np.bool_), none, none
        at = np.searchsorted(known, addresses)
        at[at == known.size] = 0
        found = known[at] == addresses
        return found, np.where(found, tags[at], 0), np.where(found, times[at], 0)

    def have(self, topic: str, queue_id: int, tags: NDArray[np.int64], times: NDArray[np.int64]) -> bool:
        """Whether a queue has, at whatever address, an ext unit with each of these tags codes and store timestamps."""
        _, *columns = self.of(topic, queue_id)
        known = set(zip(*(column.tolist() for column in columns), strict=True))
        return known >= set(zip(tags.tolist(), times.tolist(), strict=True))


def checkpoint_columns(reader: Reader) -> Columns:
    """The row of `checkpoint`, without `file`: times in ms (CKP-1), and what 5.x adds (CKP-5), null if zeros; MalformedError below 4096 bytes."""
    if reader.size < CHECKPOINT_SIZE:
        raise MalformedError(
            file=reader.name,
            found=f"{reader.size:,} bytes" if reader.size else "an empty file",
            expected=f"at least {CHECKPOINT_SIZE:,}",
            clause="CKP-2",
        )
    later = struct.unpack(LATER_CHECKPOINT.struct_format, reader.read(0, LATER_CHECKPOINT.size).tobytes())
    known = len(CHECKPOINT.fields)
    columns: Columns = {}
    for place, (form, value) in enumerate(zip(LATER_CHECKPOINT.fixed, later, strict=True)):
        there = place < known or any(later[known:])
        columns[form.name] = arrow.integers(np.array([value], np.int64), np.array([there]))
    return columns


# The files that 5.x adds to rows: batch queues, the timer wheel and its log.


def _is_batch(units: NDArray[Any]) -> NDArray[np.bool_]:
    """A mask of the units that a recovery accepts (`BatchConsumeQueue.recover` 248)."""
    least = {"phy_offset": 0, "size": 1, "base_offset": 0, "batch_size": 1}
    used: NDArray[np.bool_] = np.logical_and.reduce([units[name] >= value for name, value in least.items()])
    return used


def _is_timer(units: NDArray[Any]) -> NDArray[np.bool_]:
    """A blank of 52 bytes has the same size."""
    used: NDArray[np.bool_] = (units["size"] == TIMER_UNIT.size) & (units["magic"] != BLANK_MAGIC)
    return used


def _is_slot(units: NDArray[Any]) -> NDArray[np.bool_]:
    used: NDArray[np.bool_] = np.logical_or.reduce(units.view(np.uint8).reshape(-1, TIMER_SLOT.size), axis=1)
    return used


BATCH: Final = UnitForm(BATCH_UNIT, _is_batch, "BCQ-2")  # units of a batch consume queue

_FORMS: Final = {"batch_consume_queue": BATCH, "timer_log": UnitForm(TIMER_UNIT, _is_timer, None)}
_WHEEL: Final = UnitForm(TIMER_SLOT, _is_slot, "TIM-2")


def later_columns(
    table: str, reader: Reader, file: StoreFile, choice: RowChoice
) -> Iterator[tuple[int, Columns]]:
    """The rows of one of these tables, without topic, queue number of a queue, and file; MalformedError for a file of another length.

    Units up to the last one that is used; of the wheel those that are not all zeros. `position` is a byte offset,
    counted over all files of the queue or log.
    """
    if table == "timer_wheel":
        yield from _wheel(reader, choice)
        return
    form, names = _FORMS[table], choice.names
    for numbers, units in unit_batches(reader, form, choice):
        columns = field_columns(units, names)
        if "position" in names:
            columns["position"] = arrow.integers(file.base_offset + numbers * form.layout.size)
        yield len(units), columns


def _wheel(reader: Reader, choice: RowChoice) -> Iterator[tuple[int, Columns]]:
    """The slots that are not all zeros; a broker's wheel is a file with holes, which are not read."""
    require_whole_units(reader, _WHEEL)
    for begin, end in reader.aligned(TIMER_SLOT.size, reader.size):
        last = end // TIMER_SLOT.size
        for start in range(begin // TIMER_SLOT.size, last, choice.batch_rows):
            units = _WHEEL.read(reader, start, min(start + choice.batch_rows, last))
            rows = np.flatnonzero(_is_slot(units))
            rows = rows[choice.skip.of(rows.size) :]
            columns = field_columns(units[rows], choice.names)
            if "slot" in choice.names:
                columns["slot"] = arrow.integers((start + rows).astype(np.int32))
            yield rows.size, columns


# Index files to rows: headers and entries, a run of entries at a time.


_MILLIS: Final = np.int64(1000)


def header_columns(reader: Reader, geometry: Geometry) -> Columns:
    """The one row of `index_headers`, without `file`: geometry, and the header as it is in the file (IDX-HDR-1)."""
    header = read_header(reader)
    wide = ("begin_timestamp", "end_timestamp", "begin_phy_offset", "end_phy_offset")
    columns = {name: arrow.integers(np.array([getattr(header, name)], np.int64)) for name in wide}
    narrow = {
        "hash_slot_num": geometry.hash_slot_num,
        "index_num": geometry.index_num,
        "hash_slot_count": header.hash_slot_count,
        "index_count": header.index_count,
    }
    return columns | {name: arrow.integers(np.array([value], np.int32)) for name, value in narrow.items()}


def entry_columns(reader: Reader, geometry: Geometry, choice: RowChoice) -> Iterator[tuple[int, Columns]]:
    """The rows of `index_entries`, without `file`: entries 1 .. indexCount - 1.

    Rows that `choice.skip` skips are not read, unless its `where` or `all_entries` makes it unknown which they
    are. Other batches are read ahead by `choice.threads` threads.

    `slot` is the key hash modulo the number of slots with the sign of Java's `%`; `store_timestamp` is the
    header's begin + 1000 * time_diff, wrapped as a long, which is what a query computes (IDX-SEL-4). With
    `all_entries` each entry from 1 on that is not all zeros is a row, even beyond the index count.
    """
    header = read_header(reader)
    where, batch_rows = choice.where, choice.batch_rows
    run = 1, min(header.index_count, geometry.index_num)
    if not choice.all_entries:
        begin = geometry.entries_offset
        end = min(begin + run[1] * INDEX_ENTRY.size, reader.size)
        reader.require_held(begin, end, f"{run[1] - 1:,} entries", "IDX-FILE-1")
    if where is None and not choice.all_entries:
        run = run[0] + choice.skip.of(max(0, run[1] - run[0])), run[1]
    runs: Iterable[tuple[int, int]] = [run]
    if choice.all_entries:
        runs = (
            _whole_entries(first, end, geometry) for first, end in reader.extents(geometry.entries_offset)
        )

    def read(batch: tuple[int, int]) -> tuple[int, Columns]:
        start, stop = batch
        offset = geometry.entries_offset + start * INDEX_ENTRY.size
        raw = reader.read(offset, (stop - start) * INDEX_ENTRY.size)
        numbers = np.arange(start, stop, dtype=np.int32)
        entries = raw.view(ENTRY_DTYPE)
        if choice.all_entries:
            written = raw.reshape(-1, INDEX_ENTRY.size).any(axis=1)
            entries, numbers = entries[written], numbers[written]
        if where is not None:
            entries, numbers = _filtered(entries, numbers, header.begin_timestamp, where)
        begin = np.int64(header.begin_timestamp)
        return entries.size, _columns(entries, numbers, geometry, begin, choice.names)

    batches = _batches(run[0], runs, batch_rows)
    with ThreadPoolExecutor(choice.threads) as pool:
        ahead = map(read, batches) if choice.threads < 2 else in_order(pool, read, batches, choice.threads)
        yield from ((count, columns) for count, columns in ahead if count)


def _batches(done: int, runs: Iterable[tuple[int, int]], batch_rows: int) -> Iterator[tuple[int, int]]:
    """Ranges of at most `batch_rows` entries that do not overlap and begin at number `done` or later."""
    for first, end in runs:
        for start in range(max(first, done), end, batch_rows):
            yield start, min(start + batch_rows, end)
        done = max(done, end)


def _filtered(
    entries: NDArray[Any], numbers: NDArray[np.int32], begin: int, where: Where
) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """The entries that pass; only the columns that the filter needs are read."""
    keep = where.rows(
        phy_offsets=entries["phy_offset"] if where.offsets is not None else None,
        store_timestamps=entries["time_diff"].astype(np.int64) * _MILLIS + np.int64(begin)
        if where.times is not None
        else None,
        key_hashes=entries["key_hash"].astype(np.int32) if where.key_hashes is not None else None,
    )
    return (entries, numbers) if keep is None else (entries[keep], numbers[keep])


def _whole_entries(first: int, end: int, geometry: Geometry) -> tuple[int, int]:
    """The range of entries that the bytes [first, end) touch."""
    base, width = geometry.entries_offset, INDEX_ENTRY.size
    return (first - base) // width, min(-((base - end) // width), geometry.index_num)


def _columns(
    entries: NDArray[Any], numbers: NDArray[np.int32], geometry: Geometry, begin: np.int64, names: set[str]
) -> Columns:
    columns: dict[str, NDArray[Any]] = {"entry": numbers}
    for name, kind in (("phy_offset", np.int64), ("prev_entry", np.int32)):
        if name in names:
            columns[name] = entries[name].astype(kind)
    if names & {"key_hash", "slot"}:
        columns["key_hash"] = entries["key_hash"].astype(np.int32)
    if "slot" in names:
        columns["slot"] = np.fmod(columns["key_hash"], np.int32(geometry.hash_slot_num))
    if names & {"time_diff", "store_timestamp"}:
        columns["time_diff"] = entries["time_diff"].astype(np.int32)
    if "store_timestamp" in names:
        columns["store_timestamp"] = columns["time_diff"].astype(np.int64) * _MILLIS + begin
    return {name: arrow.integers(values) for name, values in columns.items() if name in names}


# The rows of the tables of `config/` as Arrow arrays.


_TYPES: Final = {"int32": np.int32, "int64": np.int64}


def config_columns(table: str, reader: Reader, topics: Topics) -> Iterator[tuple[int, Columns]]:
    """The rows of one configuration file, without `file`; as `table_rows` raises. Its topics are added to `topics`."""
    rows = table_rows(table, reader)
    columns: Columns = {}
    for column in TABLES[table]:
        if column.name == "file":
            continue
        values = [row[column.name] for row in rows]
        if column.name == "topic":
            numbers = np.array([topics.number(value.encode()) for value in values], np.int32)
            columns[column.name] = arrow.dictionary(numbers, topics.array())
        elif column.type == "string":
            columns[column.name] = arrow.strings(values)
        elif column.type == "bool":
            columns[column.name] = arrow.booleans(np.array(values, np.bool_))
        else:
            columns[column.name] = arrow.integers(np.array(values, _TYPES[column.type]))
    if rows:
        yield len(rows), columns
