"""Queries by key: as a broker answers them, beyond that, and explained."""

from rocket_columnar.query.beyond_broker import (
    find_all,
    find_by_offset_id,
    find_by_unique_key,
    scan,
)
from rocket_columnar.query.broker_query import Answer, OpenStore, query
from rocket_columnar.query.chain_walk import Step
from rocket_columnar.query.explain_files import FileWalk
from rocket_columnar.query.explanation import Explanation, explain
from rocket_columnar.query.log_records import CommitLog, Row, keys_of
