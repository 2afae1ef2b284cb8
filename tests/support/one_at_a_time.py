"""Locks: between the workers of a test run, so that each folder of jars is filled once, and that of a broker."""

import fcntl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

BUILD: Final = Path(__file__).parents[2] / "build"


@contextmanager
def one_at_a_time(what: str) -> Iterator[None]:
    """Waits until no other worker of this checkout is inside for the same work; the lock goes with its holder's process."""
    BUILD.mkdir(exist_ok=True)
    with (BUILD / f"{what}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextmanager
def broker_lock(store: Path) -> Iterator[int]:
    """Another process, of which the ID is yielded, holds byte 0 of `lock`, as a broker that runs (DefaultMessageStore 217-232)."""
    held = "import fcntl, sys; file = open(sys.argv[1], 'w'); fcntl.lockf(file, fcntl.LOCK_EX, 1, 0); print(flush=True); input()"
    command = [sys.executable, "-c", held, str(store / "lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        yield holder.pid
        holder.communicate(b"\n")
