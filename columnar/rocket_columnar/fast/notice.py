"""A line for the user when loops are compiled, which is done once on a machine, or cannot be."""

from collections.abc import Callable

_listener: Callable[[str], object] | None = None
_told: set[str] = set()


def announce(listener: Callable[[str], object] | None) -> None:
    """Sets what is called with each line; None discards them."""
    global _listener  # noqa: PLW0603 - one process, one terminal
    _listener = listener


def tell(line: str) -> None:
    """Passes a line on, once."""
    if _listener is not None and line not in _told:
        _told.add(line)
        _listener(line)
