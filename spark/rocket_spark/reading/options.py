"""The options of a read, checked before anything is opened; each error names its option."""

from __future__ import annotations

import json
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, get_args

from rocket_columnar.decode import Where
from rocket_columnar.formats import LONG_MAX, LONG_MIN
from rocket_columnar.store import StoreFile
from rocket_spec.errors import UsageError
from rocket_spec.layout import Geometry
from rocket_spec.tables import TABLES

from rocket_spark.schema import STORE

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

PART_ROWS: Final = 2_500_000  # rows of an index file or a queue that a task takes at most

_LONG: Final = (LONG_MIN, LONG_MAX)
_ORDERS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_SIGNS: Final = ("=", "==", *_ORDERS, "in")
_TYPES: Final[dict[str, type]] = {"int16": int, "int32": int, "int64": int, "string": str, "bool": bool}
_FORM: Final = (
    'a JSON list of [column, sign, value], such as [["topic", "=", "Orders"], ["queue_id", "in", [0, 1]]]'
)


class Condition(NamedTuple):
    """One comparison of a column: with a value, or with several for `in`, which `=` is too."""

    column: str
    sign: str
    value: Any

    def passes(self, value: Any) -> bool:
        """Whether a value does; null does not."""
        if value is None:
            return False
        return value in self.value if self.sign == "in" else bool(_ORDERS[self.sign](value, self.value))

    def bounds(self) -> tuple[int, int]:
        """The least and the greatest whole number that pass."""
        if self.sign == "in":
            return min(self.value), max(self.value)
        if self.sign in (">", ">="):
            return self.value + (self.sign == ">"), LONG_MAX
        return LONG_MIN, self.value - (self.sign == "<")


def conditions(text: str, table: str) -> tuple[Condition, ...]:
    """The comparisons in the option `filters` of a read of `table`, which are all true of a row that passes; UsageError for anything else."""
    try:
        parts = json.loads(text)
    except (ValueError, RecursionError):
        parts = None
    if not isinstance(parts, list) or not all(isinstance(part, list) and len(part) == 3 for part in parts):
        raise UsageError(f"option filters: {text[:80]!r} is not {_FORM}")
    return tuple(_condition(column, sign, value, table) for column, sign, value in parts)


def _condition(column: Any, sign: Any, value: Any, table: str) -> Condition:
    types = {"store": str} | {
        field.name: _TYPES[field.type] for field in TABLES[table] if field.type in _TYPES
    }
    if not isinstance(column, str) or column not in types:
        raise UsageError(
            f"option filters: {column!r} cannot be filtered on in {table}; expected one of {', '.join(types)}"
        )
    if not isinstance(sign, str) or sign not in _SIGNS:
        raise UsageError(f"option filters: {sign!r} is not a comparison; expected one of {', '.join(_SIGNS)}")
    listed = value if sign == "in" and isinstance(value, list) else [value]
    if (sign == "in") != isinstance(value, list) or not listed:
        raise UsageError(
            f"option filters: {column} {sign}: expected a list of values after `in`, and only there"
        )
    for item in listed:
        if type(item) is not types[column] or (type(item) is int and not _LONG[0] <= item <= _LONG[1]):
            raise UsageError(
                f"option filters: {column} {sign} {item!r}: expected a value of type {types[column].__name__}"
            )
    return Condition(column, sign, value) if sign in _ORDERS else Condition(column, "in", tuple(listed))


@dataclass(frozen=True, slots=True)
class Wanted:
    """The rows and files that satisfy all conditions."""

    conditions: tuple[Condition, ...] = ()

    def bounds(self, column: str) -> tuple[int, int]:
        """The least and the greatest value of a column of whole numbers that pass."""
        low, high = _LONG
        for condition in self.conditions:
            if condition.column == column:
                one_low, one_high = condition.bounds()
                low, high = max(low, one_low), min(high, one_high)
        return low, high

    def names(self, column: str) -> set[Any] | None:
        """The values of a column that pass; None if they cannot be listed."""
        found: set[Any] | None = None
        for condition in self.conditions:
            if condition.column == column and condition.sign == "in":
                found = set(condition.value) if found is None else found & set(condition.value)
        return found

    def all_pass(self, **known: Any) -> bool:
        """Whether rows can pass that have these values in these columns."""
        return all(
            condition.passes(known[condition.column])
            for condition in self.conditions
            if condition.column in known
        )

    def store(self, name: str) -> bool:
        """Whether the name of a store passes; `rows` need not check it."""
        return self.all_pass(store=name)

    def file(self, file: StoreFile) -> bool:
        """Whether rows of `file` can pass, judging by its name."""
        queue = {"topic": file.topic, "queue_id": file.queue_id} if file.kind in ("queue", "ext") else {}
        return self.all_pass(file=file.name, **queue)

    def where(self, table: str) -> Where | None:
        """The part of the filter that the engine applies to a commit log itself, before it reads the rest of a record."""
        if table != "commit_log":
            return None
        low, high = self.bounds("store_timestamp")
        topics = self.names("topic")
        times = (low, high) if (low, high) != _LONG else None
        return Where(times=times, topics=topics) if times or topics is not None else None

    def columns(self) -> list[str]:
        """The columns that `rows` checks."""
        return list(dict.fromkeys(condition.column for condition in self._of_rows()))

    def _of_rows(self) -> list[Condition]:
        """The conditions that are checked row by row."""
        return [condition for condition in self.conditions if condition.column != "store"]

    def rows(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The rows of `batch`, which has every column of `columns()`, that pass."""
        from pyarrow.parquet import filters_to_expression

        own: Any = self._of_rows()
        return batch.filter(filters_to_expression(own)) if own and batch.num_rows else batch


Mode = Literal["FAILFAST", "PERMISSIVE", "DROPMALFORMED"]

_INT_MAX: Final = 0x7FFFFFFF
_MODES: Final[Mapping[str, Mode]] = {name: name for name in get_args(Mode)}

STREAM_OPTIONS: Final = ("maxRowsPerTrigger", "maxBytesPerTrigger")  # options of `readStream` alone

OFFSET_OPTIONS: Final = ("startingOffsets", "endingOffsets", "failOnDataLoss")
"""Options of tables that can be followed, in `read` and `readStream`; `endingOffsets` of `read` alone."""

OPTIONS: Final = (
    "path",
    "paths",
    "hashSlotNum",
    "indexNum",
    "columns",
    "maxPartitionRows",
    "mode",
    "columnNameOfCorruptRecord",
    "pathGlobFilter",
    "recursiveFileLookup",
    "filters",
    "timestamps",
    "commitlog",
)


_OF_CATALOG: Final = frozenset(
    ["collation", "comment", "external", "is_managed_location", "location", "owner", "provider", "table_type"]
)
"""Properties that a catalog adds to the options of `CREATE TABLE ... USING`; only `location` is used, without a path."""


def is_ignored(name: str) -> bool:
    """Whether an option is none of ours: a catalog's, or one of a storage or of Spark, with a dot in its name."""
    return "." in name or name.lower() in _OF_CATALOG


KEPT: Final = "comment"
"""Metadata of the first column of a catalog's table: its options, which Spark hands to `DataSource.schema` alone."""


def given_options(options: Mapping[str, str], schema: StructType | None = None) -> Mapping[str, str]:
    """The options; of a table of a catalog those of its CREATE TABLE too, which its schema keeps."""
    kept = schema[0].metadata.get(KEPT, "") if schema is not None and len(schema) else ""
    if not kept.startswith("{"):
        return options
    kind: Any = type(options)  # in which names are found in any case
    found: Mapping[str, str] = kind({**json.loads(kept), **options})
    return found


def is_catalogs(options: Mapping[str, str]) -> bool:
    """Whether the options are of a CREATE TABLE."""
    return "provider" in options


@dataclass(frozen=True, slots=True)
class Request:
    """The request of a read."""

    paths: tuple[str, ...]  # as given: paths, URIs, globs, with `NAME=` before them or without
    geometry: Geometry | None
    columns: tuple[str, ...] | None  # of the table, in order; None for all
    max_partition_rows: int
    mode: Mode  # what happens to bytes that cannot be decoded
    corrupt: str | None  # name of the column that reports them in mode PERMISSIVE, else None
    glob: str  # which file names are read
    recursive: bool  # whether stores are searched for at any depth
    wanted: Wanted  # the files and rows that the option `filters` selects
    utc: bool  # whether times are timestamps instead of milliseconds
    storage: Mapping[str, str]  # options with a dot in their names, those of `rocket_spark.files`
    commitlog: tuple[str, ...]  # directories of the commit log of the store


def positive(options: Mapping[str, str], name: str, most: int = _INT_MAX) -> int | None:
    """A whole number from 1 on, or None if the option is not given; UsageError for anything else."""
    text = options.get(name)
    if text is None:
        return None
    try:
        value = int(text)
    except ValueError:
        value = 0
    if not 0 < value <= most:
        raise UsageError(f"option {name}: {text!r} is not a whole number from 1 to {most:,}")
    return value


def geometry_option(options: Mapping[str, str]) -> Geometry | None:
    """The geometry of `hashSlotNum` and `indexNum`; UsageError for one without the other."""
    hash_slot_num = positive(options, "hashSlotNum")
    index_num = positive(options, "indexNum")
    if hash_slot_num is None and index_num is None:
        return None
    if hash_slot_num is None or index_num is None:
        missing = "hashSlotNum" if hash_slot_num is None else "indexNum"
        raise UsageError(
            f"option {missing}: missing; hashSlotNum and indexNum are given together or not at all"
        )
    return Geometry(hash_slot_num, index_num)


def path_option(options: Mapping[str, str], format_name: str) -> tuple[str, ...]:
    """Those of `load`, of which several come as JSON; UsageError if there is none."""
    text = options.get("paths", "[]")
    try:
        one = options.get("path", options.get("location") if "paths" not in options else None)
        paths = json.loads(text) if one is None else [one]
    except (ValueError, RecursionError):
        paths = None
    if not isinstance(paths, list) or not all(isinstance(path, str) for path in paths):
        raise UsageError(f"option paths: {text[:80]!r} is not a JSON list of paths")
    if not paths or "" in paths:
        raise UsageError(f'option path: missing; spark.read.format("{format_name}").load(path)')
    return tuple(paths)


def flag(options: Mapping[str, str], name: str, *, default: bool = False) -> bool:
    """Whether an option is true; UsageError for anything but true and false."""
    text = options.get(name, str(default))
    if text.lower() not in ("true", "false"):
        raise UsageError(f"option {name}: {text!r} is neither true nor false")
    return text.lower() == "true"


def commitlog_option(options: Mapping[str, str]) -> tuple[str, ...]:
    """The directories of a store's commit log outside of it, which are separated by commas (STORE-17)."""
    folders = (folder.strip() for folder in options.get("commitlog", "").split(","))
    return tuple(folder for folder in folders if folder)


def _columns(options: Mapping[str, str], table: str) -> tuple[str, ...] | None:
    text = options.get("columns")
    if text is None:
        return None
    names = [name.strip() for name in text.split(",")]
    known = [STORE, *(column.name for column in TABLES[table])]
    for name in names:
        if name not in known:
            raise UsageError(f"option columns: no column {name!r} in {table}; there are {', '.join(known)}")
    return tuple(dict.fromkeys(names))


def request(options: Mapping[str, str], table: str, format_name: str) -> Request:
    """The options of a read of `table`, named in any case; UsageError for one that is unknown, missing, or has an invalid value."""
    known = {name.lower() for name in (*OPTIONS, *STREAM_OPTIONS, *OFFSET_OPTIONS)}
    for name in options:
        if name.lower() not in known and not is_ignored(name):
            raise UsageError(f"option {name}: unknown; there are {', '.join(OPTIONS[2:])}")
    mode = _MODES.get(options.get("mode", "FAILFAST").upper())
    if mode is None:
        raise UsageError(f"option mode: {options['mode']!r} is none of {', '.join(_MODES)}")
    timestamps = options.get("timestamps", "millis")
    if timestamps not in ("millis", "utc"):
        raise UsageError(f"option timestamps: {timestamps!r} is neither millis nor utc")
    corrupt = options.get("columnNameOfCorruptRecord", "_corrupt_record")
    columns = _columns(options, table)
    if corrupt in {STORE, *(column.name for column in TABLES[table])} or not corrupt:
        raise UsageError(f"option columnNameOfCorruptRecord: {corrupt!r} is a column of {table} or empty")
    return Request(
        path_option(options, format_name),
        geometry_option(options),
        columns,
        positive(options, "maxPartitionRows") or PART_ROWS,
        mode,
        corrupt if mode == "PERMISSIVE" else None,
        options.get("pathGlobFilter", "*"),
        flag(options, "recursiveFileLookup"),
        Wanted(conditions(options.get("filters", "[]"), table)),
        timestamps == "utc",
        {name: value for name, value in options.items() if "." in name},
        commitlog_option(options),
    )
