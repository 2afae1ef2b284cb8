"""One table of a decode: its files to record batches, file after file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from rocket_spec.errors import FormatError, MalformedError

from rocket_columnar import arrow
from rocket_columnar.arrow import Array, Columns
from rocket_columnar.decode.config_rows import config_columns
from rocket_columnar.decode.index_rows import entry_columns, header_columns
from rocket_columnar.decode.later_rows import later_columns
from rocket_columnar.decode.log_columns import Topics
from rocket_columnar.decode.log_rows import LogState, log_columns
from rocket_columnar.decode.queue_rows import checkpoint_columns, ext_columns, queue_columns
from rocket_columnar.decode.row_choice import RowChoice
from rocket_columnar.index import GeometryGuess
from rocket_columnar.log import Gap
from rocket_columnar.store import CONFIG_TABLES, LATER_KINDS, Kind, Reader, StoreFile, is_gone, size_of

if TYPE_CHECKING:
    import pyarrow as pa

TABLE_KINDS: Final[dict[str, Kind]] = {
    "index_headers": "index",
    "index_entries": "index",
    "consume_queue": "queue",
    "commit_log": "log",
    "checkpoint": "checkpoint",
    "consume_queue_ext": "ext",
    **dict.fromkeys(CONFIG_TABLES.values(), "config"),
    "batch_consume_queue": "batch",
    "timer_wheel": "timer_wheel",
    "timer_log": "timer_log",
}
"""The kind of file that each table is decoded from, in the order in which tables come."""


class _Numbers:
    """Distinct strings and their numbers: the dictionary that all batches of a table share."""

    def __init__(self, values: Iterable[str | None]) -> None:
        names = list(dict.fromkeys(value for value in values if value is not None))
        self._numbers = {name: number for number, name in enumerate(names)}
        self.array = arrow.strings(names)
        self._last: tuple[str | None, int, Array] | None = None

    def column(self, value: str | None, count: int) -> Array:
        """`count` times `value`; nulls for None."""
        if self._last is None or self._last[:2] != (value, count):
            number = -1 if value is None else self._numbers[value]
            self._last = value, count, arrow.constant(self.array, number, count)
        return self._last[2]


@dataclass(frozen=True, slots=True)
class Reports:
    """The callbacks of a decode; see `decode`."""

    on_gap: Callable[[Gap], None]
    on_progress: Callable[[int, int], None] | None
    on_error: Callable[[StoreFile, FormatError | OSError], None] | None


class TableDecoder:
    """One table of one call of `decode`."""

    def __init__(
        self,
        table: str,
        files: Sequence[StoreFile],
        schema: pa.Schema,
        geometries: Mapping[StoreFile, GeometryGuess],
        choice: RowChoice,
        reports: Reports,
    ) -> None:
        kind = TABLE_KINDS[table]
        self.table = table
        self.files = [
            file
            for file in files
            if file.kind == kind
            and (kind != "index" or file in geometries)
            and file.config_table in (None, table)
        ]
        self.schema = schema
        self.choice = choice
        self._lone = len(files) == 1
        self._geometries = geometries
        self._reports = reports
        self._names = _Numbers(file.name for file in self.files)
        self._topic_names = _Numbers(file.topic for file in self.files)
        self._log = LogState(choice)
        self._config_topics = Topics()

    def _opened(self) -> Iterator[tuple[int, StoreFile, Reader]]:
        """The files one after the other, open; if there are several, without those deleted since they were listed."""
        for number, file in enumerate(self.files):
            with ExitStack() as stack:
                try:
                    reader = stack.enter_context(file.open())
                except FileNotFoundError:
                    if self._lone or not is_gone(file):
                        raise
                    continue
                except OSError as error:
                    self._leave_out(file, error)
                    continue
                yield number, file, reader

    def _leave_out(self, file: StoreFile, error: FormatError | OSError) -> None:
        """Reports that a file, or its rest, cannot be decoded; raises `error` if no `on_error` was given."""
        if self._reports.on_error is None:
            raise error
        self._reports.on_error(file, error)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The batches of all files."""
        after: dict[object, tuple[StoreFile, int]] = {}
        skip, on_progress = self.choice.skip, self._reports.on_progress
        total = 0 if on_progress is None else sum(size_of(file) or 0 for file in self.files)
        done = 0
        for number, file, reader in self._opened():
            if file.kind in ("queue", "ext", "log", "batch", "timer_log"):
                before = after.get(file.sequence)
                if before is not None:
                    try:
                        self._check_order(*before, file)
                    except MalformedError as error:
                        self._leave_out(before[0], error)
                after[file.sequence] = file, file.base_offset + reader.size
            done += reader.size
            if self._passes_over(file, reader.size):
                continue
            for count, columns in self._readable(reader, file, number):
                if on_progress is not None:
                    on_progress(done - reader.size + reader.reached, total)
                batch = self._batch(file, count, columns)
                passed = skip.of(count)
                if passed < count:
                    yield batch.slice(passed) if passed else batch

    def _readable(self, reader: Reader, file: StoreFile, number: int) -> Iterator[tuple[int, Columns]]:
        """As `_columns`, up to an error that is only reported."""
        try:
            yield from self._columns(reader, file, number)
        except (FormatError, OSError) as error:
            self._leave_out(file, error)

    def _passes_over(self, file: StoreFile, size: int) -> bool:
        """Whether no row can come from a file of `size` bytes."""
        if file.kind == "log":
            begin, end = self.choice.log_range
            if not (begin < file.base_offset + max(size, 1) and file.base_offset < end):
                return True
        return self.choice.where is not None and not self.choice.where.file(file, size)

    def _check_order(self, before: StoreFile, end: int, file: StoreFile) -> None:
        """Compares a file's base offset with the end of the one before: overlaps raise, a hole in the log is a gap."""
        if file.base_offset < end:
            size = end - before.base_offset
            raise MalformedError(
                file=str(before.path),
                found=f"{size:,} bytes",
                expected=f"{file.base_offset - before.base_offset:,}, up to where {file.path.name} begins",
                clause="CQ-FILE-2" if file.kind != "log" else "LOG-FILE-1",
            )
        where, log_range = self.choice.where, self.choice.log_range
        within = log_range[0] <= end < log_range[1]
        within &= where is None or where.gap(end, file.base_offset)
        if file.kind == "log" and file.base_offset > end and within:
            self._reports.on_gap(
                Gap(str(file.path), end, file.base_offset, "no file", "one that joins on to the one before")
            )

    def _columns(self, reader: Reader, file: StoreFile, number: int) -> Iterator[tuple[int, Columns]]:
        if self.table == "index_headers":
            yield 1, header_columns(reader, self._geometries[file].geometry)
        elif self.table == "index_entries":
            yield from entry_columns(reader, self._geometries[file].geometry, self.choice)
        elif self.table == "consume_queue":
            yield from queue_columns(reader, file.base_offset, self.choice)
        elif self.table == "consume_queue_ext":
            yield from ext_columns(reader, file.base_offset, self.choice.batch_rows, where=self.choice.where)
        elif self.table == "checkpoint":
            yield 1, checkpoint_columns(reader)
        elif file.kind == "config":
            yield from config_columns(self.table, reader, self._config_topics)
        elif file.kind in LATER_KINDS:
            yield from later_columns(self.table, reader, file, self.choice)
        else:
            yield from log_columns(
                reader,
                file.base_offset,
                self._log,
                on_gap=self._reports.on_gap,
                goes_on=lambda: any(_begins(later) for later in self.files[number + 1 :]),
            )

    def _batch(self, file: StoreFile, count: int, columns: Columns) -> pa.RecordBatch:
        if "file" in self.choice.names:
            columns["file"] = self._names.column(file.name, count)
        if "topic" in self.choice.names and "topic" not in columns:
            columns["topic"] = self._topic_names.column(file.topic, count)
        if "queue_id" in self.choice.names and "queue_id" not in columns:
            ids = np.full(count, file.queue_id or 0, np.int32)
            columns["queue_id"] = arrow.integers(ids, np.full(count, file.queue_id is not None))
        return arrow.batch(self.schema, columns)


def _begins(file: StoreFile) -> bool:
    """Whether a later log file begins with anything but zeros."""
    try:
        with file.open() as reader:
            return bool(reader.read(0, min(8, reader.size)).any())
    except FileNotFoundError:
        return False
