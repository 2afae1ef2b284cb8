"""Many walks over the chains of an index file: large batches by compiled loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from rocket_columnar.fast.chain_file import ChainFile, Hits
from rocket_columnar.fast.choice import pays

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    ManySelects = Callable[
        ["ChainFile", "NDArray[np.int32]", "NDArray[np.int64]", tuple[int, int]], "Hits | int"
    ]

_WORTH: Final = 1 << 9
"""Bytes that cost about as much as a key that is looked up."""


def many_selects(keys: int) -> ManySelects | None:
    """The loop that walks the chains of this many keys (`compiled.index_chains`); None if `IndexFile.select` does."""
    if not pays(keys * _WORTH):
        return None
    from rocket_columnar.fast.compiled import index_chains

    return index_chains.select_many
