"""Notices a walk along a chain that never ends, where 4.9.3 notices nothing.

Damage can make a chain run in a circle. 4.9.3 then walks on until the list is full: never, when no entry
of the circle is a hit, and not before the memory is full, when the maximum is huge. No case asks for
either (IDX-SEL-11), and the reference must not hang on one that a generator makes by chance.
"""

from typing import Final

from rocket_reference.errors import UnspecifiedError

MOST_RESULTS: Final = 1_000_000
"""A max_num above this fills the memory on a chain that cycles through a hit: unspecified."""


class CycleWatch:
    """Brent's algorithm: marks an entry now and then, at growing distances, and waits to meet it again."""

    __slots__ = ("_hits", "_marked", "_max_num", "_steps", "_stride")

    def __init__(self, max_num: int) -> None:
        self._max_num = max_num
        self._marked = 0
        self._hits = 0
        self._stride: int = 1
        self._steps = 0

    def step(self, entry: int, hits: int) -> None:
        """Tells of the entry about to be read, and how many hits the list holds.

        Raises UnspecifiedError when the walk has gone round, and will go on so for ever (IDX-SEL-11).
        """
        if entry == self._marked and (hits == self._hits or self._max_num > MOST_RESULTS):
            raise UnspecifiedError(f"the chain through entry {entry} cycles, and the walk never ends")
        self._steps += 1
        if self._steps == self._stride:
            self._marked = entry
            self._hits = hits
            self._steps = 0
            self._stride *= 2
