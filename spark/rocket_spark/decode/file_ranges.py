"""How large files are divided, so that the parts have the rows and gaps of the whole.

An index file is divided by its entries, a commit-log file by physical offsets. What the engine reports for the end of a
commit-log file depends on the files after it: zeros there are the end of the log, or a gap in it. So a part of the log
comes with the files that follow, up to the first that contains anything.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocket_columnar.store import StoreFile

__all__ = ["WHOLE_LOG", "followers", "log_ranges", "row_shares"]

WHOLE_LOG: Final = (-(1 << 63), 1 << 63)
"""From before any physical offset to after all of them."""


def followers(files: Sequence[StoreFile]) -> list[tuple[StoreFile, ...]]:
    """The files after each that its decoding needs to know of: in a log, up to the next one that contains anything.

    Raises:
        OSError: a log file cannot be read.
    """
    found: list[tuple[StoreFile, ...]] = []
    behind: tuple[StoreFile, ...] = ()
    for file in reversed(files):
        if file.kind != "log":
            found.append(())
            continue
        found.append(behind)
        behind = (file,) if _begins(file) else (file, *behind)
    return found[::-1]


def _begins(file: StoreFile) -> bool:
    with file.open() as reader:
        return bool(reader.read(0, min(8, reader.size)).any())


def log_ranges(
    files: Sequence[StoreFile], following: Sequence[StoreFile], step: int
) -> list[tuple[int, int]]:
    """Physical offsets at which parts of neighbouring log files begin and end: in one large file every `step` bytes.

    The last part reaches to the next file, over a hole before it. Space that is not yet written is not divided.

    Raises:
        OSError: a file cannot be read.
    """
    first = files[0].base_offset
    end = following[0].base_offset if following else WHOLE_LOG[1]
    cuts = [first, end]
    if len(files) == 1:
        with files[0].open() as reader:
            size = reader.size
            if size > step and not following and files[0].source is None:
                size = (reader.last_nonzero(0, size) or 0) + 1
        cuts = [*range(first, min(first + max(size, 1), end), step), end]
    return list(pairwise(cuts))


def row_shares(first: int, end: int, step: int) -> list[tuple[int, int]]:
    """[first, end) in equal shares of `step` rows at most, each the first row and the one after the last."""
    shares = max(1, -(-(end - first) // step))
    edges = [first + (end - first) * share // shares for share in range(shares + 1)]
    return list(pairwise(edges))
