"""Micro-batches of a stream, taken without Spark: everything goes through what Spark keeps or sends."""

import json
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from java_programs import SHORT_LIVED
from pyspark.sql import SparkSession
from rocket_spark.reading import Offsets
from rocket_spark.sources import SOURCES
from rocket_spark.streaming import StoreStreamReader
from table_rows import Row, table_rows

_PATIENCE: Final = 300  # seconds

TABLES = {source.table: source for source in SOURCES if source.table in ("commit_log", "consume_queue")}


def stream(table: str, path: Path | str, **options: str) -> StoreStreamReader:
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
    partitions = pickle.loads(pickle.dumps(reader.partitions(start, end)))
    return end, [row for part in partitions for batch in reader.read(part) for row in batch.to_pylist()]


def ordered(rows: list[Row]) -> list[Row]:
    return sorted(
        rows, key=lambda row: (row["topic"], row["queue_id"], row.get("logical_offset", row["phy_offset"]))
    )


def appended(spark: SparkSession, out: Path, table: str) -> list[Row]:
    """The rows that increments left, in an order of their own."""
    rows: list[Row] = spark.read.parquet(str(out / table)).toArrow().to_pylist()
    return sorted(rows, key=_whole)


def expected(stores: Sequence[Path], table: str) -> list[Row]:
    """The rows of stores as `appended` gives them."""
    rows = [{"store": str(store)} | row for store in stores for row in table_rows(store, table)]
    return sorted(
        ({**row, "properties": list(row["properties"])} if "properties" in row else row for row in rows),
        key=_whole,
    )


def _whole(row: Row) -> str:
    return str(sorted((key, str(value)) for key, value in row.items()))


def killed_increment(stores: str, out: Path, checkpoint: Path) -> None:
    """Kills an increment, JVM and workers too, when another batch of the log is planned and not done."""
    words = [sys.executable, "-m", "rocketspec", "spark", "decode", stores, "-o", str(out)]
    words += ["--increment", str(checkpoint), "--master", "local[2]"]

    def planned() -> int:
        return len(list(checkpoint.glob("commit_log/offsets/[0-9]*")))

    before = planned()
    with (
        (out.parent / "stderr").open("w+") as log,
        subprocess.Popen(
            words, start_new_session=True, stderr=log, env={**os.environ, "JAVA_TOOL_OPTIONS": SHORT_LIVED}
        ) as run,
    ):
        until = time.monotonic() + _PATIENCE
        while planned() == before:
            assert run.poll() is None, (out.parent / "stderr").read_text()
            assert time.monotonic() < until
            time.sleep(0.01)
        os.killpg(run.pid, signal.SIGKILL)
        run.wait()
