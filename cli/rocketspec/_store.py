"""Small questions about a store that several verbs ask."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocket_spec.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["has_files", "last_log", "topics_of"]


def has_files(store: Path, kind: str) -> bool:
    """Whether the store has any file of a kind."""
    from rocket_columnar.store import find_files

    try:
        return bool(find_files(store, kinds=(kind,)))
    except UsageError:
        return False


def last_log(store: Path, commitlog: Sequence[Path] = ()) -> str | None:
    """The name of the store's last commit-log file; None without one."""
    from rocket_columnar.store import find_files

    try:
        files = find_files(store, kinds=("log",), commitlog=commitlog)
    except UsageError:
        return None
    return files[-1].name if files else None


def topics_of(store: Path) -> list[str]:
    """The topics that the store has consume queues of, sorted."""
    from rocket_columnar.store import find_files

    try:
        files = find_files(store, kinds=("queue",))
    except (UsageError, OSError):
        return []
    return sorted({file.topic for file in files if file.topic is not None})
