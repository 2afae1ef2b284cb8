"""Micro-batches of a stream, taken without Spark: everything goes through what Spark keeps or sends."""

import json
import pickle
from pathlib import Path

from rocket_spark.reading import Offsets
from rocket_spark.sources import SOURCES
from rocket_spark.streaming import StoreStreamReader
from table_rows import Row

TABLES = {source.table: source for source in SOURCES if source.table in ("commit_log", "consume_queue")}


def stream(table: str, path: Path, **options: str) -> StoreStreamReader:
    source = TABLES[table]({"path": str(path), **options})
    return source.streamReader(source.schema())  # type: ignore[return-value]


def trigger(reader: StoreStreamReader, start: dict[str, int]) -> tuple[dict[str, int], list[Row]]:
    """One micro-batch of the stream of one store, from and to offsets of that store."""
    (path,) = reader.asked.paths
    end, rows = trigger_all(reader, {path: start})
    return end[path], [{name: value for name, value in row.items() if name != "store"} for row in rows]


def first(reader: StoreStreamReader) -> dict[str, int]:
    """The first position of one store's stream."""
    (own,) = reader.initialOffset().values()
    return own


def trigger_all(reader: StoreStreamReader, start: Offsets) -> tuple[Offsets, list[Row]]:
    """One micro-batch, with everything going through what Spark keeps or sends."""
    end = json.loads(json.dumps(reader.latestOffset(start, reader.getDefaultReadLimit())))
    partitions = pickle.loads(pickle.dumps(reader.partitions(start, end)))  # noqa: S301
    return end, [row for part in partitions for batch in reader.read(part) for row in batch.to_pylist()]


def ordered(rows: list[Row]) -> list[Row]:
    return sorted(
        rows, key=lambda row: (row["topic"], row["queue_id"], row.get("logical_offset", row["phy_offset"]))
    )
