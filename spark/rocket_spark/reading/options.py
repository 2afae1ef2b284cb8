"""The options of a read, checked before anything is opened; each error names its option."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from rocket_spec.errors import UsageError
from rocket_spec.layout import Geometry
from rocket_spec.tables import TABLES

from rocket_spark.files import COMMITLOG
from rocket_spark.reading.filters import Wanted, conditions
from rocket_spark.reading.parts import PART_ROWS
from rocket_spark.schema import STORE

Mode = Literal["FAILFAST", "PERMISSIVE", "DROPMALFORMED"]

_INT_MAX: Final = 0x7FFFFFFF
_MODES: Final[dict[str, Mode]] = {
    "FAILFAST": "FAILFAST",
    "PERMISSIVE": "PERMISSIVE",
    "DROPMALFORMED": "DROPMALFORMED",
}

STREAM_OPTIONS: Final = ("maxRowsPerTrigger", "maxBytesPerTrigger")
"""Options of `readStream` alone."""

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
    COMMITLOG,
)


_OF_CATALOG: Final = frozenset(
    ["collation", "comment", "external", "is_managed_location", "location", "owner", "provider", "table_type"]
)
"""Properties that a catalog adds to the options of `CREATE TABLE ... USING`; only `location` is used, without a path."""


def is_ignored(name: str) -> bool:
    """Whether an option is none of ours: a catalog's, or one of a storage or of Spark, with a dot in its name."""
    return "." in name or name.lower() in _OF_CATALOG


@dataclass(frozen=True, slots=True)
class Request:
    """The request of a read.

    Attributes:
        paths: as given: paths, URIs, globs, with `NAME=` before them or without.
        geometry: of index files, if given.
        columns: of the table, in order; None for all.
        max_partition_rows: approximate number of rows of a partition.
        mode: what happens to bytes that cannot be decoded.
        corrupt: name of the column that reports them in mode PERMISSIVE, else None.
        glob: which file names are read; None for all.
        recursive: whether stores are searched for at any depth.
        wanted: the files and rows that the option `filters` selects.
        utc: whether times are timestamps instead of milliseconds.
        storage: options with a dot in their names, those of `rocket_spark.files`, and `commitlog`.
    """

    paths: tuple[str, ...]
    geometry: Geometry | None
    columns: tuple[str, ...] | None
    max_partition_rows: int
    mode: Mode
    corrupt: str | None
    glob: str | None
    recursive: bool
    wanted: Wanted
    utc: bool
    storage: tuple[tuple[str, str], ...]


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
    """The options of a read of `table`.

    Args:
        options: as Spark passes them, with names in any case.
        table: of the source.
        format_name: of the source, for messages.

    Raises:
        UsageError: an option that is unknown, missing, or has an invalid value.
    """
    known = {name.lower() for name in (*OPTIONS, *STREAM_OPTIONS, *OFFSET_OPTIONS)}
    for name in options:
        if name.lower() not in known and not is_ignored(name):
            raise UsageError(f"option {name}: unknown; there are {', '.join(OPTIONS[2:])}")
    mode = options.get("mode", "FAILFAST").upper()
    if mode not in _MODES:
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
        _MODES[mode],
        corrupt if mode == "PERMISSIVE" else None,
        options.get("pathGlobFilter"),
        flag(options, "recursiveFileLookup"),
        Wanted(conditions(options.get("filters", "[]"), table)),
        timestamps == "utc",
        tuple((name, value) for name, value in options.items() if "." in name or name.lower() == COMMITLOG),
    )
