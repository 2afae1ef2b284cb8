"""Whether a broker runs on a store: it holds a lock on the store's file `lock` as long as it runs.

Source: `DefaultMessageStore.start` 237-240 (4.9.3), `lockFile.getChannel().tryLock(0, 1, false)`.
"""

import os
import struct
import sys
from pathlib import Path
from typing import Final

_FLOCK: Final = struct.Struct("hhqqi4x")
"""`struct flock` of 64-bit Linux: type, whence, start, length, process."""


def lock_holder(store: Path) -> int | None:
    """Number of the process that holds the store's lock, 0 if none does; None if the system cannot report it.

    The lock is only checked, never taken. A process on another machine that shares the disk is reported only by file
    systems that share locks, perhaps as -1.
    """
    if sys.platform != "linux" or struct.calcsize("P") != 8:
        return None
    import fcntl

    try:
        descriptor = os.open(store / "lock", os.O_RDONLY | os.O_NONBLOCK)
    except FileNotFoundError:
        return 0
    except OSError:
        return None
    try:
        asked = _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, 1, 0)
        kind, _, _, _, process = _FLOCK.unpack(fcntl.fcntl(descriptor, fcntl.F_GETLK, asked))
    except OSError:  # a file system without locks
        return None
    finally:
        os.close(descriptor)
    return 0 if kind == fcntl.F_UNLCK else int(process) or -1
