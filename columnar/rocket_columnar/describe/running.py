"""Whether a broker runs on a store: it holds a lock on the store's file `lock` as long as it runs.

Source: `DefaultMessageStore.start` 237-240 (4.9.3), `lockFile.getChannel().tryLock(0, 1, false)`.
"""

from __future__ import annotations

import struct
import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["running_broker"]

_FLOCK: Final = struct.Struct("hhqqi4x")
"""`struct flock` of 64-bit Linux: type, whence, start, length, process."""


def running_broker(store: Path) -> int | None:
    """Number of the process that holds the store's lock, 0 if none does; None if the system cannot report it.

    The lock is only checked, never taken. A process on another machine that shares the disk is reported only by file
    systems that share locks.
    """
    if sys.platform != "linux":
        return None
    import fcntl

    try:
        with (store / "lock").open("rb") as file:
            asked = _FLOCK.pack(fcntl.F_WRLCK, 0, 0, 1, 0)
            kind, _, _, _, process = _FLOCK.unpack(fcntl.fcntl(file, fcntl.F_GETLK, asked))
    except FileNotFoundError:
        return 0
    except OSError:
        return None
    return 0 if kind == fcntl.F_UNLCK else int(process)
