"""The lock of a store: a broker holds it on the store's file `lock` as long as it runs, and a repair as long as it works.

Source: `DefaultMessageStore.start` 237-243 (4.9.3), `lockFile.getChannel().tryLock(0, 1, false)`, which is `fcntl` on POSIX systems.
"""

import errno
import os
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from rocket_spec.errors import UsageError

from rocket_columnar.store.reader import raise_of_process, require_regular

_FLOCK: Final = struct.Struct("hhqqi4x")
"""`struct flock` of 64-bit Linux: type, whence, start, length, process."""
_LINUX: Final = sys.platform == "linux" and struct.calcsize("P") == 8

_held: Final = set[tuple[int, int]]()
"""Device and inode of the files whose lock this process holds."""


def lock_holder(store: Path) -> int | None:
    """Number of the process that holds the store's lock, 0 if no other one does; None if the system cannot report it.

    The lock is only checked, never taken. It is -1 for a process on another machine that shares the disk, which only file
    systems that share locks report, and for a repair.
    """
    if not _LINUX:
        return None
    import fcntl

    try:
        descriptor = os.open(store / "lock", os.O_RDONLY | os.O_NONBLOCK)
    except FileNotFoundError:
        return 0
    except OSError as error:
        raise_of_process(error)
        return None
    try:
        if _identity(os.fstat(descriptor)) in _held:
            return 0
        asked = _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, 1, 0)
        kind, _, _, _, process = _FLOCK.unpack(fcntl.fcntl(descriptor, fcntl.F_GETLK, asked))
    except OSError:  # a file system without locks
        return None
    finally:
        os.close(descriptor)
    return 0 if kind == fcntl.F_UNLCK else int(process) or -1


def lock_text(holder: int) -> str:
    """The holder of a lock, in words."""
    return (
        f"process {holder} holds its lock" if holder > 0 else "another machine, or a repair, holds its lock"
    )


@contextmanager
def hold_lock(store: Path, directory: int) -> Iterator[None]:
    """Holds the lock, so that no broker starts; a store without the file gets an empty one, which stays.

    On Linux the lock belongs to the open file: unlike one of the process, it is kept when this process opens and closes
    the file elsewhere. On other systems nothing else here opens the file.

    Args:
        store: for messages.
        directory: descriptor of the store's directory.

    Raises:
        UsageError: a broker holds it.
        OSError: the file is a link, not a regular file, or cannot be opened for writing.
    """
    path = store / "lock"
    try:
        descriptor = _opened(directory)
    except OSError as error:
        reason = "a symbolic link" if error.errno == errno.ELOOP else error.strerror
        raise OSError(error.errno, reason, os.fspath(path)) from error
    status = os.fstat(descriptor)
    try:
        require_regular(path, status.st_mode)
        try:
            _take(descriptor)
        except (BlockingIOError, PermissionError):
            raise UsageError(
                f"{store}: a broker is running (it holds {path}); stop it before a repair"
            ) from None
        except OSError as error:  # a file system without locks
            raise OSError(error.errno, error.strerror, os.fspath(path)) from error
        if _identity(os.stat("lock", dir_fd=directory, follow_symlinks=False)) != _identity(status):
            raise UsageError(f"{path}: was replaced meanwhile; is a broker running?")
        _held.add(_identity(status))
        yield
    finally:
        _held.discard(_identity(status))
        os.close(descriptor)


def _opened(directory: int) -> int:
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        return os.open("lock", flags, dir_fd=directory)
    except FileNotFoundError:
        descriptor = os.open("lock", flags | os.O_CREAT, 0o644, dir_fd=directory)
    if os.geteuid() == 0:  # the broker's user has to open it
        owner = os.fstat(directory)
        os.fchown(descriptor, owner.st_uid, owner.st_gid)
    return descriptor


def _take(descriptor: int) -> None:
    """Locks byte 0 of an open file; BlockingIOError or PermissionError if another process holds it."""
    import fcntl

    command: Any = getattr(fcntl, "F_OFD_SETLK", None)
    if _LINUX and command is not None:
        fcntl.fcntl(descriptor, command, _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, 1, 0))
    else:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1)


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino
