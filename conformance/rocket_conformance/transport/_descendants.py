"""The processes that an adapter started: found and ended even in sessions of their own, where the system is Linux."""

import contextlib
import os
import signal
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Final

_PROC: Final = Path("/proc")
_PR_SET_CHILD_SUBREAPER: Final = 36
_ROUNDS: Final = 10
"""A process that forks while it is ended is looked for again this often."""


def descendants(root: int) -> set[int]:
    """Ids of the processes below a process; empty on other systems than Linux."""
    if not sys.platform.startswith("linux"):
        return set()
    children: dict[int, list[int]] = {}
    for entry in _PROC.iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, ValueError, IndexError):
                about = (entry / "stat").read_bytes()
                state, parent = about[about.rindex(b")") + 2 :].split(maxsplit=2)[:2]
                if state != b"Z":
                    children.setdefault(int(parent), []).append(int(entry.name))
    found: set[int] = set()
    pending = [root]
    while pending:
        new = [child for child in children.get(pending.pop(), ()) if child not in found]
        found.update(new)
        pending += new
    return found


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
