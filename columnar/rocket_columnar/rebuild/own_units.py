"""The units of the store's own queue files whose records the log lacks: in a hole, or because they expired.

Their places follow from no record any more, and a broker may still deliver a record in a hole.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray
from rocket_spec.layout import PRE_BLANK_SIZE, QUEUE_UNIT

from rocket_columnar.formats import UNIT_DTYPE
from rocket_columnar.rebuild.holes import Holes
from rocket_columnar.store import StoreFile

_SIZE: Final = QUEUE_UNIT.size


class OwnUnits:
    """Units by place.

    Args:
        files: the store's.
        holes: of the log.

    Attributes:
        places: for each queue, logical offset of the first unit of its files and that after the last.
    """

    def __init__(self, files: Sequence[StoreFile], holes: Holes) -> None:
        self.places: dict[tuple[str, int], tuple[int, int]] = {}
        self._holes = holes
        self._files: dict[tuple[str, int], list[tuple[int, int, StoreFile]]] = {}
        for file in sorted(files, key=lambda file: file.base_offset):
            if file.kind == "queue" and file.topic is not None and file.queue_id is not None:
                key, first = (file.topic, file.queue_id), file.base_offset // _SIZE
                end = first + file.size() // _SIZE
                self._files.setdefault(key, []).append((first, end, file))
                self.places[key] = self.places.get(key, (first, 0))[0], end

    def lost(
        self, key: tuple[str, int], place: int, count: int, *, after: int, before: int
    ) -> NDArray[np.void]:
        """The units from a place on; zeros for those that are no unit of a lost record.

        Args:
            key: of the queue.
            place: logical offset of the first one.
            count: number of units.
            after: physical offset where the record before them ends.
            before: physical offset where the record after them begins.

        Raises:
            OSError: a file cannot be read.
        """
        units = np.zeros(count, UNIT_DTYPE)
        for first, end, file in self._files.get(key, ()):
            start, stop = max(place, first), min(place + count, end)
            if start < stop:
                with file.open() as reader:
                    data = reader.read((start - first) * _SIZE, (stop - start) * _SIZE)
                units[start - place : stop - place] = data.view(UNIT_DTYPE)
        offset, size = units["phy_offset"].astype(np.int64), units["size"].astype(np.int64)
        real = (size > 0) & (size != PRE_BLANK_SIZE)
        ends = np.maximum.accumulate(np.append(after, np.where(real, offset + size, 0)))
        real &= (offset >= ends[:-1]) & (offset + size <= before) & self._holes.hold(offset)
        units[~real] = np.zeros((), UNIT_DTYPE)
        return units
