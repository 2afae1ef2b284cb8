"""Golden stores of every form of commit log, opened with all of its directories."""

from collections import defaultdict
from pathlib import Path
from typing import Any

from rocket_columnar.store import StoreFile, find_files
from rocket_golden import truth

Lines = dict[str, list[dict[str, Any]]]

SEVERAL = {"many-paths": ("commitlog-a", "commitlog-b", "commitlog-c")}
"""The directories of the log of a store that has several."""


def commitlog(store: Path) -> list[Path]:
    """The directories of a golden store's log in addition to `commitlog`."""
    return [store / name for name in SEVERAL.get(store.name, ())]


def golden_files(store: Path) -> list[StoreFile]:
    """All files of a golden store."""
    return find_files(store, commitlog=commitlog(store))


def lines_of(name: str) -> Lines:
    """Java's recording of a golden store, by the types of its lines."""
    lines: Lines = defaultdict(list)
    for line in truth(name):
        lines[line.pop("type")].append(line)
    return lines
