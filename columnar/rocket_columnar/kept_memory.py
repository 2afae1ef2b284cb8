"""Memory that was freed is kept for the next array: no page is cleared by the kernel a second time.

A verb makes arrays of a few megabytes, frees them and makes the next ones. By default the allocators give such memory back
to the system at once and take it again, and each page that is taken is cleared first.
"""

from __future__ import annotations

import ctypes
import os
import sys
from typing import Final

__all__ = ["keep_freed_memory"]

_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_THRESHOLD: Final = -3
_M_ARENA_MAX: Final = -8
"""Parameters of glibc's `mallopt`, from its header malloc.h."""

_KEPT: Final = 1 << 30
"""Bytes at the end of the heap that are not given back: more than the row groups of a table that are held at once."""

_LARGEST: Final = 32 << 20
"""Bytes of an array from which on it is mapped on its own and given back: the most that glibc takes."""

_FEW_CORES: Final = 4
"""Cores up to which all threads share one heap, since glibc gives back the heaps of the others whatever is set. More
threads than that would wait for one another."""


def keep_freed_memory() -> None:
    """Changes the allocators of this process: for a process of its own, since libraries of the caller share them.

    Call it before pyarrow is imported, whose allocator looks at its settings once. Without glibc only that is set.
    """
    os.environ.setdefault("MIMALLOC_PURGE_DELAY", "-1")
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:
        mallopt(_M_TRIM_THRESHOLD, _KEPT)
        mallopt(_M_MMAP_THRESHOLD, _LARGEST)
        if (os.cpu_count() or 1) <= _FEW_CORES:
            mallopt(_M_ARENA_MAX, 1)
