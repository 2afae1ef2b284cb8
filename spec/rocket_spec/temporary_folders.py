"""Temporary folders that a killed process cannot leave for good: the next one that asks sweeps them."""

import contextlib
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Generator
from pathlib import Path
from typing import Final

if sys.platform != "win32":
    import fcntl


_UNOWNED: Final = "new-"
"""Precedes the prefix in the name of a folder until its owner has locked it; such a folder is not swept."""


@contextlib.contextmanager
def owned_folder(parent: Path, *, prefix: str) -> Generator[Path]:
    """A new folder in `parent` that only this user can enter, removed at the end as far as the system allows.

    It is locked while it is in use. Folders of the same prefix, with which no other file there may begin, that nobody has locked are removed
    first: their owners were killed. On Windows they stay.
    """
    _sweep(parent, prefix)
    path = Path(tempfile.mkdtemp(prefix=f".{_UNOWNED}{prefix}", dir=parent))
    lock = _lock(path)
    if lock is not None:
        path = path.rename(parent / path.name.removeprefix(f".{_UNOWNED}"))
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


def _sweep(parent: Path, prefix: str) -> None:
    """Removes what killed processes of this user left."""
    if sys.platform == "win32":
        return
    with contextlib.suppress(OSError):
        for path in parent.glob(f"{prefix}*"):
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
