"""Queries by key: as a broker answers them, beyond that, and explained."""

from rocket_columnar.query.beyond_broker import (
    find_all,
    find_by_offset_id,
    find_by_unique_key,
    scan,
    topics_of,
)
from rocket_columnar.query.broker_query import MAX_BATCH, Answer, OffsetAnswer, OpenStore, query
from rocket_columnar.query.explanation import Check, Explanation, FileWalk, Step, explain
from rocket_columnar.query.index_files import open_indexes
from rocket_columnar.query.log_records import Row, keys_of

__all__ = [
    "MAX_BATCH",
    "Answer",
    "Check",
    "Explanation",
    "FileWalk",
    "OffsetAnswer",
    "OpenStore",
    "Row",
    "Step",
    "explain",
    "find_all",
    "find_by_offset_id",
    "find_by_unique_key",
    "keys_of",
    "open_indexes",
    "query",
    "scan",
    "topics_of",
]
