"""Filters of a decode: by time, physical offset, key hash and topic, and by number."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from rocket_spec.errors import UsageError
from rocket_spec.layout import Geometry

from rocket_columnar.formats import LONG_MAX, LONG_MIN, clean_utf8
from rocket_columnar.store import StoreFile

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
    """A filter for rows; a criterion that is None lets all rows pass.

    Attributes:
        times: first and last store timestamp, ms, both inclusive.
        offsets: physical offsets from the first up to, but excluding, the second, bytes.
        key_hashes: of index entries.
        topics: names.
    """

    times: tuple[int, int] | None = None
    offsets: tuple[int, int] | None = None
    key_hashes: Collection[int] | None = None
    topics: Collection[str] | None = None

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


WHOLE_LOG: Final = (LONG_MIN, LONG_MAX + 1)
"""The range of all physical offsets."""


@dataclass(frozen=True, slots=True)
class RowChoice:
    """The rows and columns of one table that are wanted.

    Attributes:
        names: the columns.
        batch_rows: rows of a batch at most.
        where: the filter; None lets all rows pass.
        skip: rows still to be skipped; shared by all files of the table.
        all_entries: see `decode`.
        threads: number of threads that decode an index file.
        log_range: first physical offset, and the one after the last; see `decode`.
        geometry: the one that was given.
    """

    names: set[str]
    batch_rows: int
    where: Where | None = None
    skip: Skip = field(default_factory=lambda: Skip(0))
    all_entries: bool = False
    threads: int = 1
    log_range: tuple[int, int] = WHOLE_LOG
    geometry: Geometry | None = None
