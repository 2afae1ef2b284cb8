"""The tables of rocket_spec as Spark schemas, the step from the engine's record batches to plain ones, and rows of Kafka."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from pyspark.sql import types
from rocket_columnar.decode import SCHEMAS, is_time, plain_schema
from rocket_spec.tables import TABLES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_SPARK: Final[dict[str, types.DataType]] = {
    "string": types.StringType(),
    "int16": types.ShortType(),
    "int32": types.IntegerType(),
    "int64": types.LongType(),
    "bool": types.BooleanType(),
    "binary": types.BinaryType(),
    "map": types.MapType(types.StringType(), types.StringType()),
}


STORE: Final = "store"  # the first column of every source and of decoded Parquet: the name of the store

UTC: Final = pa.timestamp("us", "UTC")  # the Arrow type of Spark's timestamps


def spark_schema(table: str, *, utc: bool = False) -> types.StructType:
    """The Spark schema of `table`, with its times as timestamps if `utc`; KeyError when there is no such table."""
    return types.StructType(
        [
            types.StructField(STORE, types.StringType()),
            *(
                types.StructField(
                    column.name,
                    types.TimestampType() if utc and is_time(column.name) else _SPARK[column.type],
                )
                for column in TABLES[table]
            ),
        ]
    )


def arrow_schema(table: str, columns: Sequence[str] | None = None) -> pa.Schema:
    """The Arrow schema of `table` at the Spark boundary: no dictionaries; only `columns`, in their order."""
    schema = plain_schema(SCHEMAS[table])
    return schema if columns is None else pa.schema([schema.field(name) for name in columns])


def plain(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The columns of `batch` that `schema` names, dictionary-encoded ones as plain strings; others are not copied."""
    arrays = []
    for field in schema:
        array = batch.column(field.name)
        arrays.append(array if array.type.equals(field.type) else array.cast(field.type))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


_COLUMNS: Final = (
    "encode(keys, 'UTF-8') AS key",
    "body AS value",
    "CAST(topic AS string) AS topic",  # a folder `topic=1` of decoded Parquet makes it a number
    "queue_id AS partition",
    "queue_offset AS offset",
    "{time} AS timestamp",
    "1 AS timestampType",
    (
        "transform(map_entries(properties), entry -> "
        "named_struct('key', entry.key, 'value', encode(entry.value, 'UTF-8'))) AS headers"
    ),
)

_MILLIS: Final = (
    # The range of timestamp_millis: beyond it, microseconds do not fit into a long.
    "CASE WHEN store_timestamp BETWEEN -9223372036854775 AND 9223372036854775 "
    "THEN timestamp_millis(store_timestamp) END"
)


def kafka_rows(records: DataFrame) -> DataFrame:
    """Records of a commit log as rows of Spark's Kafka source, so that queries written for it read a store.

    `key` is the text of the keys, `value` the body as stored (compressed if bit 0 of `sys_flag` is set), `partition` the
    queue, `offset` the place in the queue, `timestamp` the store time (`timestampType` 1, LogAppendTime; null out of range),
    `headers` the properties.

    Args:
        records: rows of `rocketmq-commitlog`, or of decoded Parquet, with times as int64 or as timestamps.
    """
    is_millis = dict(records.dtypes).get("store_timestamp") == "bigint"
    time = _MILLIS if is_millis else "store_timestamp"
    return records.selectExpr(*(column.format(time=time) for column in _COLUMNS))


def count_times_out_of_range(frame: DataFrame) -> dict[str, int]:
    """For each column of times the number of its values outside the years 1 to 9999, which are null; one action.

    In mode PERMISSIVE the rows that report a problem have no times either, and are counted.

    Args:
        frame: what a source gave with the option `timestamps` set to `utc`.
    """
    from pyspark.sql import functions

    names = [name for name in frame.columns if is_time(name)]
    counts = [functions.count_if(functions.col(name).isNull()).alias(name) for name in names]
    return frame.agg(*counts).collect()[0].asDict() if names else {}
