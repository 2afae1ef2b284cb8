"""The files of an ext queue: where one ends and the next begins."""

import os
from itertools import pairwise
from pathlib import Path
from typing import Final

from rocket_conformance.store_verdict.observations import Observations, Place
from rocket_conformance.store_verdict.stored_log import numbered_files

_FREE: Final = 4
_END: Final = -1


def judge_ext_files(store: Path, folder: Path, seen: Observations) -> None:
    """Judges the end of every file but the last: an end mark, where the next file's first unit did not fit (CQ-EXT-3).

    Args:
        store: the store's directory.
        folder: of the ext queue; it may be missing.
        seen: takes what is observed.
    """
    for (_, path), (_, following) in pairwise(numbered_files(folder)):
        with path.open("rb") as opened, following.open("rb") as after:
            length, descriptor = os.fstat(opened.fileno()).st_size, opened.fileno()
            position = 0
            while (size := _size(descriptor, position)) > 0 and position + size <= length:
                position += size
            needed = _size(after.fileno(), 0)
        name = path.relative_to(store).as_posix()
        seen.compare("CQ-EXT-3", Place(name, position, "end mark", size, _END))
        if 0 < needed <= length - position - _FREE:
            place = Place(
                name, position, "end mark", f"{length - position} bytes left", f"a unit of {needed}"
            )
            seen.breaks("CQ-EXT-3", place)


def _size(descriptor: int, position: int) -> int:
    return int.from_bytes(os.pread(descriptor, 2, position), signed=True)
