"""Lengths of files: of one, the usual one among many, and whether they are large together."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rocket_columnar.fast import pays
from rocket_columnar.store.reader import settled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocket_columnar.store.store_file import StoreFile


__all__ = ["is_large", "size_of", "usual_size"]


def usual_size(sizes: Sequence[int], *, unit: int = 1) -> int:
    """The length that most files have; of several equally frequent ones a whole number of units, then the larger."""
    counts = Counter(sizes)
    return max(counts, key=lambda size: (counts[size], size % unit == 0, size))


def size_of(file: StoreFile) -> int | None:
    """Length of a file in bytes; None if it no longer exists."""
    if file.source is not None:
        return file.source.size
    try:
        return settled(file.path.stat).st_size
    except FileNotFoundError:
        return None


def is_large(files: Sequence[StoreFile]) -> bool:
    """Whether these files hold so much that compiled loops pay."""
    held = 0
    for file in files:
        try:
            held += _allocated(file)
        except FileNotFoundError:
            continue
        if pays(held):
            return True
    return False


def _allocated(file: StoreFile) -> int:
    """Bytes of a file that the disk holds at most, without holes."""
    if file.source is not None:
        return file.source.size
    status = file.path.stat()
    return min(status.st_size, 512 * getattr(status, "st_blocks", 1 << 54))
