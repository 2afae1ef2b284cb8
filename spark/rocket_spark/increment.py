"""Decodes what was written since the last run, from streams over many stores: `spark decode --increment CHECKPOINT`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rocket_spec.errors import UsageError

from rocket_spark.decode import DecodeOptions, check_options
from rocket_spark.failure_causes import cause_of, is_late, reason
from rocket_spark.files import is_remote
from rocket_spark.output import require_outside
from rocket_spark.reading import listed_stores, request
from rocket_spark.sources import FOLLOWED, format_of, register, require_streams
from rocket_spark.stores import JobStore, absolute
from rocket_spark.tasks import JobError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

_USUAL: Final = DecodeOptions()
_DAY_MS: Final = 86_400_000

_STARTS: Final = 3
"""How often a stream is started whose Python worker does not start within the 10 seconds that Spark allows."""


@dataclass(frozen=True, slots=True)
class Increment:
    """The result of one run: appended rows by table, and by path the stores that could not be read, each with the reason."""

    rows: dict[str, int]
    unreadable: dict[str, str]


def follow_stores(
    spark: SparkSession,
    stores: Sequence[str | Path | JobStore],
    out: str,
    checkpoint: str,
    tables: Collection[str] | None = None,
    *,
    storage: Mapping[str, str] | None = None,
    options: DecodeOptions = _USUAL,
) -> Increment:
    """Appends to Parquet what stores have gained since the last run with this checkpoint.

    Each table is a stream of Spark with `trigger(availableNow=True)`, from all stores to `out/TABLE`, with a folder of its
    own in `checkpoint`. After a kill at any moment the next run goes on: Spark reads each row once from `out/TABLE`, by the
    log that its sink keeps in `_spark_metadata`. A glob is expanded anew in each run.

    Args:
        spark: the session.
        stores: paths, URIs and globs, with `NAME=` before them or without; a single one may be a `JobStore`.
        out: a folder of Spark: a path or a URI of Hadoop.
        checkpoint: another one, of this output alone.
        tables: names from `FOLLOWED`; None for all of them.
        storage: options of the storage of the stores.
        options: how the output is laid out; with `fail_fast`, what cannot be read is an error, gaps included.

    Raises:
        UsageError: a table that cannot be followed, a folder in a store, a checkpoint of another output, or PySpark before 4.2.
        JobError: a stream failed.
    """
    require_streams()
    check_options(options)
    for table in tables or ():
        if table not in FOLLOWED:
            raise UsageError(f"table {table}: cannot be followed; expected {' or '.join(FOLLOWED)}")
    mode = "FAILFAST" if options.fail_fast else "DROPMALFORMED"
    times = "utc" if options.utc else "millis"
    given = [store if isinstance(store, JobStore) else JobStore(store) for store in stores]
    folders = [absolute(folder) for store in given for folder in store.commitlog]
    for folder in folders:
        if "," in folder:
            raise UsageError(
                f"{folder}: a comma separates directories of a commit log; a path cannot contain one"
            )
    paths = json.dumps([str(store.path) for store in given])
    asked = {
        **(storage or {}),
        "paths": paths,
        "mode": mode,
        "timestamps": times,
        "commitlog": ",".join(folders),
    }
    out, checkpoint = (path if is_remote(path) else str(Path(path).absolute()) for path in (out, checkpoint))
    if out == checkpoint:
        raise UsageError(f"{out}: the output and its checkpoint are different directories")
    register(spark)
    rows: dict[str, int] = {}
    unreadable: dict[str, str] = {}
    for table in FOLLOWED:
        if tables and table not in tables:
            continue
        found = list(listed_stores(request(asked, table, format_of(table)), table, growing=True))
        unreadable |= {part.store: str(part.problem) for _, _, problems in found for part in problems}
        for place in (out, checkpoint):
            require_outside(place, (store.path for store, _, _ in found))
        _require_pair(Path(out, table), Path(checkpoint, table))

        def start(asked: Mapping[str, str] = asked, table: str = table) -> StreamingQuery:
            frame = _shaped(spark.readStream.format(format_of(table)).options(**asked).load(), table, options)
            by = [name for name in options.partition_by if name in frame.columns]
            writer = frame.writeStream.format("parquet").partitionBy(*by)
            writer = writer.option("checkpointLocation", f"{checkpoint}/{table}")
            return writer.trigger(availableNow=True).start(f"{out}/{table}")

        rows[table] = _appended(start)
    return Increment(rows, unreadable)


def _appended(start: Callable[[], StreamingQuery]) -> int:
    """Runs a stream to its end; how many rows it appended. Where a worker was late, the stream is started again, and goes on."""
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    queries: list[StreamingQuery] = []
    for left in reversed(range(_STARTS)):
        try:
            queries.append(start())
            queries[-1].awaitTermination()
            break
        except PySparkException as error:
            if not left or not is_late(error):
                raise JobError(reason(error)) from None
        except Py4JError as error:
            raise JobError(cause_of(str(error))) from None
    return sum(progress["numInputRows"] for query in queries for progress in query.recentProgress)


def _require_pair(out: Path, checkpoint: Path) -> None:
    """Refuses an output on disks that was not written with a checkpoint: Spark would drop or repeat rows, without an error."""

    def names(folder: Path) -> list[str]:
        return [path.name for path in folder.iterdir()] if folder.is_dir() else []

    def last(folder: Path) -> int:
        found = (re.match(r"(\d+)(\.compact)?$", name) for name in names(folder))
        return max((int(number[1]) for number in found if number), default=-1)

    done, written, planned = map(
        last, (checkpoint / "commits", out / "_spark_metadata", checkpoint / "offsets")
    )
    if not done <= written <= planned or (planned < 0 and set(names(out)) - {"_spark_metadata"}):
        raise UsageError(
            f"{out}: was not written with the checkpoint {checkpoint}; use the one of this output"
        )


def _shaped(frame: DataFrame, table: str, options: DecodeOptions) -> DataFrame:
    """With the columns that the options add."""
    from pyspark.sql import functions

    if table != "commit_log":
        return frame
    if options.key_list:
        frame = frame.withColumn("key_list", functions.expr("filter(split(keys, ' '), key -> key != '')"))
    if "date" in options.partition_by:
        millis = "unix_millis(store_timestamp)" if options.utc else "store_timestamp"
        day = f"CAST(date_from_unix_date(TRY_CAST(floor({millis} / {_DAY_MS}) AS int)) AS string)"
        frame = frame.withColumn("date", functions.expr(day))
    return frame
