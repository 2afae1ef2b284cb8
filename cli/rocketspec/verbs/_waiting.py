"""A spinner for work over a second, on a terminal only."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from threading import Timer
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["waiting"]

_PATIENCE: Final = 1.0  # seconds


@contextmanager
def waiting(text: str) -> Iterator[None]:
    """Shows `text` with a spinner on stderr while the block runs, from its second second on."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    status = Console(stderr=True).status(text)
    timer = Timer(_PATIENCE, status.start)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        status.stop()
