"""A limit of processor time for a block: what else the machine does makes no function too slow."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_PATIENCE: Final = 20
"""Times the limit by the clock on the wall: a function that only waits is found too."""


class TooLongError(Exception):
    """A function took longer than it may."""


@contextmanager
def limited(seconds: int) -> Iterator[None]:
    """Raises TooLongError after `seconds` of processor time in the block, even if that takes it for another error; in the main thread only."""
    late = []

    def stop(*_: object) -> None:
        late.append(
            TooLongError(f"more than {seconds} s of processor time: is a loop as long as a number claims?")
        )
        raise late[0]

    before = {number: signal.signal(number, stop) for number in (signal.SIGPROF, signal.SIGALRM)}
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, _PATIENCE * seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)
        if late:
            raise late[0]
