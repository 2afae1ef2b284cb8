"""Rebuilds index files and consume queues from the commit log."""

from rocket_columnar.rebuild.dispatched_columns import (
    KEYS,
    RECORDS,
    UNIT,
    Batch,
    BrokerRules,
    Dispatched,
    Holes,
    LeftOut,
    dispatch_log,
    keep_own_keys,
    log_holes,
)
from rocket_columnar.rebuild.output import FOLDERS, MANIFEST, LogKeys, keys_of, name_indexes, write_index
from rocket_columnar.rebuild.plan import (
    IndexPlan,
    RebuildPlan,
    Twin,
    drop_unchanged,
    has_bytes_of,
    index_begins,
    plan_indexes,
    plan_rebuild,
    settled_names,
    twin_of,
)
from rocket_columnar.rebuild.queue_writer import in_bucket, write_queues
from rocket_columnar.rebuild.store_rebuild import Rebuilt, rebuild, rebuilt, write_parts
