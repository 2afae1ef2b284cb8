"""Files in memory, at the size and under the names that 4.9.3's MappedFile asks for."""

import mmap
import os
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from rocket_columnar.formats import parse_long
from rocket_columnar.store import open_reader

Mapping = mmap.mmap | bytearray

_PAGE: Final = 1 << 12


class RejectedError(ValueError):
    """The operation ends in an error that 4.9.3 reports too: an exception leaves its method."""


def map_file(path: Path, size: int) -> Mapping:
    """The first `size` bytes of a file, mapped to read and write.

    A missing file and its folder are made, a shorter file is extended with zeros, a longer one keeps
    its length. A size of 0 gives an empty buffer.

    Raises:
        RejectedError: for a name that is not a Java long, before anything is made; for a negative size,
            after the file is; for a file that cannot be opened.

    Source: IDX-FILE-1, IDX-FILE-3, IDX-FILE-4; `MappedFile.init` 154-182.
    """
    if parse_long(path.name) is None:
        raise RejectedError(f"the file name {path.name!r} is not a Java long")
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


class FileImage:
    """The first bytes of a file in memory, read when they are asked for; where the file ends early, zeros follow.

    That is what a broker sees after it has extended a short file, without touching it. The file itself is not mapped: one
    that is cut meanwhile would end the process with SIGBUS.
    """

    def __init__(self, path: Path, size: int) -> None:
        """Opens the file to read at most `size` bytes; OSError if it cannot be opened."""
        self._stack = ExitStack()
        self._reader = self._stack.enter_context(open_reader(path))
        self._length = min(self._reader.size, size)
        self.memory: Mapping = _memory(size) if size > 0 else bytearray()
        self._pages = -(-max(size, 0) // _PAGE)
        self._held: set[int] = set()

    def fetch(self, position: int, length: int) -> None:
        """Makes sure that some bytes are in memory; MalformedError if the file has been cut."""
        last = min((position + length - 1) // _PAGE + 1, self._pages)
        for page in range(max(position, 0) // _PAGE, last):
            if page not in self._held:
                begin, end = page * _PAGE, min((page + 1) * _PAGE, self._length)
                if begin < end:
                    self.memory[begin:end] = self._reader.read(begin, end - begin).tobytes()
                self._held.add(page)

    def forget(self) -> None:
        """Reads everything again when it is asked for: a broker may have put into the file."""
        self._held.clear()

    def close(self) -> None:
        """Closes the file and lets go of the memory."""
        self._stack.close()
        if not isinstance(self.memory, bytearray):
            self.memory.close()


def _memory(size: int) -> mmap.mmap:
    """Memory of zeros of which only what is written takes room."""
    if not hasattr(mmap, "MAP_ANONYMOUS"):  # Windows
        return mmap.mmap(-1, size)
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0)
    return mmap.mmap(-1, size, flags=flags)
