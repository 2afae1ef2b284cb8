"""Many puts into an index file, and many walks over its chains: by NumPy or Python, large batches by compiled loops.

An index file is a sequence of big-endian 32-bit words: 10 for the header, 1 for each slot, 5 for each entry.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from rocket_spec.layout import INDEX_ENTRY

from rocket_columnar.fast.choice import pays
from rocket_columnar.formats import ENTRY_DTYPE

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from rocket_columnar.fast.chain_file import ChainFile, Hits, Puts

    ManySelects = Callable[
        ["ChainFile", "NDArray[np.int32]", "NDArray[np.int64]", tuple[int, int]], "Hits | int"
    ]

_INT_MAX: Final = 0x7FFFFFFF
_WORTH: Final = 1 << 9
"""Bytes that cost about as much as a key that is looked up."""


def put_entries(
    slots: NDArray[np.uint32], entries: NDArray[np.uint32], puts: Puts, count: int, begin: int
) -> int:
    """Puts entries from number `count` on (IDX-PUT-2 .. IDX-PUT-8).

    Args:
        slots: as words of the file.
        entries: as words of the file; room for exactly these entries.
        puts: the entries.
        count: number of the first entry.
        begin: the header's begin timestamp, ms.

    Returns:
        How many of the slots were empty. The header is not changed.
    """
    if pays(len(puts.hashes) * INDEX_ENTRY.size):
        from rocket_columnar.fast.compiled import index_chains

        return index_chains.put_entries(slots, entries, puts, count, begin)
    hashes, phy_offsets, store_timestamps = puts
    rows = entries.view(ENTRY_DTYPE)
    numbers = np.arange(count, count + len(hashes), dtype=np.int32)
    previous = _link(hashes % np.int32(len(slots)), numbers, slots.view(">i4"))
    rows["key_hash"] = hashes
    rows["phy_offset"] = phy_offsets
    begins = np.full(len(hashes), begin, np.int64)
    if count <= 1:  # the first put into a file sets it (IDX-PUT-8)
        begins[1:] = store_timestamps[0]
    seconds = np.clip((store_timestamps - begins) // 1000, 0, _INT_MAX)  # the difference wraps as Java's
    rows["time_diff"] = np.where(begins > 0, seconds, 0)
    rows["prev_entry"] = previous
    return int(np.count_nonzero(previous == 0))


def _link(slot: NDArray[np.int32], entry: NDArray[np.int32], slots: NDArray[np.int32]) -> NDArray[np.int32]:
    """The previous entry of each put, and the new value of each slot (IDX-PUT-5, IDX-PUT-7).

    The first put of a slot takes the slot's value if that is in range at that moment; a later
    one takes the put before it in the same slot.
    """
    order = np.argsort(slot, kind="stable")
    sorted_slot, sorted_entry = slot[order], entry[order]
    same = sorted_slot[1:] == sorted_slot[:-1]
    first = np.concatenate([[True], ~same])
    sorted_previous = np.zeros_like(sorted_entry)
    sorted_previous[1:][same] = sorted_entry[:-1][same]
    held = slots[sorted_slot[first]].astype(np.int32)
    sorted_previous[first] = np.where((held > 0) & (held <= sorted_entry[first]), held, 0)
    last = np.concatenate([~same, [True]])
    slots[sorted_slot[last]] = sorted_entry[last]
    previous = np.empty_like(sorted_previous)
    previous[order] = sorted_previous
    return previous


def many_selects(keys: int) -> ManySelects | None:
    """The loop that walks the chains of this many keys (`compiled.index_chains`); None if `IndexFile.select` does."""
    if not pays(keys * _WORTH):
        return None
    from rocket_columnar.fast.compiled import index_chains

    return index_chains.select_many
