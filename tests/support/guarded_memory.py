"""NumPy arrays that end at a page that no one may touch: a compiled loop that reads or writes past one ends the process."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final
from unittest.mock import patch

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray


_PAGE: Final = mmap.PAGESIZE
_NONE: Final = 0  # PROT_NONE
_LARGEST: Final = 1 << 20
_EMPTY: Final = np.empty


def guarded(count: int, kind: DTypeLike) -> NDArray[Any]:
    """`count` items whose last byte is the last one of a page, and the next page is forbidden; bytes are 0xA5."""
    dtype = np.dtype(kind)
    length = count * dtype.itemsize
    pages = -(-length // _PAGE)
    memory = mmap.mmap(-1, (pages + 1) * _PAGE)
    whole = np.frombuffer(memory, np.uint8)
    place = ctypes.c_void_p(whole.ctypes.data + pages * _PAGE)
    if ctypes.CDLL(None, use_errno=True).mprotect(place, ctypes.c_size_t(_PAGE), _NONE):
        raise OSError(ctypes.get_errno(), "mprotect")
    found = whole[pages * _PAGE - length : pages * _PAGE]
    found[:] = 0xA5
    return found.view(dtype)


@contextmanager
def guarded_arrays() -> Iterator[None]:
    """Within the block, numeric arrays of one dimension that `numpy.empty` makes are guarded."""

    def empty(shape: Any, dtype: Any = float, *more: Any, **options: Any) -> NDArray[Any]:
        fits = (
            isinstance(shape, int)
            and not np.dtype(dtype).hasobject
            and shape * np.dtype(dtype).itemsize <= _LARGEST
        )
        return (
            guarded(shape, dtype)
            if fits and not more and not options
            else _EMPTY(shape, dtype, *more, **options)
        )

    with patch("numpy.empty", empty):
        yield
