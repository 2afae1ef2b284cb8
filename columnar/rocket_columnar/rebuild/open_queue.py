"""A consume queue in the making, the ext units that are its own, and the files of many that stay open."""

import shutil
from bisect import bisect_left
from io import FileIO
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray
from rocket_spec.layout import QUEUE_UNIT

from rocket_columnar.decode import ExtUnits

_SIZE: Final = QUEUE_UNIT.size

_OPEN: Final = 64
"""Files that stay open for the next units of their queues."""


class OpenHandles:
    """Files that were written last and stay open: most units go into the same files as those before."""

    def __init__(self) -> None:
        self._files: dict[str, FileIO] = {}  # the one written last is at the end

    def write(self, path: str, position: int, data: memoryview) -> None:
        """Writes all of `data` from a byte of a file on."""
        file = self._files.pop(path, None)
        if file is None:
            if len(self._files) == _OPEN:
                self._files.pop(next(iter(self._files))).close()
            file = FileIO(path, "r+")
        self._files[path] = file
        file.seek(position)
        while data:
            data = data[file.write(data) :]

    def close(self) -> None:
        """Closes all."""
        while self._files:
            self._files.popitem()[1].close()


class Addresses:
    """The ext units of one queue, taken in order.

    Bit maps depend on the consumers at that time, so ext units cannot be rebuilt. Each existing one belongs to
    the next message of the queue that has its store timestamp and tags code. Units that no message takes are orphans of
    repeated puts.
    """

    def __init__(self, ext: ExtUnits, topic: str, queue_id: int) -> None:
        self._addresses, tags, times = ext.of(topic, queue_id)
        self._next = 0
        self._places: dict[tuple[int, int], list[int]] = {}
        for place, key in enumerate(zip(tags.tolist(), times.tolist(), strict=True)):
            self._places.setdefault(key, []).append(place)

    def __bool__(self) -> bool:
        """Whether an ext unit is left."""
        return self._next < self._addresses.size

    def take(self, tags_code: NDArray[np.int64], store_timestamp: NDArray[np.int64]) -> NDArray[np.int64]:
        """The content of the units' tags codes: addresses, or the tags code itself if no ext unit is left."""
        taken = tags_code.copy()
        for number, key in enumerate(zip(tags_code.tolist(), store_timestamp.tolist(), strict=True)):
            places = self._places.get(key, [])
            at = bisect_left(places, self._next)
            if at < len(places):
                taken[number] = self._addresses[places[at]]
                self._next = places[at] + 1
        return taken


class OpenQueue:
    """One queue, and its files in the staging directory of a rebuild.

    Attributes:
        key: topic and queue id.
        begun: whether its first unit is known.
        position: logical offset of the next unit, by its place.
        max_phy_offset: where the record of the last unit ends.
        ahead: by how much the last unit's record states a higher logical offset than the unit's place.
        addresses: the ext units that are left for it, if any.
        left_out: whether it is not written.
        kinds: whether its units are copies.
    """

    def __init__(self, directory: Path, key: tuple[str, int], file_size: int, files: OpenHandles) -> None:
        self.key = key
        self.begun = False
        self.position = self.max_phy_offset = self.ahead = 0
        self.addresses: Addresses | None = None
        self.left_out = False
        self.kinds: set[bool] = set()
        self._directory = directory / "consumequeue" / key[0] / str(key[1])
        self._file_size = file_size
        self._files = files
        self._path = ""  # of the last file that was created
        self._last = -1  # its first byte

    @property
    def mixed(self) -> bool:
        """Whether it has both its own records and copies of others, whose logical offsets are counted apart."""
        return len(self.kinds) > 1

    def begin(self, logical_offset: int) -> int:
        """The first put: the number of units before it in its file, which are pre-blank (CQ-UNIT-2)."""
        self.begun = True
        number = max(logical_offset, 0)
        left = number % (self._file_size // _SIZE)
        self.position = number - left
        return left

    def append(self, units: NDArray[np.void], end: int, *, skipped: bool = False) -> None:
        """Puts units whose last record ends at `end`; a skipped unit after them still creates the next file."""
        data = memoryview(units.view(np.uint8).data)
        position = self.position * _SIZE
        self.position, self.max_phy_offset = self.position + units.size, end
        while data:
            at = position % self._file_size
            part = data[: self._file_size - at]
            self._create(position - at)
            self._files.write(self._path, at, part)
            position += len(part)
            data = data[len(part) :]
        if skipped:
            self._create(position - position % self._file_size)

    def remove(self) -> None:
        """Removes the files of a queue that is left out after all."""
        shutil.rmtree(self._directory, ignore_errors=True)
        if self._directory.parent.exists() and not any(self._directory.parent.iterdir()):
            self._directory.parent.rmdir()

    def _create(self, begin: int) -> None:
        """Creates the file that begins at a byte of the queue, unless it is the last one created."""
        if begin > self._last:
            if self._last < 0:
                self._directory.mkdir(parents=True, exist_ok=True)
            path = self._directory / f"{begin:020}"
            with path.open("wb") as file:
                file.truncate(self._file_size)
            self._last, self._path = begin, str(path)
