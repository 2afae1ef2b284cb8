"""Parts of a store that the engine decodes by themselves, with the rows and gaps that they have in the whole.

A large index file is divided by its entries, a commit-log file by physical offsets. What the engine says of the end of a
commit-log file depends on those behind it: zeros there are the end of the log or a gap in it. So a part of the log comes
with the files that follow, up to the first that holds anything.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

from rocket_columnar.decode import decode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocket_columnar.index import GeometryGuess
    from rocket_columnar.store import StoreFile

__all__ = ["WHOLE_LOG", "entry_spans", "followers", "log_spans"]

WHOLE_LOG: Final = (-(1 << 63), 1 << 63)
"""From before any physical offset to behind all."""


def followers(files: Sequence[StoreFile]) -> list[tuple[StoreFile, ...]]:
    """For each file those that its decoding needs to know of: of the log, up to the next one that holds anything.

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


def log_spans(files: Sequence[StoreFile], following: Sequence[StoreFile], step: int) -> list[tuple[int, int]]:
    """Physical offsets at which parts of neighbouring log files begin and end: of one large file every `step` bytes.

    The last reaches to the next file, over a hole before it. Room that is still to be written is not divided.

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


def entry_spans(file: StoreFile, guess: GeometryGuess, step: int) -> list[tuple[int, int]]:
    """Numbers of rows of an index file, in equal shares of `step` at most: the first, and how many.

    Raises:
        OSError: the file cannot be read.
    """
    ((_, header),) = decode([file], tables=["index_headers"], geometry={file: guess})
    count = max(0, min(header.column("index_count")[0].as_py(), guess.geometry.index_num) - 1)
    shares = max(1, -(-count // step))
    edges = [count * share // shares for share in range(shares + 1)]
    return [(begin, end - begin) for begin, end in pairwise(edges)]
