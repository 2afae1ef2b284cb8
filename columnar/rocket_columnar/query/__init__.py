"""Queries by key: as a broker answers them, beyond that, and explained."""

from rocket_columnar.query.broker_query import (
    OpenStore,
    QueryAnswer,
    Step,
    find_all,
    find_by_offset_id,
    find_by_unique_key,
    query,
    scan,
)
from rocket_columnar.query.explanation import Explanation, FileWalk, explain
from rocket_columnar.query.open_files import CommitLog, Row, keys_of
