"""The interface that Spark requires of a stream.

An offset states how far everything has been read - `{"phy_offset": n}` for a commit log, `{"TOPIC/QUEUE": units}` for
consume queues - and what was read last. Spark keeps it in the query's
checkpoint and asks for exactly the rows between two of them, also after a restart, so that none is lost or repeated. An
offset is after the last complete record or unit; records that are being written are left to a later trigger.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from rocket_spec.errors import UsageError

from rocket_spark.files import expand, storage_for
from rocket_spark.reading import (
    LogTail,
    QueueTail,
    Request,
    RowsPartition,
    flag,
    grouped,
    part_rows,
    positive,
    requested_files,
)

if TYPE_CHECKING:
    import pyarrow as pa


_LONG_MAX: Final = (1 << 63) - 1

Offsets = dict[str, int]


class StoreStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Follows the commit logs or the consume queues of one store.

    Args:
        table: `commit_log` or `consume_queue`.
        asked: the options of a read.
        columns: of the rows, in order.
        options: of a stream: `startingOffsets`, `maxRowsPerTrigger`, `maxBytesPerTrigger`, `failOnDataLoss`.

    Raises:
        UsageError: an option with an invalid value.
    """

    def __init__(self, table: str, asked: Request, columns: list[str], options: Mapping[str, str]) -> None:
        self.table = table
        self.asked = asked
        self.columns = columns
        self.start = options.get("startingOffsets", "earliest")
        if self.start not in ("earliest", "latest"):
            raise UsageError(f"option startingOffsets: {self.start!r} is neither earliest nor latest")
        self.max_rows = positive(options, "maxRowsPerTrigger", _LONG_MAX)
        self.max_bytes = positive(options, "maxBytesPerTrigger", _LONG_MAX)
        self.fail_on_loss = flag(options, "failOnDataLoss", default=True)
        self.target: Offsets | None = None

    def _tail(self) -> LogTail | QueueTail:
        """The files as they are now."""
        path, options = self.asked.paths[0], dict(self.asked.storage)
        one = len(self.asked.paths) == 1 and not self.asked.recursive
        if not one or expand(path, options) != [storage_for(path, options)[1]]:
            raise UsageError("option path: a stream follows one store; start one for each")
        files = [
            file for file in requested_files(self.asked, self.table) if file.size()
        ]  # 0: not yet laid out
        if not files:
            raise UsageError(f"{path}: contains nothing yet that a stream could follow")
        return LogTail(files) if self.table == "commit_log" else QueueTail(files)

    def initialOffset(self) -> Offsets:  # noqa: N802 - Spark's name
        """Where a new query begins."""
        tail = self._tail()
        return tail.first() if self.start == "earliest" else tail.last(tail.first(), None, None)

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        """The limit of one trigger; `latestOffset` checks both options if both are given."""
        if self.max_rows is not None:
            return ReadMaxRows(self.max_rows)
        if self.max_bytes is not None:
            return ReadMaxBytes(self.max_bytes)
        return ReadAllAvailable()

    def latestOffset(self, start: Offsets, limit: ReadLimit) -> Offsets:  # noqa: N802 - Spark's name
        """How far the next trigger reads."""
        limited = not isinstance(limit, ReadAllAvailable)
        tail = self._tail()
        begin = tail.checked(start, fail_on_loss=self.fail_on_loss)
        end = tail.last(begin, self.max_rows if limited else None, self.max_bytes if limited else None)
        if self.target is not None:
            end = tail.least(end, {**begin, **self.target})
        return tail.greatest(end, begin)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """Limits the query to what exists now."""
        tail = self._tail()
        self.target = tail.last(tail.first(), None, None)

    def partitions(self, start: Offsets, end: Offsets) -> list[RowsPartition]:
        """The rows between two offsets, divided into partitions."""
        tail = self._tail()
        begin = tail.checked(start, fail_on_loss=self.fail_on_loss)
        return grouped(list(tail.parts(begin, end, self.asked)), self.asked, self.table)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a partition."""
        if isinstance(partition, RowsPartition):
            yield from part_rows(partition.parts, self.table, self.columns, self.asked)
