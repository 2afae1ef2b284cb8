"""The codes of findings, as they are published."""

from __future__ import annotations

from typing import Final

__all__ = ["FINDING_CODES"]

FINDING_CODES: Final = (
    "index.size",
    "index.geometry",
    "index.header_count",
    "index.header_bounds",
    "index.slot_range",
    "index.slot_hash",
    "index.prev_range",
    "index.chain_cycle",
    "index.entry_dangling",
    "index.entry_wrong_key",
    "index.missing_key",
    "index.ahead_of_log",
    "index.empty",
    "index.name_order",
    "index.double_entry",
    "queue.size",
    "queue.order",
    "queue.gap",
    "queue.missing_unit",
    "queue.dangling",
    "queue.wrong_target",
    "queue.tags_code",
    "log.gap",
    "log.magic",
    "log.length",
    "log.position",
    "log.crc",
    "log.torn",
    "checkpoint.ahead",
    "checkpoint.behind",
    "store.abort",
    "store.lag",
    "store.unreadable",
    "store.unsafe_name",
)
"""In the order in which the engine lists them."""
