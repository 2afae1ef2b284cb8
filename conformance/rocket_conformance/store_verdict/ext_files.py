"""The files of an ext queue: where one ends and the next begins."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

from rocket_conformance.store_verdict.observations import Observations, Place
from rocket_conformance.store_verdict.stored_log import numbered_files

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["judge_ext_files"]

_FREE: Final = 4
_END: Final = -1


def judge_ext_files(store: Path, folder: Path, seen: Observations) -> None:
    """Judges the end of every file but the last: an end mark, where the next file's first unit did not fit (CQ-EXT-3).

    Args:
        store: the store's directory.
        folder: of the ext queue; it may be missing.
        seen: takes what is observed.
    """
    files = numbered_files(folder)
    for (_, path), (_, following) in pairwise(files):
        data = path.read_bytes()
        position = 0
        while (size := _size(data, position)) > 0 and position + size <= len(data):
            position += size
        name = path.relative_to(store).as_posix()
        seen.compare("CQ-EXT-3", Place(name, position, "end mark", size, _END))
        needed = _size(following.read_bytes()[:2], 0)
        if 0 < needed <= len(data) - position - _FREE:
            place = Place(
                name, position, "end mark", f"{len(data) - position} bytes left", f"a unit of {needed}"
            )
            seen.breaks("CQ-EXT-3", place)


def _size(data: bytes, position: int) -> int:
    return int.from_bytes(data[position : position + 2], "big", signed=True)
