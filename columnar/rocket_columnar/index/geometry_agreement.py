"""Measures how well an index file's slots, chains and entries agree with a geometry.

The file does not record its geometry, but every put ties three places together: the entry's key hash modulo
the number of slots names the slot, the slot leads to the newest entry of the chain, and each entry leads to
the one before it in the same slot (IDX-HASH-3, IDX-PUT-6, IDX-PUT-7). With another number of slots the
same bytes are other entries, and the ties break.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from rocket_spec.layout import INDEX_HEADER, Geometry

from rocket_columnar.formats import ENTRY_DTYPE
from rocket_columnar.index.index_file import IndexHeader
from rocket_columnar.store import Reader

SAMPLE: Final = 4096  # entries checked in one file
_RUN: Final = 256  # of these, neighbours
_WHOLE: Final = 1 << 20  # a region up to this many bytes is read at once
_BESIDE: Final = 1 << 14  # up to this many bytes between two items are read rather than skipped


@dataclass(frozen=True, slots=True)
class Agreement:
    """Number of entries that were checked, and of those in the chain of the slot that follows from their hash.

    Attributes:
        checked: number of entries, 0 for a file without entries.
        agreed: number of these whose slot leads to an entry of the same slot at or after them, and whose
            previous entry, if any, is of the same slot and before them.
        chains: number of different slots among those that agreed.
    """

    checked: int
    agreed: int
    chains: int

    @property
    def holds(self) -> bool:
        """Whether more than half agreed: all do in a whole file, hardly any with another geometry."""
        return self.agreed * 2 > self.checked

    def __add__(self, other: Agreement) -> Agreement:
        return Agreement(self.checked + other.checked, self.agreed + other.agreed, self.chains + other.chains)


def _distinct(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Each of some numbers >= 0 once, in order; the first call of NumPy's own `unique` imports masked arrays, for 8 ms."""
    ordered = np.sort(numbers, axis=None)
    return ordered[np.diff(ordered, prepend=-1) > 0]


def _gather(reader: Reader, base: int, numbers: NDArray[np.int64], count: int, dtype: np.dtype) -> NDArray:  # type: ignore[type-arg]
    """Items `numbers` (each 0 <= n < `count`) of the array of `dtype` at byte `base`."""
    if count * dtype.itemsize <= _WHOLE:
        return reader.read(base, count * dtype.itemsize).view(dtype)[numbers]
    if not numbers.size:
        return np.empty(0, dtype)
    unique = _distinct(numbers)
    items = np.empty(unique.size, dtype)
    # Neighbours are read together: one read for each run without a larger gap.
    starts = np.flatnonzero(np.diff(unique, prepend=np.int64(-_WHOLE)) > _BESIDE // dtype.itemsize)
    for begin, end in zip(starts, [*starts[1:], unique.size], strict=True):
        first, last = int(unique[begin]), int(unique[end - 1])
        read = reader.read(base + first * dtype.itemsize, (last - first + 1) * dtype.itemsize).view(dtype)
        items[begin:end] = read[unique[begin:end] - first]
    return items[np.searchsorted(unique, numbers)]


def _sample(last: int, limit: int) -> NDArray[np.int64]:
    """Numbers out of 1 .. `last`: all, or runs spread evenly, the first and the last among them."""
    if last <= limit:
        return np.arange(1, last + 1, dtype=np.int64)
    runs = max(limit // _RUN, 1)
    width = min(_RUN, limit)
    starts = np.linspace(1, last - width + 1, runs).astype(np.int64)
    return _distinct(starts[:, None] + np.arange(width))


def agreement(
    reader: Reader, header: IndexHeader, geometry: Geometry, *, sample: int = SAMPLE, at_end: bool = False
) -> Agreement:
    """Compares up to `sample` entries of one file with their slots and chains, in bounded memory.

    With `at_end` they are the last entries of the file instead of evenly spread ones.
    """
    slots, capacity = geometry
    last = min(header.index_count, capacity) - 1
    if last < 1:
        return Agreement(0, 0, 0)
    numbers = np.arange(max(1, last - sample + 1), last + 1) if at_end else _sample(last, sample)
    entries = _gather(reader, geometry.entries_offset, numbers, capacity, ENTRY_DTYPE)
    hashes = entries["key_hash"].astype(np.int64)
    previous = entries["prev_entry"].astype(np.int64)
    slot = hashes % slots
    newest = _gather(reader, INDEX_HEADER.size, slot, slots, np.dtype(">i4")).astype(np.int64)
    # While a broker appends, a slot may lead beyond the index count that was read before it.
    good = (hashes >= 0) & (newest >= numbers) & (newest < capacity) & (previous >= 0) & (previous <= numbers)
    good &= entries["time_diff"] >= 0
    for other in (newest, previous):
        inside = good & (other > 0)
        heads = _gather(reader, geometry.entries_offset, other[inside], capacity, ENTRY_DTYPE)["key_hash"]
        good[inside] &= (heads >= 0) & (heads.astype(np.int64) % slots == slot[inside])
    # Of two neighbours in one slot, with nothing skipped between them, the later must lead to the earlier.
    run = np.cumsum(np.diff(numbers, prepend=numbers[0]) != 1)
    order = np.lexsort((numbers, slot, run))
    earlier, later = order[:-1], order[1:]
    linked = (slot[earlier] == slot[later]) & (run[earlier] == run[later])
    good[later[linked]] &= previous[later[linked]] == numbers[earlier[linked]]
    return Agreement(int(numbers.size), int(good.sum()), int(_distinct(slot[good]).size))


def ends_agree(reader: Reader, header: IndexHeader, geometry: Geometry) -> int:
    """How many of entries 1 and indexCount - 1 have the physical offset that the header contains: 0 to 2."""
    last = header.index_count - 1
    if not 1 <= last < geometry.index_num:
        return 0
    entries = _gather(reader, geometry.entries_offset, np.array([1, last]), geometry.index_num, ENTRY_DTYPE)
    return int(np.sum(entries["phy_offset"] == (header.begin_phy_offset, header.end_phy_offset)))
