"""Lengths of files: of one, and the usual one among many."""

from collections import Counter
from collections.abc import Sequence

from rocket_columnar.store.reader import settled
from rocket_columnar.store.store_file import StoreFile


def usual_size(sizes: Sequence[int], *, unit: int = 1) -> int:
    """The length that most files have, 0 without files; of several equally frequent ones a whole number of units, then the larger."""
    counts = Counter(sizes)
    return max(counts, key=lambda size: (counts[size], size % unit == 0, size), default=0)


def size_of(file: StoreFile) -> int | None:
    """Length of a file in bytes; None if it no longer exists."""
    if file.source is not None:
        return file.source.size
    try:
        return settled(file.path.stat).st_size
    except FileNotFoundError:
        return None
