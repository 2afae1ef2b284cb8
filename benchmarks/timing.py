"""Rounds of all contenders in turn, so that what disturbs the machine disturbs each of them."""

from __future__ import annotations

import ctypes
import gc
import statistics
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["Contender", "Result", "memory_kept", "race", "ratios"]

_READY: Final = 80
"""Bytes of memory for each item that are made ready before a round: as much as any contender asks for, about."""


_TRIM_THRESHOLD, _MMAP_MAX = -1, -4  # as glibc's malloc.h numbers them
_MMAP_MAX_DEFAULT: Final = 65536
_TRIM_DEFAULT: Final = 128 << 10


@contextmanager
def memory_kept() -> Iterator[None]:
    """Memory that is freed stays with the process, so that what a round costs does not hang on the machine's host.

    Where the C library is not glibc nothing changes.
    """
    library = ctypes.CDLL(None)
    tell = getattr(library, "mallopt", lambda _option, _value: 0)
    tell(_MMAP_MAX, 0)
    tell(_TRIM_THRESHOLD, -1)
    try:
        yield
    finally:
        tell(_MMAP_MAX, _MMAP_MAX_DEFAULT)
        tell(_TRIM_THRESHOLD, _TRIM_DEFAULT)
        getattr(library, "malloc_trim", lambda _pad: 0)(0)


@dataclass(frozen=True, slots=True)
class Contender:
    """One side of a race.

    Attributes:
        name: what runs, in words.
        items: entries, puts or selects that one round works through.
        run: one round; returns its time in seconds, set-up and clean-up not counted.
        note: what the reader has to know about the round, such as a smaller slice.
    """

    name: str
    items: int
    run: Callable[[], float]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Result:
    """The rounds of one contender."""

    contender: Contender
    seconds: list[float] = field(default_factory=list)

    @property
    def rates(self) -> list[float]:
        """Items a second of each round, slowest first."""
        return sorted(self.contender.items / seconds for seconds in self.seconds)

    @property
    def median(self) -> float:
        """Median of the rates."""
        return statistics.median(self.rates)


def race(contenders: Sequence[Contender], *, rounds: int, warm_ups: int) -> list[Result]:
    """Runs `warm_ups` uncounted and then `rounds` counted rounds, each contender once a round.

    A virtual machine may give memory that has been free for seconds back to its host, and then the first touch costs
    ten times the system's own page fault, for whoever comes first. So before each round as much memory as a contender
    needs is touched and freed: what a round asks for is fresh from the system, but not from the host.
    """
    results = [Result(contender) for contender in contenders]
    for number in range(warm_ups + rounds):
        for result in results:
            gc.collect()
            np.full(_READY * result.contender.items, 1, np.uint8)  # and freed at once
            seconds = result.contender.run()
            if number >= warm_ups:
                result.seconds.append(seconds)
    return results


def ratios(first: Result, other: Result) -> list[float]:
    """How many times as fast as the other the first was, round by round, least first."""
    own, its = ([side.contender.items / seconds for seconds in side.seconds] for side in (first, other))
    return sorted(one / two for one, two in zip(own, its, strict=True))
