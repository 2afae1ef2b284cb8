"""Symbolic links at the places of a store: what reads follows them, what writes refuses them."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from rocket_columnar.store.places import entries_of
from rocket_columnar.store.store_file import MEMBER, shown_name

REPAIRS: Final = "rocketspec-repair-"
"""Prefix of the folders that repairs leave in a store."""

_DEPTH: Final = 6
"""Folders inside one another at most: `rocketspec-repair-TIME/new/consumequeue/TOPIC/QUEUE/FILE`."""
_PARTS: Final = frozenset(
    ("abort", "batchconsumequeue", "checkpoint", "commitlog", "config", "consumequeue", "consumequeue_ext", "index", "lock",
     "timerlog", "timerwheel")
)  # fmt: skip


def links_in(store: Path) -> Iterator[str]:
    """Names, relative to the store, of the links among its files and folders; none of them is followed."""
    for entry in _entries(store):
        if entry.name in _PARTS or entry.name.startswith((MEMBER, REPAIRS)):
            yield from _links_at(entry, shown_name(entry.name), _DEPTH)


def _links_at(entry: os.DirEntry[str], name: str, depth: int) -> Iterator[str]:
    if entry.is_symlink():
        yield name
    elif depth and entry.is_dir(follow_symlinks=False):
        for below in _entries(Path(entry.path)):
            yield from _links_at(below, f"{name}/{shown_name(below.name)}", depth - 1)


def _entries(directory: Path) -> list[os.DirEntry[str]]:
    try:
        return entries_of(directory)
    except OSError:  # reported where it is read
        return []
