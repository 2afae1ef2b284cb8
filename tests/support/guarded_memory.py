"""NumPy arrays that end at a page that no one may touch: a compiled loop that reads or writes past one ends the process."""

from __future__ import annotations

import ctypes
import mmap
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

__all__ = ["GuardedNumpy", "guarded"]

_PAGE: Final = mmap.PAGESIZE
_NONE: Final = 0  # PROT_NONE


def guarded(count: int, kind: DTypeLike, fill: int = 0) -> NDArray[Any]:
    """`count` items whose last byte is the last one of a page, and the next page is forbidden; bytes are `fill`."""
    dtype = np.dtype(kind)
    length = count * dtype.itemsize
    pages = -(-length // _PAGE)
    memory = mmap.mmap(-1, (pages + 1) * _PAGE)
    whole = np.frombuffer(memory, np.uint8)
    if ctypes.CDLL(None, use_errno=True).mprotect(
        ctypes.c_void_p(whole.ctypes.data + pages * _PAGE), ctypes.c_size_t(_PAGE), _NONE
    ):
        raise OSError(ctypes.get_errno(), "mprotect")
    found = whole[pages * _PAGE - length : pages * _PAGE]
    if fill:
        found[:] = fill
    return found.view(dtype)


class GuardedNumpy(ModuleType):
    """NumPy for a module whose arrays go to compiled loops: `empty`, `zeros` and `full` of one dimension are guarded."""

    def __init__(self) -> None:
        super().__init__("numpy")

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def empty(self, shape: Any, dtype: DTypeLike = float) -> NDArray[Any]:
        """As NumPy's, and full of a byte that no length or offset should be."""
        return guarded(shape, dtype, 0xA5) if isinstance(shape, int) else np.empty(shape, dtype)

    def zeros(self, shape: Any, dtype: DTypeLike = float) -> NDArray[Any]:
        """As NumPy's."""
        return guarded(shape, dtype) if isinstance(shape, int) else np.zeros(shape, dtype)

    def full(self, shape: Any, value: Any, dtype: DTypeLike = float) -> NDArray[Any]:
        """As NumPy's."""
        if not isinstance(shape, int):
            return np.full(shape, value, dtype)
        found = guarded(shape, dtype)
        found[:] = value
        return found
