"""A mapped buffer and a mapped file, as far as an index file and a checkpoint need them.

Theory of operation. Java maps exactly `fileSize` bytes, whatever the length of the file, and checks every
absolute read and write against that: one that is not wholly inside throws before a byte is touched.
Python's `struct` counts negative positions from the end and its `mmap` cannot map nothing, so both are
wrapped here. All integers are big-endian.
"""

import mmap
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from struct import Struct
from typing import Final, TypeAlias

from rocket_reference.errors import JavaError
from rocket_reference.java import parse_long

WritableBuffer: TypeAlias = bytearray | memoryview | mmap.mmap
ReadableBuffer: TypeAlias = bytes | WritableBuffer

_INT: Final = Struct(">i")
_LONG: Final = Struct(">q")


class MappedBuffer:
    """`java.nio.MappedByteBuffer`: absolute gets and puts inside `capacity` bytes.

    Each method raises JavaError IndexOutOfBoundsException, having done nothing, when one of its bytes
    is outside.
    """

    __slots__ = ("capacity", "view")

    def __init__(self, buffer: WritableBuffer, capacity: int) -> None:
        if isinstance(buffer, memoryview) and buffer.format == "B" and buffer.nbytes == capacity:
            self.view = buffer  # no second view: the giver of a mapped file's view releases it
        else:
            self.view = memoryview(buffer).cast("B")[:capacity]
        self.capacity = capacity

    def get_int(self, position: int) -> int:
        """`getInt(position)`."""
        if 0 <= position <= self.capacity - 4:
            value: int = _INT.unpack_from(self.view, position)[0]
            return value
        raise self._outside(position)

    def get_long(self, position: int) -> int:
        """`getLong(position)`."""
        if 0 <= position <= self.capacity - 8:
            value: int = _LONG.unpack_from(self.view, position)[0]
            return value
        raise self._outside(position)

    def put_int(self, position: int, value: int) -> None:
        """`putInt(position, value)`."""
        if not 0 <= position <= self.capacity - 4:
            raise self._outside(position)
        _INT.pack_into(self.view, position, value)

    def put_long(self, position: int, value: int) -> None:
        """`putLong(position, value)`."""
        if not 0 <= position <= self.capacity - 8:
            raise self._outside(position)
        _LONG.pack_into(self.view, position, value)

    def _outside(self, position: int) -> JavaError:
        return JavaError("IndexOutOfBoundsException", f"{position} in {self.capacity} bytes")


@contextmanager
def map_file(path: str | os.PathLike[str], size: int) -> Generator[memoryview]:
    """`map_view` for as long as the block lasts. Raises JavaError as `map_view`."""
    view = map_view(path, size)
    try:
        yield view
    finally:
        release_view(view)


def map_view(path: str | os.PathLike[str], size: int) -> memoryview:
    """The first `size` bytes of a file, writable; as `FileChannel.map(READ_WRITE, 0, size)`.

    A missing file is made, missing directories too; a shorter file is extended with zeros, a longer one
    keeps its length. `release_view` unmaps it.

    Raises JavaError: IllegalArgumentException when size is negative (the file is made all the same, empty);
    FileNotFoundException when the file cannot be opened; IOException when it cannot be extended.
    Source: MappedFile.init 155-180; StoreCheckpoint 39-46. Clauses IDX-FILE-1, IDX-FILE-3, CKP-2.
    """
    file = Path(path)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o644)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise JavaError("FileNotFoundException", str(error)) from error
    try:
        return _map(descriptor, size)
    finally:
        os.close(descriptor)


def release_view(view: memoryview) -> None:
    """Unmaps what `map_view` mapped: `MappedFile.clean`. No other view of it may be left."""
    mapping = view.obj
    view.release()
    if isinstance(mapping, mmap.mmap):
        mapping.close()


def _map(descriptor: int, size: int) -> memoryview:
    if size < 0:
        raise JavaError("IllegalArgumentException", f"Negative size: {size}")
    if size == 0:
        return memoryview(bytearray())
    try:
        if os.fstat(descriptor).st_size < size:
            os.ftruncate(descriptor, size)
        return memoryview(mmap.mmap(descriptor, size))
    except OSError as error:
        raise JavaError("IOException", str(error)) from error


def check_file_name(path: str | os.PathLike[str]) -> int:
    """The number that a mapped file's name stands for (`fileFromOffset`).

    Raises JavaError: NumberFormatException when the name is no Java long; nothing has been made by then.
    Source: MappedFile.init 159. Clause IDX-FILE-4.
    """
    return parse_long(Path(path).name)
