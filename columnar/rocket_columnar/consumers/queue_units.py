"""Units of one consume queue by logical offset, whatever file they are in."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from rocket_spec.layout import PRE_BLANK_SIZE, QUEUE_UNIT

from rocket_columnar.decode import ExtUnits
from rocket_columnar.formats import LAST_ADDRESS, UNIT_DTYPE
from rocket_columnar.store import StoreFile, read_at, size_of

_UNITS_AT_ONCE: Final = 1 << 18


def real_tags(ext: ExtUnits, queue: tuple[str, int], found: NDArray[Any]) -> NDArray[np.int64]:
    """The tags codes of some units of a queue, where they are addresses those of the ext units, 0 without one."""
    tags: NDArray[np.int64] = found["tags_code"].astype(np.int64)
    addresses = tags <= LAST_ADDRESS
    if addresses.any():
        _, tags[addresses], _ = ext.tags_codes(*queue, tags[addresses])
    return tags


def units(files: Sequence[StoreFile], begin: int, end: int) -> Iterator[tuple[int, NDArray[Any]]]:
    """The units with logical offsets from `begin` up to `end`, some at a time, each time with the first offset.

    Units that no file has, those in holes, and pre-blank ones are left out.
    """
    for file in files:
        first = file.base_offset // QUEUE_UNIT.size
        for low, high in _data(file, max(begin - first, 0), end - first):
            for at in range(low, high, _UNITS_AT_ONCE):
                raw = read_at(
                    file, at * QUEUE_UNIT.size, (min(at + _UNITS_AT_ONCE, high) - at) * QUEUE_UNIT.size
                )
                found = np.frombuffer(raw, UNIT_DTYPE, len(raw) // QUEUE_UNIT.size)
                blank = (found["size"] == PRE_BLANK_SIZE) | (found["size"] <= 0)
                skipped = int(np.argmax(~blank)) if not blank.all() else len(found)
                if skipped < len(found):
                    yield first + at + skipped, found[skipped:]


def _data(file: StoreFile, low: int, high: int) -> list[tuple[int, int]]:
    """The ranges of numbers of units in a file, from `low` up to `high`, that are not in a hole."""
    if size_of(file) is None:
        return []
    size = QUEUE_UNIT.size
    with file.open() as reader:
        return [
            (max(begin // size, low), stop // size)
            for begin, stop in reader.aligned(size, min(max(high, 0), reader.size // size) * size)
        ]
