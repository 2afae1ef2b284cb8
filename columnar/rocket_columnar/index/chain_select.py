"""Compiled chain walks for many keys at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocket_columnar.index.header import IndexHeader
    from rocket_columnar.index.mapping import Mapping

__all__ = ["Chains", "Hits", "select_compiled"]


class Hits(NamedTuple):
    """Hits of many keys: those of key `i` are `phy_offsets[bounds[i]:bounds[i + 1]]`, newest first."""

    bounds: NDArray[np.int64]
    phy_offsets: NDArray[np.int64]


class Chains(NamedTuple):
    """What a walk needs of a file: its bytes, number of slots (not 0), position of entry 0, and header."""

    mapping: Mapping
    slots: int
    entries_position: int
    header: IndexHeader


def select_compiled(
    chains: Chains, hashes: NDArray[np.int32], rooms: NDArray[np.int64], window: tuple[int, int]
) -> Hits | int:
    """Hits of each hash, or the number of a hash whose chain never ends.

    Args:
        chains: the file.
        hashes: key hashes.
        rooms: maximum number of hits, one for all keys or one for each.
        window: first and last ms, inclusive.

    Source: IDX-SEL-1 .. IDX-SEL-8.
    """
    from rocket_columnar.fast.compiled import index_chains

    words = np.frombuffer(chains.mapping, np.uint32, len(chains.mapping) // 4)
    header = chains.header
    file = index_chains.ChainFile(
        words, chains.slots, chains.entries_position, header.index_count, header.begin_timestamp
    )
    keys = index_chains.ChainKeys(hashes, rooms, *window)
    counts = np.zeros(len(hashes), np.int64)
    found = np.empty(max(len(hashes), 64), np.int64)
    lanes, offsets = np.empty(1 << 10, np.int64), np.empty(1 << 10, np.int64)
    first, used = 0, 0
    while True:
        hits = index_chains.ChainHits(counts, found, lanes, offsets)
        first, used, state = index_chains.select_chains(file, keys, hits, first, used)
        if state == 0:
            bounds = np.zeros(len(hashes) + 1, np.int64)
            np.cumsum(counts, out=bounds[1:])
            return Hits(bounds, found[:used])
        if state == 1:
            found = np.concatenate([found[:used], np.empty(len(found) + len(lanes), np.int64)])
        elif state == 2:
            lanes, offsets = (np.empty(2 * len(lanes), np.int64) for _ in range(2))
        else:
            return first
