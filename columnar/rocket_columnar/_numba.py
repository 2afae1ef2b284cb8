"""How loops are compiled; imported only where a batch is large."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

import numpy as np
from numba import njit
from numba.core import event

from rocket_columnar import compiling

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["SWAP", "jit", "long", "signed"]

_Function = TypeVar("_Function", bound="Callable[..., Any]")

SWAP: Final = sys.byteorder == "little"
"""Whether the words of a file, read as numbers of this machine, have their bytes the other way round."""

long: Any = np.int64
"""A wide local of a compiled loop; its place in Python's types does not matter."""


class _Listener(event.Listener):
    """Hears when code is compiled that was not kept from an earlier start."""

    def on_start(self, event: Any) -> None:  # noqa: ARG002
        compiling.started()

    def on_end(self, event: Any) -> None:
        pass


event.register("numba:compile", _Listener())  # type: ignore[no-untyped-call]


def jit(function: _Function) -> _Function:
    """Numba's compilation, kept on disk, free of the interpreter lock, with the type as it was."""
    return cast("_Function", njit(cache=True, nogil=True)(function))


@jit
def signed(word: Any) -> Any:
    """A big-endian word of a file as the number that it is."""
    value = np.uint32(word)
    if SWAP:
        value = np.uint32(
            value << np.uint32(24)
            | (value & np.uint32(0xFF00)) << np.uint32(8)
            | (value >> np.uint32(8)) & np.uint32(0xFF00)
            | value >> np.uint32(24)
        )
    return np.int32(value)
