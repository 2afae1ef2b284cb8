"""Consume-queue files written again, unit by unit as `ConsumeQueue.putMessagePositionInfo` writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from rocket_spec.layout import PRE_BLANK_SIZE, QUEUE_UNIT

from rocket_columnar.formats import UNIT_DTYPE

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

__all__ = ["QueueWriter", "Units"]

_SIZE: Final = QUEUE_UNIT.size
_AT_ONCE: Final = 1 << 16


class Units(NamedTuple):
    """Units to put, and the logical offset that each asks for."""

    phy_offset: NDArray[np.int64]
    size: NDArray[np.int32]
    tags_code: NDArray[np.int64]
    logical_offset: NDArray[np.int64]

    def packed(self) -> NDArray[np.void]:
        """The bytes that go into the files."""
        raw = np.empty(self.phy_offset.size, UNIT_DTYPE)
        raw["phy_offset"], raw["size"], raw["tags_code"] = self.phy_offset, self.size, self.tags_code
        return raw


class QueueWriter:
    """The files of one queue in the making."""

    def __init__(self, directory: Path, file_size: int) -> None:
        self._directory = directory
        self._file_size = file_size
        self._position = -1  # byte in the queue at which the next unit goes in; none has come yet
        self._max_phy_offset = 0

    def put(self, units: Units) -> None:
        """Puts units in order, with the skips of 4.9.3: what was put before, and what lies before the write position.

        Source: `ConsumeQueue.putMessagePositionInfo` 478-530.
        """
        if not units.phy_offset.size:
            return
        if self._position < 0:
            self._begin(int(units.logical_offset[0]))
        ends = units.phy_offset + units.size
        wanted = self._position // _SIZE + np.arange(ends.size)
        plain = bool((units.logical_offset == wanted).all() and (np.diff(ends) > 0).all())
        if plain and ends[0] > self._max_phy_offset:
            self._append(units.packed())
            self._max_phy_offset = int(ends[-1])
            return
        for number, end in enumerate(ends.tolist()):
            self._put_one(end, units, number)

    def _put_one(self, end: int, units: Units, number: int) -> None:
        """One put; a gap before it is only logged by 4.9.3, and one that is passed over makes the next file all the same."""
        logical = int(units.logical_offset[number])
        if end <= self._max_phy_offset:
            return
        if logical != 0 and logical * _SIZE < self._position:
            self._file()
            return
        one = slice(number, number + 1)
        self._append(units.packed()[one])
        self._max_phy_offset = end

    def _begin(self, logical_offset: int) -> None:
        """The first put: what lies before it in its file is filled with pre-blank units (CQ-UNIT-2)."""
        start = max(logical_offset, 0) * _SIZE
        self._position = start - start % self._file_size
        left = (start - self._position) // _SIZE
        while left:
            count = min(left, _AT_ONCE)
            zeros = np.zeros(count, np.int64)
            self._append(Units(zeros, np.full(count, PRE_BLANK_SIZE, np.int32), zeros, zeros).packed())
            left -= count

    def _append(self, raw: NDArray[np.void]) -> None:
        data = memoryview(raw.tobytes())
        while data:
            at = self._position % self._file_size
            part = data[: self._file_size - at]
            with self._file().open("r+b") as file:
                file.seek(at)
                file.write(part)
            self._position += len(part)
            data = data[len(part) :]

    def _file(self) -> Path:
        """The file that the next unit goes into, made where it is missing."""
        path = self._directory / f"{self._position - self._position % self._file_size:020}"
        if not path.exists():
            self._directory.mkdir(parents=True, exist_ok=True)
            with path.open("wb") as file:
                file.truncate(self._file_size)
        return path
