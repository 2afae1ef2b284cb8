"""Generated queries in a process of their own: over Spark Connect, another version of Spark, or many in one session.

Run as `query_plans_run.py WHERE FOLDER FIRST COUNT TABLE...`. WHERE is a master or the URL of a Connect server; FOLDER has
`stores/*` and `TABLE.parquet`. Writes one line of JSON for each table when it is done.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pyspark
from query_plans import SHAPES, ParquetSide, SourceSide, differing
from rocket_spark import SOURCES, open_session, register


def main(where: str, folder: str, first: str, count: str, *tables: str) -> None:
    """Compares the source of each table over all stores with the Parquet of all."""
    remote = where.startswith("sc://")
    settings = {"spark.sql.shuffle.partitions": "2", "spark.sql.codegen.wholeStage": "false"}
    spark = open_session(
        None if remote else where, remote=where if remote else None, conf=None if remote else settings
    )
    register(spark)
    formats = {source.table: source.format_name for source in SOURCES}
    seeds = range(int(first), int(first) + int(count))
    shapes = Counter(SHAPES[seed % len(SHAPES)] for seed in seeds)
    for table in tables:
        parquet = ParquetSide(spark, Path(folder) / f"{table}.parquet")
        source = SourceSide(spark, formats[table], f"{folder}/stores/*")
        wrong = differing(source, parquet, table, pq.read_table(parquet.path).to_pylist(), seeds)
        done = {"table": table, "spark": pyspark.__version__, "plans": len(seeds), "differing": wrong}
        print(json.dumps(done | {"shapes": shapes}), flush=True)  # noqa: T201 - what it is run for
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
