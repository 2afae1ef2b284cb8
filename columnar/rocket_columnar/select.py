"""Chain walks for many keys at once, by compiled loops."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocket_columnar._index_header import IndexHeader
    from rocket_columnar._mapping import Mapping

__all__ = ["Chains", "Hits", "select_batch"]


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


def select_batch(chains: Chains, hashes: NDArray[np.int32], window: tuple[int, int, int]) -> Hits | int:
    """Hits of each hash, or the number of the first hash whose chain never ends.

    Args:
        chains: the file, its length a multiple of 4.
        hashes: key hashes.
        window: hits a key at most, first and last ms of the window.

    Source: IDX-SEL-1 .. IDX-SEL-8.
    """
    from rocket_columnar import _compiled

    words = np.frombuffer(chains.mapping, np.uint32)
    counts = np.zeros(len(hashes), np.int64)
    found = np.empty(0, np.int64)
    geometry = (
        chains.slots,
        chains.entries_position,
        chains.header.index_count,
        chains.header.begin_timestamp,
    )
    endless = _compiled.select_chains(words, hashes, *geometry, *window, counts, found)
    if endless >= 0:
        return endless
    bounds = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
    found = np.empty(int(bounds[-1]), np.int64)
    if len(found):
        _compiled.select_chains(words, hashes, *geometry, *window, counts, found)
    return Hits(bounds, found)
