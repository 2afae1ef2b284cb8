"""The processes that an adapter started: found and ended even in sessions of their own."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Generator
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import psutil

_PR_SET_CHILD_SUBREAPER: Final = 36

_ROUNDS: Final = 10
"""Maximum number of searches for processes that are forked while others are ended."""


def descendants(root: int) -> set[int]:
    """Ids of the running processes below a process."""
    import psutil  # noqa: PLC0415 - only where a process is started

    with contextlib.suppress(psutil.Error):
        below = psutil.Process(root).children(recursive=True)
        return {process.pid for process in below if _runs(process)}
    return set()


def _runs(process: psutil.Process) -> bool:
    import psutil  # noqa: PLC0415

    with contextlib.suppress(psutil.Error):
        return process.status() != psutil.STATUS_ZOMBIE
    return False


def kill(processes: set[int]) -> None:
    """Ends processes, and collects those that are children of this one."""
    for process in processes:
        with contextlib.suppress(OSError):
            os.kill(process, signal.SIGKILL)
    for process in processes:
        with contextlib.suppress(OSError):
            os.waitpid(process, os.WNOHANG)


@contextlib.contextmanager
def no_orphans(ours: set[int]) -> Generator[None]:
    """Ends, when the block ends, what was started in it and left its parent.

    On Linux the children of a process that ended become children of this one, which finds them.

    Args:
        ours: ids of children of this process that somebody else takes care of, as they are when the block ends.
    """
    _adopt()
    before = descendants(os.getpid())
    try:
        yield
    finally:
        for _ in range(_ROUNDS):
            kept = set(ours)
            for process in ours:
                kept |= descendants(process)
            left = descendants(os.getpid()) - before - kept
            if not left:
                break
            kill(left)


def _adopt() -> None:
    """Makes this process the parent of its descendants' orphans."""
    if sys.platform.startswith("linux"):
        import ctypes  # noqa: PLC0415 - only where a process is started

        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
