"""The one place that decides whether compiled loops are used, and informs the user when they are compiled or cannot be."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

SETTINGS: Final = ".numba_config.yaml"
"""A file of the working folder from which Numba would take its settings, such as the folder of code that it loads."""

_FROM: Final = 16 << 20
"""Bytes of input from which compiled loops are used; for less, loading them costs more than they save."""

_asked = 0
_forced: bool | None = None
_listener: Callable[[str], object] | None = None
_told: set[str] = set()


def pays(size: int) -> bool:
    """Whether compiled loops are used for `size` bytes more of input: once this process has been asked for enough."""
    global _asked  # noqa: PLW0603 - loops are loaded once a process
    _asked += size
    wanted = _asked >= _FROM if _forced is None else _forced
    return wanted and not settings_in_the_way()


@contextmanager
def forced(*, compiled: bool) -> Iterator[None]:
    """Within the block, compiled loops are used for all inputs, or for none; so that tests compare the two."""
    global _forced  # noqa: PLW0603 - for the threads of the block too
    before, _forced = _forced, compiled
    try:
        yield
    finally:
        _forced = before


def settings_in_the_way() -> bool:
    """Whether the working folder has settings for Numba, which then is not loaded: the folder may be someone else's."""
    try:
        found = Path(SETTINGS).exists()
    except OSError:  # nor could Numba read them
        return False
    if found:
        tell(
            f"{SETTINGS} in the working folder: loops are not compiled, which takes longer; use another folder"
        )
    return found


def announce(listener: Callable[[str], object] | None) -> None:
    """Sets what is called with each line; None discards them."""
    global _listener  # noqa: PLW0603 - one process, one terminal
    _listener = listener


def tell(line: str) -> None:
    """Passes a line on, once."""
    if _listener is not None and line not in _told:
        _told.add(line)
        _listener(line)
