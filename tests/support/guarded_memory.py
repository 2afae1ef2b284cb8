"""NumPy arrays that end at a page that no one may touch: a compiled loop that reads or writes past one ends the process."""

from __future__ import annotations

import ctypes
import mmap
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

__all__ = ["Arena", "GuardedNumpy", "PooledNumpy", "guarded"]

_PAGE: Final = mmap.PAGESIZE
_NONE: Final = 0  # PROT_NONE
_ARENA: Final = 1 << 18


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


class Arena:
    """Memory before a forbidden page that is used again for one input after the other."""

    def __init__(self, size: int) -> None:
        self._whole = guarded(-(-size // _PAGE) * _PAGE, np.uint8)

    def put(self, data: bytes, *, slack: int = 0) -> NDArray[np.uint8]:
        """The bytes, and `slack` more that mean nothing, at the arena's end; they stay until the next call."""
        begin = len(self._whole) - len(data) - slack
        found = self._whole[begin:]
        found[: len(data)] = np.frombuffer(data, np.uint8)
        found[len(data) :] = 0xA5
        return found

    def empty(self, count: int, kind: DTypeLike) -> NDArray[Any]:
        """`count` items at the arena's end, full of a byte that no length or offset should be."""
        found = self._whole[len(self._whole) - count * np.dtype(kind).itemsize :]
        found[:] = 0xA5
        return found.view(kind)


class PooledNumpy(GuardedNumpy):
    """The same without new memory for each array: what was handed out before `again` is used again after it."""

    def __init__(self) -> None:
        super().__init__()
        self._arenas: list[Arena] = []
        self._used = 0

    def again(self) -> None:
        """Nobody holds what was handed out so far."""
        self._used = 0

    def empty(self, shape: Any, dtype: DTypeLike = float) -> NDArray[Any]:
        """As GuardedNumpy's."""
        if not isinstance(shape, int) or shape * np.dtype(dtype).itemsize > _ARENA:
            return super().empty(shape, dtype)
        if self._used == len(self._arenas):
            self._arenas.append(Arena(_ARENA))
        self._used += 1
        return self._arenas[self._used - 1].empty(shape, dtype)

    def zeros(self, shape: Any, dtype: DTypeLike = float) -> NDArray[Any]:
        """As GuardedNumpy's."""
        found = self.empty(shape, dtype)
        found[...] = 0
        return found
