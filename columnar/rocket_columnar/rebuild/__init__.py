"""Rebuilds index files and consume queues from the commit log."""

from rocket_columnar.rebuild.batch_columns import KEYS, RECORDS, UNIT, Batch
from rocket_columnar.rebuild.dispatched_columns import Dispatched, UnsafeQueue, dispatch_log
from rocket_columnar.rebuild.index_writer import LogKeys, keys_of, name_indexes, write_index
from rocket_columnar.rebuild.missing_files import Twin, drop_unchanged, index_begins, settled_names, twin_of
from rocket_columnar.rebuild.output import MANIFEST, PARTS
from rocket_columnar.rebuild.plan import IndexPlan, RebuildPlan, plan_indexes, plan_rebuild
from rocket_columnar.rebuild.queue_writer import write_queues
from rocket_columnar.rebuild.store_rebuild import Rebuilt, rebuild, rebuilt

__all__ = [
    "KEYS",
    "MANIFEST",
    "PARTS",
    "RECORDS",
    "UNIT",
    "Batch",
    "Dispatched",
    "IndexPlan",
    "LogKeys",
    "RebuildPlan",
    "Rebuilt",
    "Twin",
    "UnsafeQueue",
    "dispatch_log",
    "drop_unchanged",
    "index_begins",
    "keys_of",
    "name_indexes",
    "plan_indexes",
    "plan_rebuild",
    "rebuild",
    "rebuilt",
    "settled_names",
    "twin_of",
    "write_index",
    "write_queues",
]
