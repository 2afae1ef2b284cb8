"""The reference beside a golden store: its configuration, names of new index files, and what a start leaves of a copy."""

import itertools
from collections.abc import Callable

import rocket_golden
from rocket_reference import StoreConfig


def config_of(name: str) -> StoreConfig:
    """The configuration of the broker that wrote a golden store."""
    store = rocket_golden.manifest().stores[name]
    given = store.config
    slots, entries = store.geometry
    return StoreConfig(
        commit_log_file_size=store.commit_log_file_size,
        queue_file_size=store.consume_queue_file_size,
        ext_file_size=store.consume_queue_ext_file_size,
        hash_slot_num=slots,
        index_num=entries,
        multi_dispatch=given.get("enableMultiDispatch") == "true",
        lmq=given.get("enableLmq") == "true",
        slave=given.get("brokerRole") == "SLAVE",
    )


def names() -> Callable[[], str]:
    """Gives new index files names that sort after all others."""
    counter = itertools.count(20990101000000000)
    return lambda: str(next(counter))
