"""The header of an index file as a value."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["IndexHeader"]


@dataclass(frozen=True, slots=True)
class IndexHeader:
    """The six fields (IDX-HDR-1): times in ms since the epoch, offsets in bytes, `index_count` = entries + 1."""

    begin_timestamp: int = 0
    end_timestamp: int = 0
    begin_phy_offset: int = 0
    end_phy_offset: int = 0
    hash_slot_count: int = 0
    index_count: int = 1
