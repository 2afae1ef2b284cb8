"""Reading parts of files that may be large, sparse, or in use by a broker.

Plain reads into buffers of our own, not maps: memory stays bounded by what is asked for, and a file that
is cut off meanwhile ends in an error instead of a fatal signal.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Final

import numpy as np
from rocket_spec.errors import MalformedError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

__all__ = ["Reader", "open_reader", "require_regular"]

_CHUNK: Final = 1 << 20
_PREADV: Final = getattr(os, "preadv", None)  # not on Windows


def require_regular(path: os.PathLike[str] | str, mode: int) -> None:
    """Raises an OSError with one clear reason where `mode` is no regular file's (a pipe would block us)."""
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "not a regular file", os.fspath(path))


class Reader:
    """One open file: its name for messages, its size in bytes when it was opened, and positioned reads.

    `allocated` is how many bytes of it the disk holds at most, holes left out.
    """

    def __init__(self, name: str, descriptor: int) -> None:
        self.name = name
        status = os.fstat(descriptor)
        self.size = status.st_size
        self.allocated = min(self.size, 512 * getattr(status, "st_blocks", 1 << 54))
        self._file = os.fdopen(descriptor, "rb", buffering=0)
        self._lock = Lock()

    def close(self) -> None:
        """Closes the file."""
        self._file.close()

    def read(self, offset: int, length: int) -> NDArray[np.uint8]:
        """Exactly `length` bytes from `offset`; MalformedError where the file has fewer (any more)."""
        buffer = np.empty(length, np.uint8)
        self.read_into(offset, buffer)
        return buffer

    def read_into(self, offset: int, buffer: NDArray[np.uint8]) -> None:
        """As `read`, into a buffer that is there."""
        length = len(buffer)
        view = buffer.data
        done = 0
        while done < length:
            count = self._read_some(offset + done, view[done:])
            if not count:
                raise MalformedError(
                    file=self.name,
                    offset=offset + done,
                    found="the end of the file",
                    expected=f"{length - done:,} more bytes",
                )
            done += count

    def _read_some(self, offset: int, view: memoryview) -> int:
        """One read; threads may read at once."""
        if _PREADV is not None:
            count: int = _PREADV(self._file.fileno(), [view], offset)
            return count
        with self._lock:
            self._file.seek(offset)
            return self._file.readinto(view) or 0

    def extents(self, begin: int = 0) -> Iterator[tuple[int, int]]:
        """The ranges (begin, end) from `begin` on that may hold data; the holes between them read as zeros."""
        seek_data, seek_hole = getattr(os, "SEEK_DATA", None), getattr(os, "SEEK_HOLE", None)
        position = begin
        while position < self.size:
            if seek_data is None or seek_hole is None:
                yield position, self.size
                return
            try:
                first = os.lseek(self._file.fileno(), position, seek_data)
                end = os.lseek(self._file.fileno(), first, seek_hole)
            except OSError as error:
                if error.errno == errno.ENXIO:  # only a hole is left
                    return
                first, end = position, self.size
            end = min(end, self.size)
            yield first, end
            position = end

    def last_nonzero(self, begin: int, end: int) -> int | None:
        """Offset of the last byte in [begin, end) that is not zero, or None; holes are not read."""
        for first, limit in reversed(list(self.extents(begin))):
            low, high = max(first, begin), min(limit, end)
            while high > low:
                start = max(low, high - _CHUNK)
                found = np.flatnonzero(self.read(start, high - start))
                if found.size:
                    return start + int(found[-1])
                high = start
        return None

    def first_nonzero(self, begin: int, end: int) -> int | None:
        """Offset of the first byte in [begin, end) that is not zero, or None; holes are not read."""
        for first, limit in self.extents(begin):
            low, high = max(first, begin), min(limit, end)
            while low < high:
                chunk = self.read(low, min(_CHUNK, high - low))
                if chunk.any():
                    return low + int((chunk != 0).argmax())
                low += chunk.size
            if limit >= end:
                return None
        return None


@contextmanager
def open_reader(path: os.PathLike[str] | str) -> Iterator[Reader]:
    """Opens `path` for reading; raises OSError with it, also for what is no regular file."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        require_regular(path, os.fstat(descriptor).st_mode)
        reader = Reader(os.fspath(path), descriptor)
    except BaseException:
        os.close(descriptor)
        raise
    try:
        yield reader
    finally:
        reader.close()
