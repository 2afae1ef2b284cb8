"""Reads that leave a broker on the same machine its page cache, its disk and its processors.

What a read brings into the page cache is dropped again, except pages that were there before: the broker reads these, or
has just written them. No more bytes are read per second than a limit allows, and the process only gets the processor
and the disk while no other process wants them.
"""

import os
import time
from contextlib import suppress
from threading import Lock
from typing import Final

_BYTES_AT_ONCE: Final = 1 << 16  # one is dropped from its first page on that was not in the page cache
_PAGE: Final = 1 << 12
NOWAIT: Final = getattr(os, "RWF_NOWAIT", 0)


class GentleReads:
    """Positioned reads of files, as of all threads of a process.

    Args:
        rate: bytes per second at most; None for no limit.
    """

    def __init__(self, rate: float | None = None) -> None:
        self._rate = rate
        self._lock = Lock()
        self._due = 0.0

    def opened(self, descriptor: int) -> None:
        """Turns read-ahead off for a file: pages read ahead would seem to have been in the page cache before."""
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_RANDOM)

    def read(self, descriptor: int, view: memoryview, offset: int) -> int:
        """One read of at most `_BYTES_AT_ONCE` bytes; the number of bytes, 0 at the end of the file."""
        part = view[: _BYTES_AT_ONCE - offset % _BYTES_AT_ONCE]
        self._wait(len(part))
        cached = read_cached(descriptor, part, offset)
        if cached is None or cached == len(part):
            return os.preadv(descriptor, [part], offset) if cached is None else cached
        count = os.preadv(descriptor, [part[cached:]], offset + cached)
        begin = (offset + cached) // _PAGE * _PAGE
        end = -(-(offset + cached + count) // _PAGE) * _PAGE
        if count:
            os.posix_fadvise(descriptor, begin, end - begin, os.POSIX_FADV_DONTNEED)
        return cached + count

    def _wait(self, count: int) -> None:
        """Waits until the limit allows `count` more bytes."""
        if self._rate is None:
            return
        with self._lock:
            now = time.monotonic()
            self._due = max(self._due, now)
            wait = self._due - now
            self._due += count / self._rate
        if wait > 0:
            time.sleep(wait)


def read_cached(descriptor: int, part: memoryview, offset: int) -> int | None:
    """Reads what the page cache has, up to its first gap; the number of bytes, or None if the system does not report it."""
    if not NOWAIT:
        return None
    try:
        return os.preadv(descriptor, [part], offset, NOWAIT)
    except BlockingIOError:
        return 0
    except OSError:  # a file system without such reads
        return None


def lower_priority() -> None:
    """Gives this process, and threads that it starts later, the processor and the disk that no other process wants."""
    import psutil

    if hasattr(os, "SCHED_IDLE"):
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    elif hasattr(os, "nice"):
        os.nice(19)
    process = psutil.Process()
    if hasattr(process, "ionice"):
        with suppress(psutil.Error):  # refused in some sandboxes, which does no harm
            process.ionice(psutil.IOPRIO_CLASS_IDLE)
