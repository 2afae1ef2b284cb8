"""The tables of rocket_spec as Spark schemas, and the step from the engine's record batches to plain ones."""

from collections.abc import Sequence
from typing import Final

import pyarrow as pa
from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    DataType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)
from rocket_columnar.arrow import SCHEMAS, is_time, plain_schema
from rocket_spec.tables import TABLES

_SPARK: Final[dict[str, DataType]] = {
    "string": StringType(),
    "int16": ShortType(),
    "int32": IntegerType(),
    "int64": LongType(),
    "bool": BooleanType(),
    "binary": BinaryType(),
    "map": MapType(StringType(), StringType()),
}


STORE: Final = "store"
"""The first column of every source and of decoded Parquet: the name of the store."""

UTC: Final = pa.timestamp("us", "UTC")
"""The Arrow type of Spark's timestamps."""


def spark_schema(table: str, *, utc: bool = False) -> StructType:
    """The Spark schema of `table`, with its times as timestamps if `utc`; KeyError when there is no such table."""
    return StructType(
        [
            StructField(STORE, StringType()),
            *(
                StructField(
                    column.name, TimestampType() if utc and is_time(column.name) else _SPARK[column.type]
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
