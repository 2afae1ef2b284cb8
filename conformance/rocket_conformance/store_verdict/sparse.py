"""Reads files without their holes: a preallocated file costs what is written of it."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from rocket_conformance.files import data_regions

_PART: Final = 1 << 20


def parts_on_disk(descriptor: int, begin: int, end: int) -> Iterator[tuple[int, bytes]]:
    """The bytes of a range that are on disk, in parts with their offsets; holes are left out."""
    for start, stop in data_regions(descriptor, begin, end):
        for position in range(start, stop, _PART):
            if data := os.pread(descriptor, min(_PART, stop - position), position):
                yield position, data


class Window:
    """A file seen through a window that moves forward.

    Attributes:
        size: length of the file, bytes.
    """

    def __init__(self, descriptor: int) -> None:
        self.size = os.fstat(descriptor).st_size
        self._descriptor = descriptor
        self._begin = 0
        self._data = b""

    def at(self, position: int, length: int) -> tuple[bytes, int]:
        """Bytes of which `length` from `position` on are there, as far as the file goes, and the place of the first."""
        start = position - self._begin
        if start < 0 or start + length > len(self._data):
            self._data = os.pread(self._descriptor, max(_PART, length), position)
            self._begin, start = position, 0
        return self._data, start


def copy_sparse(source: Path, target: Path) -> None:
    """Copies a file, or a folder with all in it, with the holes of its files; links are not followed."""
    if source.is_symlink():
        return
    if source.is_dir():
        target.mkdir(parents=True, exist_ok=True)
        for child in source.iterdir():
            copy_sparse(child, target / child.name)
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    with source.open("rb") as read, target.open("wb") as written:
        size = os.fstat(read.fileno()).st_size
        for offset, data in parts_on_disk(read.fileno(), 0, size):
            os.pwrite(written.fileno(), data, offset)
        written.truncate(size)
