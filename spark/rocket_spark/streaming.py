"""The interface that Spark requires of a stream.

An offset states how far every store has been read, and what was read last: see `rocket_spark.reading.tails`. Spark keeps
it in the query's checkpoint and asks for exactly the rows between two of them, also after a restart, so that none is lost
or repeated. An offset is after the last complete record or unit; records that are being written are left to a later trigger.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming import datasource
from rocket_spec.errors import UsageError

from rocket_spark import reading

if TYPE_CHECKING:
    import pyarrow as pa


_LONG_MAX: Final = (1 << 63) - 1


class StoreStreamReader(DataSourceStreamReader, datasource.SupportsTriggerAvailableNow):
    """Follows `commit_log` or `consume_queue` of stores; one that comes later is read from its beginning.

    The options of a stream are `startingOffsets`, `maxRowsPerTrigger`, `maxBytesPerTrigger` and `failOnDataLoss`; UsageError for an
    invalid value.
    """

    def __init__(
        self, table: str, asked: reading.Request, columns: list[str], options: Mapping[str, str]
    ) -> None:
        if "endingOffsets" in options:
            raise UsageError("option endingOffsets: belongs to a batch; a stream has no end")
        self.table = table
        self.asked = asked
        self.columns = columns
        self.start = reading.offsets_option(options, "startingOffsets", "earliest")
        self.max_rows = reading.positive(options, "maxRowsPerTrigger", _LONG_MAX)
        self.max_bytes = reading.positive(options, "maxBytesPerTrigger", _LONG_MAX)
        self.fail_on_loss = reading.flag(options, "failOnDataLoss", default=True)
        self.target: reading.Offsets | None = None
        self.turn = 0

    def _tails(self) -> reading.StoreTails:
        """The stores as they are now."""
        return reading.StoreTails(self.asked, self.table, fail_on_loss=self.fail_on_loss)

    def initialOffset(self) -> reading.Offsets:
        """The offset at which a new query begins."""
        return self._tails().named(self.start, "startingOffsets", others="earliest")

    def getDefaultReadLimit(self) -> datasource.ReadLimit:
        """The limit of one trigger; `latestOffset` checks both options if both are given."""
        if self.max_rows is not None:
            return datasource.ReadMaxRows(self.max_rows)
        if self.max_bytes is not None:
            return datasource.ReadMaxBytes(self.max_bytes)
        return datasource.ReadAllAvailable()

    def latestOffset(self, start: reading.Offsets, limit: datasource.ReadLimit) -> reading.Offsets:
        """The offset up to which the next trigger reads."""
        limited = not isinstance(limit, datasource.ReadAllAvailable)
        tails = self._tails()
        begin = tails.checked(start)
        self.turn += 1
        end = tails.last(
            begin, self.max_rows if limited else None, self.max_bytes if limited else None, self.turn
        )
        return tails.limited(start, begin, end, self.target)

    def prepareForTriggerAvailableNow(self) -> None:
        """Limits the query to what exists now."""
        self.target = self._tails().ends()

    def partitions(self, start: reading.Offsets, end: reading.Offsets) -> list[reading.RowsPartition]:
        """The rows between two offsets, divided into partitions."""
        tails = self._tails()
        return [
            reading.RowsPartition(parts) for parts in reading.grouped(tails.parts(tails.checked(start), end))
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a partition."""
        if isinstance(partition, reading.RowsPartition):
            yield from reading.part_rows(partition.parts, self.table, self.columns, self.asked)
