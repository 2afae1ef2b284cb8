"""Times of the tables, int64 milliseconds, as Arrow timestamps in UTC."""

from datetime import UTC, datetime
from typing import Any, Final

import pyarrow as pa

UTC_MS: Final = pa.timestamp("ms", "UTC")
"""The type of a time."""

_LEAST: Final = int(datetime(1, 1, 1, tzinfo=UTC).timestamp() * 1000)
_MOST: Final = int(datetime(9999, 12, 31, 23, 59, 59, 999_000, tzinfo=UTC).timestamp() * 1000)


def is_time(name: str) -> bool:
    """Whether a column of a table holds times."""
    return name.endswith("_timestamp")


def utc_times(array: Any) -> tuple[Any, int]:
    """Milliseconds as timestamps, and how many became null because they are outside the years 1 to 9999."""
    import pyarrow.compute as pc

    compared: Any = pc
    fits = compared.and_(compared.greater_equal(array, _LEAST), compared.less_equal(array, _MOST))
    kept = pc.if_else(fits, array, pa.scalar(None, pa.int64()))
    return kept.cast(UTC_MS), kept.null_count - array.null_count


def in_utc(batch: pa.RecordBatch) -> tuple[pa.RecordBatch, int]:
    """A batch with its times as timestamps, and how many became null; see `utc_times`."""
    nulled = 0
    for place, field in enumerate(batch.schema):
        if is_time(field.name) and field.type == pa.int64():
            times, lost = utc_times(batch.column(place))
            batch = batch.set_column(place, pa.field(field.name, UTC_MS), times)
            nulled += lost
    return batch, nulled
