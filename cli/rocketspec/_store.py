"""Small questions about a store that several verbs ask."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from rocket_spec.errors import UsageError

_NAMED: Final = 20


def has_files(store: Path, kind: str) -> bool:
    """Whether the store has any file of a kind."""
    from rocket_columnar.store import list_kind

    return bool(list_kind(store, kind))


def topics_of(store: Path) -> list[str]:
    """The topics that the store has consume queues of, sorted."""
    from rocket_columnar.store import find_files

    try:
        files = find_files(store, kinds=("queue",))
    except (UsageError, OSError):
        return []
    return sorted({file.topic for file in files if file.topic is not None})


def listed(topics: Sequence[str]) -> str:
    """Some of the topics, for a message."""
    more = len(topics) - _NAMED
    return ", ".join(topics[:_NAMED]) + (f" and {more:,} more" if more > 0 else "")
