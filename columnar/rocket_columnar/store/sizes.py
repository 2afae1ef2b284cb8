"""Lengths of files: of one, the usual one among many, and whether they are large together."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocket_columnar.store.listing import StoreFile


__all__ = ["is_large", "size_of", "usual_size"]

_LOOKS, _MOMENT, _NEW = 10, 0.02, 1.0
"""How often an empty file is looked at again, after how many seconds, and how many seconds after its making."""


def usual_size(sizes: Sequence[int], *, unit: int = 1) -> int:
    """The length that most files have; of several equally frequent ones a whole number of units, then the larger."""
    counts = Counter(sizes)
    return max(counts, key=lambda size: (counts[size], size % unit == 0, size))


def size_of(file: StoreFile) -> int | None:
    """Length of a file in bytes; None where it is gone meanwhile.

    A new, empty file is looked at again a moment later: a broker makes a file first, and then gives it its length.
    """
    if file.source is not None:
        return file.source.size
    try:
        for _ in range(_LOOKS):
            stat = file.path.stat()
            if stat.st_size or time.time() - stat.st_mtime > _NEW:
                return stat.st_size
            time.sleep(_MOMENT)
    except FileNotFoundError:
        return None
    return 0


_LARGE: Final = 16 << 20
"""Bytes of log from which compiled loops serve; below, their start-up costs more than they save."""


def is_large(files: Sequence[StoreFile]) -> bool:
    """Whether these files hold so much that compiled loops pay."""
    held = 0
    for file in files:
        try:
            with file.open() as reader:
                held += reader.allocated
        except FileNotFoundError:
            continue
        if held >= _LARGE:
            return True
    return False
