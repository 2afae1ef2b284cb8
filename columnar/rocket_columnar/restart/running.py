"""Whether a broker runs on a store: it holds the lock on `lock`, or the files change.

Source: `DefaultMessageStore.start` 217-232, which locks the first byte of the file (4.9.3).
"""

from __future__ import annotations

import os
import struct
import sys
from typing import TYPE_CHECKING, Final

from rocket_spec.errors import UsageError

from rocket_columnar.index import read_headers
from rocket_columnar.log import log_tail
from rocket_columnar.store import find_files

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["lock_holder", "moment"]

_FLOCK: Final = "hhqqi4x"  # type, whence, start, length, process: of 64-bit Linux


def lock_holder(store: Path) -> str | None:
    """What holds the lock that a running broker has on its store; None if nothing does, or that cannot be seen here."""
    if sys.platform != "linux" or struct.calcsize("P") != 8:
        return None
    import fcntl

    try:
        descriptor = os.open(store / "lock", os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        asked = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, 0, 1, 0)
        kind, _, _, _, process = struct.unpack(_FLOCK, fcntl.fcntl(descriptor, fcntl.F_GETLK, asked))
    except OSError:  # a file system without locks
        return None
    finally:
        os.close(descriptor)
    if kind == fcntl.F_UNLCK:
        return None
    return (
        f"process {process} holds the lock of {store / 'lock'}"
        if process > 0
        else f"{store / 'lock'} is locked"
    )


def moment(store: Path, commitlog: Sequence[Path] = ()) -> tuple[object, ...]:
    """What differs as soon as a broker has written: where the log ends, and the headers of the index files."""
    found = []
    for kind in ("log", "index"):
        try:
            found.append(find_files(store, kinds=(kind,), commitlog=commitlog))
        except UsageError:  # no such files
            found.append([])
    tail = log_tail(found[0])
    return tail.end, tail.sizes, tuple(read_headers(found[1]))
