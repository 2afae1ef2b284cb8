"""The engine's `decode`, from a path, and a whole table at once."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
from rocket_columnar.decode import SCHEMAS, TABLE_KINDS, UTC_MS, Where, in_utc, is_time
from rocket_columnar.decode import decode as decode_files
from rocket_columnar.store import KINDS, LATER_KINDS, find_files
from rocket_spec.errors import UsageError


def decode(
    path: Path | str, *, kind: str | None = None, **options: Any
) -> Iterator[tuple[str, pa.RecordBatch]]:
    """The rows of everything at `path`, as (table, record batch), in bounded memory.

    Args:
        path: a file, a directory of a store, or a store.
        kind: "index", "queue", "ext", "log", "checkpoint", or of 5.x "batch", "timer_wheel" or "timer_log"; by default detected from path and content.
        options: those of `rocket_columnar.decode.decode`.

    Raises:
        UsageError: an unknown table or column, or a geometry that cannot be inferred.
        FormatError: bytes that cannot be decoded, with file and offset.
        OSError: a path that is missing or cannot be read.
    """
    return decode_files(find_files(path, kind, kinds=(*KINDS, *LATER_KINDS)), **options)


def read_table(
    table: str,
    path: Path | str,
    *,
    topic: str | Sequence[str] | None = None,
    begin: int | None = None,
    end: int | None = None,
    columns: Sequence[str] | None = None,
    timestamps: Literal["raw", "utc"] = "raw",
    **options: Any,
) -> pa.Table:
    """One table of a store, in memory: `.to_pandas()`, `polars.from_arrow(...)` and DuckDB take it as it is.

    Args:
        table: "index_headers", "index_entries", "consume_queue", "consume_queue_ext", "commit_log" or "checkpoint".
        path: a file, a directory of a store, or a store.
        topic: only rows of this topic, or these topics.
        begin: earliest store timestamp, ms.
        end: latest store timestamp, ms, inclusive.
        columns: only these columns, in this order.
        timestamps: "raw" for 64-bit milliseconds, "utc" for Arrow timestamps in UTC; what is outside the years 1 to
            9999, as in damaged files, becomes null.
        options: others of `rocket_columnar.decode.decode`, such as `geometry` and `limit`.

    Raises:
        UsageError: an unknown table or column, no such files, or a geometry that cannot be inferred.
        FormatError: bytes that cannot be decoded, with file and offset.
        OSError: a path that is missing or cannot be read.
    """
    if table not in TABLE_KINDS:
        raise UsageError(f"unknown table {table!r}; expected one of {', '.join(TABLE_KINDS)}")
    if timestamps not in ("raw", "utc"):
        raise UsageError(f"timestamps={timestamps!r}: expected 'raw' or 'utc'")
    topics = None if topic is None else {topic} if isinstance(topic, str) else set(topic)
    times = (
        None
        if begin is None and end is None
        else (-(1 << 63) if begin is None else begin, (1 << 63) - 1 if end is None else end)
    )
    where = None if topics is None and times is None else Where(times=times, topics=topics)
    files = find_files(path, kinds=(TABLE_KINDS[table],))
    batches = [
        batch for _, batch in decode_files(files, tables=[table], columns=columns, where=where, **options)
    ]
    schema = batches[0].schema if batches else SCHEMAS[table]
    if timestamps == "utc":
        batches = [in_utc(batch)[0] for batch in batches]
        schema = pa.schema([field.with_type(UTC_MS) if is_time(field.name) else field for field in schema])
    return pa.Table.from_batches(batches, schema).unify_dictionaries()
