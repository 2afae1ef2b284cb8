"""The options of a decode job, and the Parquet files of one task: row groups of about 850,000 rows, page indexes, bloom filters."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self, TypedDict
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from rocket_columnar.decode import SCHEMAS, UTC_MS, ParquetFile, is_time, utc_times
from rocket_spec.errors import UsageError

PARTITIONS: Final = ("store", "topic", "date")
"""The values of `partition_by`: the store, a column `topic`, and the day (UTC) of a column `store_timestamp`."""


@dataclass(frozen=True, slots=True)
class DecodeOptions:
    """The layout of a decode job's output.

    Attributes:
        fail_fast: fails the job at the first store that cannot be decoded, instead of listing it.
        utc: writes times as timestamp[ms, UTC] instead of int64; those beyond the years 1 to 9999 become null.
        key_list: adds a column `key_list` to `commit_log`: the keys as a list.
        partition_by: names of `PARTITIONS`; each becomes a folder `NAME=VALUE` in the tables that have it.
    """

    fail_fast: bool = False
    utc: bool = False
    key_list: bool = False
    partition_by: tuple[str, ...] = ()


class DecodeArguments(TypedDict, total=False):
    """Arguments of a decode besides stores, output and tables.

    Attributes:
        overwrite: replaces what an earlier job wrote to `out`, once everything is written.
        storage: options of S3 and HDFS; see `rocket_spark.files.storage_for`.
        options: how the output is laid out.
        on_skip: is called with the name of each file that is skipped, and the reason.
    """

    overwrite: bool
    storage: Mapping[str, str] | None
    options: DecodeOptions
    on_skip: Callable[[str, str], None]


def check_options(options: DecodeOptions) -> None:
    """Raises UsageError for an unknown partition."""
    for name in options.partition_by:
        if name not in PARTITIONS:
            raise UsageError(f"partition by {name}: unknown; expected {', '.join(PARTITIONS)}")


BATCH_ROWS: Final = 1 << 16  # rows that are decoded at once: their columns stay in a processor's own cache

GROUP_ROWS: Final = 13 * BATCH_ROWS
"""Maximum number of rows in a row group. Their bloom filter takes 1 MiB; its size is a power of two, so one for 2 % more rows would
take 2 MiB. The largest task on an index file, with 2,500,000 entries, makes three groups."""

_BLOOM: Final = {"commit_log": ("uniq_key", "keys"), "index_entries": ("key_hash",)}
"""Columns with a bloom filter."""

_STORE: Final = SCHEMAS["checkpoint"].field("file").with_name("store")
_HIVE_NULL: Final = "__HIVE_DEFAULT_PARTITION__"


def written_schema(table: str, options: DecodeOptions) -> pa.Schema:
    """The columns of a table's files, partition folders aside; the first is `store`."""
    fields = []
    for field in (_STORE, *SCHEMAS[table]):
        if field.name in options.partition_by:
            continue
        fields.append(field.with_type(UTC_MS) if options.utc and is_time(field.name) else field)
        if options.key_list and field.name == "keys" and table == "commit_log":
            fields.append(pa.field("key_list", pa.list_(pa.string())))
    return pa.schema(fields)


def _part_file(path: Path, table: str, schema: pa.Schema, order: str | None) -> ParquetFile:
    path.parent.mkdir(parents=True, exist_ok=True)
    return ParquetFile(
        path,
        schema,
        group_rows=GROUP_ROWS,
        bloom=[name for name in _BLOOM.get(table, ()) if name in schema.names],
        write_page_index=True,
        sorting_columns=None if order is None else [pq.SortingColumn(schema.get_field_index(order))],
        store_schema=False,  # without the Arrow schema beside Parquet's own, dictionaries read back as strings
    )


class PartWriter:
    """The files that one task makes of one table: one, or one for each value of the partition columns.

    `rows` has those of each file, by its path in the table's folder; `nulled` is the number of times out of range that became null.
    """

    def __init__(
        self, folder: Path, table: str, name: str, options: DecodeOptions, *, order: str | None = None
    ) -> None:
        """Takes the folder of the task's attempt, in which the files are below `TABLE`, and the column by which the rows come in order, if any."""
        self._folder = folder
        self._order = order
        self._table = table
        self._name = name
        self._options = options
        self._schema = written_schema(table, options)
        names = SCHEMAS[table].names
        self._by = [by for by in options.partition_by if _SOURCES[by] in ("store", *names)]
        self._files: dict[str, ParquetFile] = {}
        self.rows: dict[str, int] = {}
        self.nulled = 0
        if not self._by:
            self._file("")

    def _file(self, place: str) -> tuple[str, ParquetFile]:
        path = f"{place}{self._name}"
        if path not in self._files:
            self._files[path] = _part_file(
                self._folder / self._table / path, self._table, self._schema, self._order
            )
            self.rows[path] = 0
        return path, self._files[path]

    def write(self, batch: pa.RecordBatch, store: str) -> None:
        """Adds rows of a store, with the columns of the engine."""
        zeros = np.zeros(batch.num_rows, np.int32)
        names = pa.DictionaryArray.from_arrays(zeros, pa.array([store]))
        batch = batch.add_column(0, _STORE, names)
        for place, rows in _split(batch, self._by):
            path, file = self._file(place)
            file.write(self._shaped(rows))
            self.rows[path] += rows.num_rows

    def _shaped(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        arrays: list[Any] = []
        for field in self._schema:
            if field.name == "key_list":
                arrays.append(_key_list(batch.column("keys")))
                continue
            array = batch.column(field.name)
            if field.type == UTC_MS:
                array, nulled = utc_times(array)
                self.nulled += nulled
            arrays.append(array if array.type.equals(field.type) else array.cast(field.type))
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)

    def __enter__(self) -> Self:
        """The files are complete when the block ends, and abandoned when it fails."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *_rest: object) -> None:
        """Closes every file."""
        for file in self._files.values():
            if kind is None:
                file.close()
            else:
                file.abandon()


def _key_list(keys: Any) -> Any:
    """The keys that 4.9.3 puts into the index: parts between spaces, empty ones skipped (IDX-SVC-2)."""
    texts = keys.cast(pa.string()) if pa.types.is_dictionary(keys.type) else keys
    found = [
        None if text is None else [part for part in text.split(" ") if part] for text in texts.to_pylist()
    ]
    return pa.array(found, pa.list_(pa.string()))


def _split(batch: pa.RecordBatch, by: list[str]) -> Iterator[tuple[str, pa.RecordBatch]]:
    """The rows of each folder, with the folder's path."""
    if not by or not batch.num_rows:
        yield "", batch
        return
    codes = np.zeros(batch.num_rows, np.int64)
    labels: list[tuple[str, ...]] = [()]
    for name in by:
        encoded = _PLACES[name](batch)
        texts = [
            # Only ASCII is escaped: Spark takes `%C3%BC` for two characters, and leaves others itself.
            _HIVE_NULL
            if text is None
            else re.sub(r"[\0-\x7f]+", lambda found: quote(found[0], safe=""), text)
            for text in encoded.dictionary.to_pylist()
        ]
        texts.append(_HIVE_NULL)
        indices = encoded.indices.fill_null(len(texts) - 1).to_numpy()
        if "" in texts:  # no folder of Hive's stands for it
            indices = np.where(indices == texts.index(""), len(texts) - 1, indices)
        codes = codes * len(texts) + indices
        labels = [(*label, f"{name}={text}/") for label in labels for text in texts]
    for code in np.unique(codes).tolist():
        kept = pa.array(codes == code)
        yield "".join(labels[code]), batch.filter(kept)


def _texts(column: Any) -> Any:
    return column if pa.types.is_dictionary(column.type) else column.dictionary_encode()


def _dates(batch: pa.RecordBatch) -> Any:
    times, _ = utc_times(batch.column("store_timestamp"))
    days = pc.floor_temporal(times, unit="day")
    return pc.strftime(days, format="%Y-%m-%d").dictionary_encode()


_PLACES: Final[dict[str, Callable[[pa.RecordBatch], Any]]] = {
    "store": lambda batch: _texts(batch.column("store")),
    "topic": lambda batch: _texts(batch.column("topic")),
    "date": _dates,
}

_SOURCES: Final = {"store": "store", "topic": "topic", "date": "store_timestamp"}
"""The column that each of `PARTITIONS` is made of."""
