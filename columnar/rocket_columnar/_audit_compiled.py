"""Compiled loops of an audit that read a log's window; imported only where a store is large."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

import numpy as np
from numba import njit

from rocket_columnar._compiled_text import _text_hash

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = ["key_hashes"]

_Function = TypeVar("_Function", bound="Callable[..., Any]")
_long: Any = np.int64  # a wide local of a compiled loop; its place in Python's types does not matter
_SPACE: Final = 32


def _jit(function: _Function) -> _Function:
    """Numba's compilation, cached on disk, free of the interpreter lock, with the type kept."""
    return cast("_Function", njit(cache=True, nogil=True)(function))


@_jit
def _non_negative(code: int) -> Any:
    """A key hash of `String.hashCode` as an unsigned number (IDX-HASH-1, IDX-HASH-2)."""
    if code >= 0x80000000:
        code = (0x100000000 - code) & 0x7FFFFFFF
    return code


@_jit
def key_hashes(
    window: NDArray[np.uint8],
    places: NDArray[np.int32],
    sizes: NDArray[np.int32],
    codes: NDArray[np.int64],
    indexed: NDArray[np.bool_],
    counts: NDArray[np.int32],
    hashes: NDArray[np.int32],
) -> int:
    """Hashes of all index keys, record after record, the unique key first (IDX-SVC-2); how many there are.

    Args:
        window: holds the texts.
        places: of KEYS and UNIQ_KEY (rows 0 and 1) of each record.
        sizes: their lengths, -1 for none.
        codes: of each record `String.hashCode` of what precedes its keys, unsigned.
        indexed: whether it gets entries at all.
        counts: filled with the number of each record's keys.
        hashes: filled.
    """
    used = 0
    for i in range(len(counts)):
        before = used
        if indexed[i]:
            first = _long(codes[i])
            if sizes[1, i] >= 0:
                at = _long(places[1, i])
                hashes[used] = _non_negative(_text_hash(window, at, at + sizes[1, i], first))
                used += 1
            at = _long(places[0, i])
            end = at + max(_long(sizes[0, i]), 0)
            while at < end:
                stop = at
                while stop < end and window[stop] != _SPACE:
                    stop += 1
                if stop > at:
                    hashes[used] = _non_negative(_text_hash(window, at, stop, first))
                    used += 1
                at = stop + 1
        counts[i] = used - before
    return used
