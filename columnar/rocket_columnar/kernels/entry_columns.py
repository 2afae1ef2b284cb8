"""The compiled loop that splits index entries into columns; imported only for large files."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rocket_columnar.kernels.compilation import jit, long, signed

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["EntryColumns", "split_entries"]


class EntryColumns(NamedTuple):
    """The columns of `index_entries`, of equal length."""

    entry: NDArray[np.int32]
    slot: NDArray[np.int32]
    key_hash: NDArray[np.int32]
    phy_offset: NDArray[np.int64]
    time_diff: NDArray[np.int32]
    prev_entry: NDArray[np.int32]
    store_timestamp: NDArray[np.int64]


@jit
def split_entries(
    words: NDArray[np.uint32], first: int, slots: int, begin: int, columns: EntryColumns
) -> None:
    """Splits entries into columns.

    Args:
        words: the entries, as words of the file.
        first: number of the first entry.
        slots: number of slots, more than 0.
        begin: the header's begin timestamp, ms.
        columns: to fill.
    """
    entry, slot, key_hash, phy_offset, time_diff, prev_entry, store_timestamp = columns
    inverse = 1.0 / slots
    for i in range(len(entry)):
        at = np.uint64(5 * i)
        code = signed(words[at])
        seconds = signed(words[at + np.uint64(3)])
        quotient = np.int32(code * inverse)  # toward zero, as Java's; one too far at most
        rest = np.int32(code - quotient * np.int32(slots))
        if code >= 0:
            if rest < 0:
                rest += np.int32(slots)
            elif rest >= slots:
                rest -= np.int32(slots)
        elif rest > 0:
            rest -= np.int32(slots)
        elif rest <= -slots:
            rest += np.int32(slots)
        entry[i] = first + i
        slot[i] = rest
        key_hash[i] = code
        high = long(signed(words[at + np.uint64(1)]))
        phy_offset[i] = high << 32 | long(signed(words[at + np.uint64(2)])) & 0xFFFFFFFF
        time_diff[i] = seconds
        prev_entry[i] = signed(words[at + np.uint64(4)])
        store_timestamp[i] = begin + 1000 * long(seconds)
