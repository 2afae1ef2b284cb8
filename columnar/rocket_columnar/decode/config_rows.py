"""The rows of the tables of `config/` as Arrow arrays."""

from collections.abc import Iterator
from typing import Final

import numpy as np
from rocket_spec.tables import TABLES

from rocket_columnar import arrow
from rocket_columnar.arrow import Columns
from rocket_columnar.config import table_rows
from rocket_columnar.decode.log_columns import Topics
from rocket_columnar.store import Reader

_TYPES: Final = {"int32": np.int32, "int64": np.int64}


def config_columns(table: str, reader: Reader, topics: Topics) -> Iterator[tuple[int, Columns]]:
    """The rows of one configuration file, without `file`; as `table_rows` raises. Its topics are added to `topics`."""
    rows = table_rows(table, reader)
    columns: Columns = {}
    for column in TABLES[table]:
        if column.name == "file":
            continue
        values = [row[column.name] for row in rows]
        if column.name == "topic":
            numbers = np.array([topics.number(value.encode()) for value in values], np.int32)
            columns[column.name] = arrow.dictionary(numbers, topics.array())
        elif column.type == "string":
            columns[column.name] = arrow.strings(values)
        elif column.type == "bool":
            columns[column.name] = arrow.booleans(np.array(values, np.bool_))
        else:
            columns[column.name] = arrow.integers(np.array(values, _TYPES[column.type]))
    if rows:
        yield len(rows), columns
