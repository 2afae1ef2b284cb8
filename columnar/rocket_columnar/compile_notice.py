"""A word when Numba compiles, which it does once on a machine: the code is kept, and later starts load it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["announce", "started"]

_tell: Callable[[str], object] | None = None


def announce(tell: Callable[[str], object] | None) -> None:
    """Calls `tell` once with one line if anything has to be compiled; None prints nothing."""
    global _tell  # noqa: PLW0603 - one process, one terminal
    _tell = tell


def started() -> None:
    """Called when something is about to be compiled."""
    tell = _tell
    announce(None)
    if tell is not None:
        tell("compiling loops for large files; the compiled code is cached for later starts")
