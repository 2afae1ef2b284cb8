"""Generated queries over Spark Connect, in a process of its own: a process has either a JVM or a client.

Run as `connect_plans.py URL STORES PARQUET TABLE COUNT`; writes the seeds of the queries that differ, as JSON.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pyarrow.parquet as pq
from query_plans import ParquetSide, SourceSide, differing
from rocket_spark import SOURCES, open_session, register


def main(url: str, stores: str, parquet: str, table: str, count: str) -> None:
    """Compares the source of `table` over `stores` with the Parquet file."""
    spark = open_session(remote=url)
    register(spark)
    (name,) = (source.format_name for source in SOURCES if source.table == table)
    source, expected = SourceSide(spark, name, stores), ParquetSide(spark, Path(parquet))
    rows = pq.read_table(parquet).to_pylist()
    json.dump(differing(source, expected, table, rows, range(int(count))), sys.stdout)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
