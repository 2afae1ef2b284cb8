"""Loops that Numba compiles. Importing this package loads Numba: import it where a batch is large."""

from rocket_columnar.kernels.audit_loops import (
    entries_are_sound,
    survey_entries,
    survey_units,
    units_are_sound,
)
from rocket_columnar.kernels.compilation import jit
from rocket_columnar.kernels.distinct_strings import DistinctStrings
from rocket_columnar.kernels.entry_columns import split_entries
from rocket_columnar.kernels.index_chains import put_entries, select_chains
from rocket_columnar.kernels.key_pass import (
    advance_cursors,
    count_entries,
    count_keys,
    fill_hits,
    join_parts,
    part_entries,
    part_keys,
    place_hits,
)
from rocket_columnar.kernels.log_columns import (
    SCHEDULED,
    WANTED,
    FieldColumns,
    Limits,
    LogColumns,
    RowSpans,
    TextColumn,
    TopicKinds,
    scan_columns,
)
from rocket_columnar.kernels.log_records import (
    FULL,
    LEFT,
    READ,
    STOP,
    TOPIC,
    Items,
    Piece,
    StringTable,
    check_bodies,
    crc_table,
    gather_bytes,
    intern_strings,
)
from rocket_columnar.kernels.log_requests import (
    BodyChecks,
    DispatchTopics,
    OpenLog,
    RequestColumns,
    scan_requests,
)
from rocket_columnar.kernels.raw_bytes import SLACK
from rocket_columnar.kernels.utf8_text import hash_units, hash_utf8, split_properties

__all__ = [
    "FULL",
    "LEFT",
    "READ",
    "SCHEDULED",
    "SLACK",
    "STOP",
    "TOPIC",
    "WANTED",
    "BodyChecks",
    "DispatchTopics",
    "DistinctStrings",
    "FieldColumns",
    "Items",
    "Limits",
    "LogColumns",
    "OpenLog",
    "Piece",
    "RequestColumns",
    "RowSpans",
    "StringTable",
    "TextColumn",
    "TopicKinds",
    "advance_cursors",
    "check_bodies",
    "count_entries",
    "count_keys",
    "crc_table",
    "entries_are_sound",
    "fill_hits",
    "gather_bytes",
    "hash_units",
    "hash_utf8",
    "intern_strings",
    "jit",
    "join_parts",
    "part_entries",
    "part_keys",
    "place_hits",
    "put_entries",
    "scan_columns",
    "scan_requests",
    "select_chains",
    "split_entries",
    "split_properties",
    "survey_entries",
    "survey_units",
    "units_are_sound",
]
