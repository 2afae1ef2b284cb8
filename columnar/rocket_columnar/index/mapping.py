"""Files in memory, at the size and under the names that 4.9.3's MappedFile asks for."""

from __future__ import annotations

import mmap
import os
from typing import TYPE_CHECKING

from rocket_columnar.formats import parse_long

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Mapping", "RejectedError", "map_file", "map_for_reading"]

Mapping = mmap.mmap | bytearray


class RejectedError(ValueError):
    """The operation ends in an error that 4.9.3 reports too: an exception leaves its method."""


def map_file(path: Path, size: int) -> Mapping:
    """The first `size` bytes of a file, mapped to read and write.

    A missing file and its folder are made, a shorter file is extended with zeros, a longer one keeps
    its length. A size of 0 gives an empty buffer.

    Raises:
        RejectedError: for a name that is no Java long, before anything is made; for a negative size,
            after the file is; for a file that cannot be opened.

    Source: IDX-FILE-1, IDX-FILE-3, IDX-FILE-4; `MappedFile.init` 154-182.
    """
    if parse_long(path.name) is None:
        raise RejectedError(f"the file name {path.name!r} is no Java long")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o644)
    except OSError as error:
        raise RejectedError(f"{path}: {error.strerror}") from error
    try:
        if size < 0:
            raise RejectedError(f"the size of the file is negative: {size}")
        if size == 0:
            return bytearray()
        if os.fstat(handle).st_size < size:
            os.truncate(handle, size)
        return mmap.mmap(handle, size)
    finally:
        os.close(handle)


def map_for_reading(path: Path, size: int) -> Mapping:
    """The first `size` bytes of a file, to read only; where the file ends early, zeros follow.

    That is what a broker sees after it has extended a short file, without touching it.

    Raises:
        OSError: when the file cannot be opened.
    """
    with path.open("rb") as file:
        length = os.fstat(file.fileno()).st_size
        if size <= 0:
            return bytearray()
        if length >= size:
            return mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)
        memory = mmap.mmap(-1, size)
        file.readinto(memoryview(memory)[:length])
        return memory
