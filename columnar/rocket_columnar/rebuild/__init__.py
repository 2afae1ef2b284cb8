"""Index files and consume queues made from the commit log."""

from rocket_columnar.rebuild.dispatched_columns import KEYS, RECORDS, UNIT
from rocket_columnar.rebuild.steps import (
    Dispatched,
    IndexPlan,
    RebuildPlan,
    Twin,
    dispatch_log,
    drop_unchanged,
    index_begins,
    name_indexes,
    plan_indexes,
    plan_rebuild,
    settled_names,
    twin_of,
    write_index,
    write_queues,
)
from rocket_columnar.rebuild.store_rebuild import PARTS, Rebuilt, rebuild

__all__ = [
    "KEYS",
    "PARTS",
    "RECORDS",
    "UNIT",
    "Dispatched",
    "IndexPlan",
    "RebuildPlan",
    "Rebuilt",
    "Twin",
    "dispatch_log",
    "drop_unchanged",
    "index_begins",
    "name_indexes",
    "plan_indexes",
    "plan_rebuild",
    "rebuild",
    "settled_names",
    "twin_of",
    "write_index",
    "write_queues",
]
