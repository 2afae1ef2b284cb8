"""The units of a consume-queue file, some at a time; holes cost nothing."""

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray
from rocket_spec.layout import QUEUE_UNIT

from rocket_columnar.formats import UNIT_DTYPE
from rocket_columnar.store import StoreFile

_SIZE: Final = QUEUE_UNIT.size
_FIRST: Final = 1 << 10  # units: many queues hold few
_UNITS_AT_ONCE: Final = 1 << 16


def each_units(
    file: StoreFile, start: int = 0, *, holes: bool = False
) -> Iterator[tuple[int, NDArray[np.void]]]:
    """Number of the first and fields of the units of a file, fewer at first.

    Args:
        file: of a queue.
        start: the first unit wanted.
        holes: also gives the first two units of each hole; the others of a hole are zeros, too.

    Raises:
        OSError: the file cannot be read.
    """
    with file.open() as reader:
        whole = reader.size // _SIZE
        number, step = start, _FIRST
        if number >= whole:
            return
        for begin, end in reader.extents(start * _SIZE):
            first = max(begin // _SIZE, number)
            if holes and first > number:
                yield number, np.zeros(min(first - number, 2), UNIT_DTYPE)
            number, stop = first, min(-(-end // _SIZE), whole)
            while number < stop:
                count = min(step, stop - number)
                yield number, reader.read(number * _SIZE, count * _SIZE).view(UNIT_DTYPE)
                number, step = number + count, min(4 * step, _UNITS_AT_ONCE)
        if holes and number < whole:
            yield number, np.zeros(min(whole - number, 2), UNIT_DTYPE)
