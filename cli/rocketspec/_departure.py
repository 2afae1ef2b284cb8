"""The end of a command's process, which does not wait until the interpreter has taken itself apart.

That takes longer than many commands: each module and array is freed one by one, before the system frees all at once.
"""

from __future__ import annotations

import atexit
import os
import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["quick_departure"]

_NOT_FLUSHED: Final = 120
"""Python's own exit status where standard output or standard error cannot be written at the end."""


def quick_departure(command: Callable[[], object]) -> None:
    """Runs a command that ends with `SystemExit`, and ends the process once all handlers of `atexit` ran.

    The last handler to run is the one registered first, hence this is called before there are others; threads have been
    joined by then. An exception that escapes, a debugger, a profiler and a measurement of coverage leave the ordinary way.
    """
    status: int | None = None

    def leave() -> None:
        if status is not None:
            os._exit(_flushed(status))

    watched = sys.gettrace() or sys.getprofile() or sys.flags.inspect or "coverage" in sys.modules
    if not watched:
        atexit.register(leave)
    try:
        command()
    except SystemExit as departure:
        if departure.code is None or isinstance(departure.code, int):
            status = departure.code or 0
        raise


def _flushed(status: int) -> int:
    """The exit status after the streams were flushed."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None and not stream.closed:
                stream.flush()
        except OSError as error:
            status = _NOT_FLUSHED
            if stream is sys.stdout:
                sys.stderr.write(f"rocketspec: standard output: {(error.strerror or str(error)).lower()}\n")
    return status
