"""A lock between the workers of a test run: Maven must not fetch into one folder twice at once."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_BUILD: Final = Path(__file__).parents[2] / "build"


@contextmanager
def one_at_a_time(what: str = "fetching") -> Iterator[None]:
    """Waits until no other worker of this checkout is inside for the same work; the lock goes with its holder's process."""
    _BUILD.mkdir(exist_ok=True)
    with (_BUILD / f"{what}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
