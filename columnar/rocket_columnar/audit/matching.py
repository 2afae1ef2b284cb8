"""The loops that hold units and entries against records: plain Python for small stores, compiled for large ones."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "DOUBLE",
    "LOST",
    "MOVED",
    "NOT_OWN",
    "OUTSIDE",
    "SIZE",
    "TAGS",
    "TIME",
    "WRONG",
    "advance",
    "call",
    "find",
    "match_entries",
    "match_units",
]

OUTSIDE: Final = 128
"""Flag: points out of the range, or is no unit that 4.9.3 takes; not looked at."""
LOST: Final = 1
"""Flag: no record begins there."""
NOT_OWN: Final = 2
SIZE: Final = 4
MOVED: Final = 8
TAGS: Final = 16
"""Flags of units: the record there is of another queue, has another size, logical offset or tags code."""
WRONG: Final = 2
DOUBLE: Final = 4
TIME: Final = 8
"""Flags of entries: no key of the record has the hash; indexed before; the time diff is not the record's."""

_PRE_BLANK: Final = 0x7FFFFFFF
_INT_MAX: Final = 0x7FFFFFFF


@cache
def _compiled(kernel: Callable[..., Any]) -> Callable[..., Any]:
    from rocket_columnar.kernels import jit

    return jit(kernel)


def call(kernel: Callable[..., Any], *values: Any, compiled: bool) -> Any:
    """Calls a kernel of this module; arrays may be changed by it."""
    if compiled:
        return _compiled(kernel)(*values)
    lists = [value.tolist() if isinstance(value, np.ndarray) else value for value in values]
    result = kernel(*lists)
    for value, changed in zip(values, lists, strict=True):
        if isinstance(value, np.ndarray) and value.dtype == np.uint8:  # flags; nothing else is written to
            value[:] = changed
    return result


def find(offsets: Any, low: int, cells: Any, known: Any, places: Any) -> None:
    """Fills `places` with the place of each offset among the `known` ones, -1 for none.

    Records are longer than 64 bytes, so that no two begin in the same 64 bytes: `cells` holds the place of the
    one that does, counted from `low`, or -1.
    """
    end = len(cells)
    for i in range(len(offsets)):
        places[i] = -1
        cell = (offsets[i] - low) >> 6
        if offsets[i] >= low and cell < end:
            place = cells[cell]
            if place >= 0 and known[place] == offsets[i]:
                places[i] = place


def match_units(
    bounds: Any,
    topics: Any,
    queues: Any,
    firsts: Any,
    offsets: Any,
    sizes: Any,
    tags: Any,
    places: Any,
    low: int,
    last: int,
    of_topic: Any,
    of_queue: Any,
    of_size: Any,
    of_offset: Any,
    of_tags: Any,
    flags: Any,
    queued: Any,
) -> int:
    """Fills `flags` of each unit; marks in `queued` the records that a unit of their own queue points to.

    Pieces of queues lie between the `bounds`; `topics`, `queues` and `firsts` (logical offset) are those of each.
    `places` tells the record that each unit points to, whose columns are `of_*`. Returns how many have flags.
    """
    flagged = 0
    for piece in range(len(topics)):
        topic, queue, logical = topics[piece], queues[piece], firsts[piece] - bounds[piece]
        for i in range(bounds[piece], bounds[piece + 1]):
            offset, size = offsets[i], sizes[i]
            if (
                offset < low
                or offset > last
                or size <= 0
                or (offset == 0 and size == _PRE_BLANK and tags[i] == 0)
            ):
                flags[i] = OUTSIDE
                continue
            place = places[i]
            flag = 0
            if place < 0:
                flag = LOST
            else:
                if of_topic[place] != topic or of_queue[place] != queue:
                    flag = NOT_OWN
                else:
                    queued[place] = 1
                    if of_offset[place] != logical + i:
                        flag = MOVED
                if of_size[place] != size:
                    flag |= SIZE
                if of_tags[place] != tags[i]:
                    flag |= TAGS
            flags[i] = flag
            if flag:
                flagged += 1
    return flagged


def match_entries(  # noqa: C901, PLR0912 - one entry, test after test
    bounds: Any,
    firsts: Any,
    begins: Any,
    offsets: Any,
    hashes: Any,
    diffs: Any,
    previous: Any,
    places: Any,
    low: int,
    last: int,
    of_time: Any,
    key_start: Any,
    key_hash: Any,
    flags: Any,
    seen: Any,
) -> int:
    """Fills `flags` of each entry; marks in `seen` the keys that have one.

    Pieces of index files lie between the `bounds`; `firsts` is the number of the first entry of each, `begins` the
    header's begin timestamp. `places` tells the record that each entry points to, of which `of_time` is the store
    timestamp, and whose keys lie from `key_start` on. Returns how many have flags.
    """
    flagged = 0
    for piece in range(len(firsts)):
        begin, number = begins[piece], firsts[piece] - bounds[piece]
        for i in range(bounds[piece], bounds[piece + 1]):
            offset, key = offsets[i], hashes[i]
            if (
                offset < low
                or offset > last
                or (offset == 0 and key == 0 and diffs[i] == 0 and previous[i] == 0)
            ):
                flags[i] = OUTSIDE
                continue
            place = places[i]
            if place < 0:
                flags[i] = LOST
                flagged += 1
                continue
            flag = WRONG
            for k in range(key_start[place], key_start[place + 1]):
                if key_hash[k] == key:
                    if seen[k] == 0:
                        seen[k] = 1
                        flag = 0
                        break
                    flag = DOUBLE
            diff = diffs[i]
            if diff >= 0 and number + i > 1:
                expected = 0
                if begin > 0:
                    expected = (of_time[place] - begin) // 1000
                    if expected < 0:
                        expected = 0
                    elif expected > _INT_MAX:
                        expected = _INT_MAX
                if diff != expected:
                    flag |= TIME
            flags[i] = flag
            if flag:
                flagged += 1
    return flagged


def advance(sources: Any, slots: Any, targets: Any, slot_of: Any, previous: Any, owner: Any) -> int:
    """Follows pointers to entries, all of them one step after the other, up to a step at which something is wrong.

    Entries get their slot in `owner`, -1 before; the pointers are changed to those that are left, whose number is
    returned. No two are of one slot.
    """
    left = len(sources)
    while left > 0:
        for i in range(left):
            target = targets[i]
            if target != 0 and (
                target < 0
                or target >= len(owner)
                or owner[target] >= 0
                or slot_of[target] != slots[i]
                or (sources[i] > 0 and target >= sources[i])
            ):
                return left
        going = 0
        for i in range(left):
            target = targets[i]
            if target != 0:
                owner[target] = slots[i]
                sources[going] = target
                slots[going] = slots[i]
                targets[going] = previous[target]
                going += 1
        left = going
    return left
