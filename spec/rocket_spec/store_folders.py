"""Recognises paths inside a store, so that no output is written there."""

import os
from pathlib import Path
from typing import Final

from rocket_spec.errors import UsageError

_FOLDERS: Final = ("commitlog", "consumequeue", "consumequeue_ext")
_DLEDGER: Final = "dledger-*/data"


def store_above(path: Path) -> Path | None:
    """The store that a path is, or is in: a folder with a commit log or consume queues; None if none. An OSError for one that cannot be read."""
    resolved = Path(os.path.realpath(path))
    for folder in (resolved, *resolved.parents):
        if any((folder / name).is_dir() for name in _FOLDERS) or any(folder.glob(_DLEDGER)):
            return folder
    return None


def refuse_store(path: Path, *read: Path | str) -> None:
    """Refuses to write to a path in a store, or in a directory that is read, such as a further one of a commit log, with a UsageError."""
    store = store_above(path)
    if store is not None:
        raise UsageError(
            f"{path}: {store} is a store, and nothing is written into a store; choose another folder"
        )
    for folder in read:
        if Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder)):
            raise UsageError(f"{path}: inside {folder}, which is read; choose another folder")
