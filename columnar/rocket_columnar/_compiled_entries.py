"""The compiled loop that splits index entries into columns; imported only for large files."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = ["split"]

_Function = TypeVar("_Function", bound="Callable[..., Any]")
_long: Any = np.int64  # a wide local of a compiled loop; its place in Python's types does not matter
_SWAP = sys.byteorder == "little"


def _jit(function: _Function) -> _Function:
    """Numba's compilation, cached on disk, free of the interpreter lock, with the type kept."""
    return cast("_Function", njit(cache=True, nogil=True)(function))


@_jit
def _read(word: Any) -> Any:
    """A word of the file as a signed number."""
    value = np.uint32(word)
    if _SWAP:
        value = np.uint32(
            value << np.uint32(24)
            | (value & np.uint32(0xFF00)) << np.uint32(8)
            | (value >> np.uint32(8)) & np.uint32(0xFF00)
            | value >> np.uint32(24)
        )
    return np.int32(value)


@_jit
def split(
    words: NDArray[np.uint32],
    first: int,
    slots: int,
    begin: int,
    entry: NDArray[np.int32],
    slot: NDArray[np.int32],
    key_hash: NDArray[np.int32],
    phy_offset: NDArray[np.int64],
    time_diff: NDArray[np.int32],
    prev_entry: NDArray[np.int32],
    store_timestamp: NDArray[np.int64],
) -> None:
    """Splits entries, the first of which is number `first`, into the columns of `index_entries`.

    `slots` is positive, `begin` the header's begin timestamp.
    """
    inverse = 1.0 / slots
    for i in range(len(entry)):
        at = np.uint64(5 * i)
        code = _read(words[at])
        seconds = _read(words[at + np.uint64(3)])
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
        high = _long(_read(words[at + np.uint64(1)]))
        phy_offset[i] = high << 32 | _long(_read(words[at + np.uint64(2)])) & 0xFFFFFFFF
        time_diff[i] = seconds
        prev_entry[i] = _read(words[at + np.uint64(4)])
        store_timestamp[i] = begin + 1000 * _long(seconds)
