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
    """Raises TooLongError in the block after `seconds` of processor time; in the main thread only."""

    def stop(*_: object) -> None:
        raise TooLongError(f"more than {seconds} s")

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
