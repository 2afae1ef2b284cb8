"""Compares the configuration of two stores, as a start of each would load it (CFG-1)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from rocket_columnar.facts import NOT_LISTED, Store

_KEYS: Final = {
    "consumer_offsets": ("group", "topic", "queue_id"),
    "delay_offsets": ("delay_level",),
    "topics": ("topic",),
    "subscription_groups": ("group",),
}
"""The tables that a slave fetches from its master (`SlaveSynchronize.syncAll`), each with the columns that name a row."""

_BUILT_IN: Final = (
    "TOOLS_CONSUMER",
    "FILTERSRV_CONSUMER",
    "SELF_TEST_C_GROUP",
    "CID_ONS-HTTP-PROXY",
    "CID_ONSAPI_",
)
"""Beginnings of groups that a broker adds when it starts (`SubscriptionGroupManager.init`)."""

_NOT_STARTED: Final = {"offset": 0}
"""Offset of a delay level without a row."""

_Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ConfigDifference:
    """One value of `config/` in which two stores differ.

    Attributes:
        table: "consumer_offsets", "delay_offsets", "topics" or "subscription_groups".
        key: group, topic and queue; delay level; topic; or group. Empty if a store's whole table cannot be loaded.
        column: the column that differs; None if a store lacks the row.
        first: its value in the first store, without a column whether the row is there.
        second: the same of the second store.
    """

    table: str
    key: tuple[str | int, ...]
    column: str | None
    first: Any
    second: Any


def compare_configurations(first: Store, second: Store) -> Iterator[ConfigDifference]:
    """Differences in offsets, topics and groups; none if a store has no directory `config`.

    A delay level without an offset counts as one at 0. Topics and groups that every broker adds when it starts may be missing.
    """
    stores = (first, second)
    if not all(store.path is not None and (store.path / "config").is_dir() for store in stores):
        return
    for table, key in _KEYS.items():
        loaded = [store.config(table) for store in stores]
        if not all(config.starts for config in loaded):
            if loaded[0].starts != loaded[1].starts:
                yield ConfigDifference(table, (), None, loaded[0].starts, loaded[1].starts)
            continue
        sides = [{tuple(row[name] for name in key): row for row in config.rows} for config in loaded]
        for name in sorted({*sides[0], *sides[1]}):
            yield from _row(table, name, sides[0].get(name), sides[1].get(name))


def _row(
    table: str, key: tuple[Any, ...], first: _Row | None, second: _Row | None
) -> Iterator[ConfigDifference]:
    if table == "delay_offsets":
        first, second = first or _NOT_STARTED, second or _NOT_STARTED
    if first is None or second is None:
        own = {"topics": NOT_LISTED, "subscription_groups": _BUILT_IN}.get(table, ())
        if not (own and str(key[0]).startswith(own)):
            offsets = [None if row is None else row.get("offset", True) for row in (first, second)]
            yield ConfigDifference(table, key, None, *offsets)
        return
    for column in (name for name in second if name not in _KEYS[table]):
        if first[column] != second[column]:
            yield ConfigDifference(table, key, column, first[column], second[column])
