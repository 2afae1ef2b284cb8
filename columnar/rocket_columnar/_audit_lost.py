"""Keys that only index files hold which a start deletes, of records that it does not dispatch again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rocket_columnar._audit_look import look_at_index
from rocket_columnar._audit_range import Blocks, RangeResult, entries_of, read_frames

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from numpy.typing import NDArray

    from rocket_columnar._audit_plan import Plan
    from rocket_columnar._audit_range import Frames

__all__ = ["LostKeys", "lost_keys"]


@dataclass(frozen=True, slots=True)
class LostKeys:
    """Keys that no index file would hold any more, of one record.

    Attributes:
        topic: of the record.
        phy_offset: of the record, bytes.
        key_hashes: of the keys, in the order of their puts.
    """

    topic: str
    phy_offset: int
    key_hashes: tuple[int, ...]


def lost_keys(plan: Plan, deleted: AbstractSet[str], begin: int) -> list[LostKeys]:
    """Keys of records before `begin`, where dispatch begins again, that only `deleted` files hold, range by range."""
    if plan.geometry is None:
        return []
    looks = [
        look_at_index(file, plan.geometry, live=False, last=False, compiled=plan.large)
        for file in plan.content_indexes
    ]
    gone = Blocks.of([look for look in looks if look.file in deleted])
    kept = Blocks.of([look for look in looks if look.file not in deleted])
    lost: list[LostKeys] = []
    start: int | None = None
    for part in plan.ranges:
        if part.begin >= begin:
            break
        result = RangeResult(part, part.begin, part.end)
        frames = read_frames(plan, part, None if part.exact else start, result)
        start = result.next
        held, safe = (entries_of(plan, blocks, frames, result) != 0 for blocks in (gone, kept))
        lost += _of_range(frames, held, safe, begin)
    return lost


def _of_range(frames: Frames, held: NDArray[np.bool_], safe: NDArray[np.bool_], begin: int) -> list[LostKeys]:
    every = frames.all
    owner = np.repeat(np.arange(every.phy_offset.size), every.key_count)
    codes = (owner << 31) | every.key_hash
    lost = held & ~safe & (every.phy_offset[owner] < begin)
    lost &= ~np.isin(codes, codes[safe])  # a message may have one key twice
    found = []
    for record in np.unique(owner[lost]).tolist():
        keys = slice(int(frames.key_start[record]), int(frames.key_start[record + 1]))
        hashes = every.key_hash[keys][lost[keys]]
        topic = frames.names.names[int(every.topic[record])]
        found.append(LostKeys(topic, int(every.phy_offset[record]), tuple(hashes.tolist())))
    return found
