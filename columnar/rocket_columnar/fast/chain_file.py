"""What walks over the chains of an index file are given, and what they return."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class ChainFile(NamedTuple):
    """An index file as walks read it.

    Attributes:
        words: of the file.
        slots: number of slots, more than 0.
        entries_position: of entry 0, bytes.
        index_count: of the header.
        begin_timestamp: of the header, ms; at least 2^31 seconds away from the ends of a Java long.
    """

    words: NDArray[np.uint32]
    slots: int
    entries_position: int
    index_count: int
    begin_timestamp: int


class Hits(NamedTuple):
    """Hits of many keys: those of key `i` are `phy_offsets[bounds[i]:bounds[i + 1]]`, newest first."""

    bounds: NDArray[np.int64]
    phy_offsets: NDArray[np.int64]
