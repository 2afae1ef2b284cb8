"""The directories of cases: in memory where there is room, private, and swept when their owner is gone."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rocket_spec.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Generator

if sys.platform != "win32":
    import fcntl

__all__ = ["remove_tree", "scratch", "scratch_root"]

_IN_MEMORY: Final = "/dev/shm"  # noqa: S108 - Linux's own; only inside a fresh folder, and only where it exists
_ROOM: Final = 2 << 30
"""Bytes that must be free there: a few files of the default geometry, written out in full."""
_CHOSEN_BY_USER: Final = ("TMPDIR", "TEMP", "TMP")
_PREFIX: Final = "rocketspec-run-"
_UNOWNED: Final = "rocketspec-new-"
"""The name of a folder until its owner has locked it; such a folder is not swept."""


def scratch_root(given: Path | None = None) -> Path:
    """The folder to make temporary folders in.

    It is the given one; else the system's, if the environment names one (TMPDIR); else a memory-backed one with
    2 GiB of room; else the system's.

    Raises:
        UsageError: when the given one is not a folder.
    """
    if given is not None:
        if not given.is_dir():
            raise UsageError(f"{given} is not a folder")
        return given
    system = Path(tempfile.gettempdir())
    if any(name in os.environ for name in _CHOSEN_BY_USER):
        return system
    in_memory = Path(_IN_MEMORY)
    try:
        if (
            in_memory.is_dir()
            and os.access(in_memory, os.W_OK)
            and shutil.disk_usage(in_memory).free >= _ROOM
        ):
            return in_memory
    except OSError:
        pass
    return system


@contextlib.contextmanager
def scratch(given: Path | None = None) -> Generator[Path]:
    """A temporary folder that only this user can enter, removed at the end as far as the system allows.

    It is locked while it is in use. Folders of earlier runs that nobody has locked are removed first: their owners
    were killed.

    Raises:
        UsageError: as `scratch_root`.
    """
    root = scratch_root(given)
    _sweep(root)
    path = Path(tempfile.mkdtemp(prefix=_UNOWNED, dir=root))
    lock = _lock(path)
    if lock is not None:
        path = path.rename(root / path.name.replace(_UNOWNED, _PREFIX))
    try:
        yield path
    finally:
        remove_tree(path)
        if lock is not None:
            os.close(lock)


def _lock(folder: Path) -> int | None:
    """A descriptor that holds the folder's lock until it is closed or its process ends; None when somebody has it."""
    if sys.platform == "win32":
        return None
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def _sweep(root: Path) -> None:
    """Removes what killed runs of this user left."""
    if sys.platform == "win32":
        return
    with contextlib.suppress(OSError):
        for path in root.glob(f"{_PREFIX}*"):
            if path.lstat().st_uid == os.getuid() and (lock := _lock(path)) is not None:
                remove_tree(path)
                os.close(lock)


def remove_tree(path: Path) -> None:
    """Removes a folder and all that is in it, however deep, or a file; what the system refuses to remove stays."""
    with contextlib.suppress(RecursionError):
        shutil.rmtree(path, ignore_errors=True)
    if not os.path.lexists(path):
        return
    with contextlib.suppress(OSError):
        if stat.S_ISDIR(path.lstat().st_mode):
            _remove_deep(path)
        else:
            path.unlink()


def _remove_deep(path: Path) -> None:
    """Moves each folder up beside the first before it is emptied, so that no path grows long."""
    number = 0
    pending = [path]
    while pending:
        folder = pending.pop()
        folder.chmod(stat.S_IRWXU)
        for entry in list(os.scandir(folder)):
            if entry.is_dir(follow_symlinks=False):
                number += 1
                pending.append(Path(entry.path).rename(path.with_name(f"{path.name}-removed-{number}")))
            else:
                Path(entry.path).unlink()
        folder.rmdir()
