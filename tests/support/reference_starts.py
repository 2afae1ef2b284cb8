"""The reference beside a golden store: its configuration, names of new index files, and what a start leaves of a copy."""

import itertools
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import rocket_golden
from rocket_reference import DispatchRequest, StoreConfig, ext_units


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


def bit_maps_of(store: Path) -> Callable[[DispatchRequest], bytes]:
    """The filters' bits, which the consumers' subscriptions decide and no log holds: as the ext units have them."""
    bit_maps: dict[tuple[str, int], list[bytes]] = defaultdict(list)
    for path in sorted((store / "consumequeue_ext").rglob("*")):
        if path.is_file():
            units = ext_units(path.read_bytes())
            bit_maps[path.parts[-3], int(path.parts[-2])] += [unit.bit_map for _, unit in units]
    return lambda request: bit_maps[request.topic, request.queue_id].pop(0) if bit_maps else b""
