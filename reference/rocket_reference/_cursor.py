"""`java.nio.ByteBuffer` with its relative gets, over a part of some bytes."""

from struct import Struct
from typing import Final

from rocket_reference._mapping import ReadableBuffer
from rocket_reference.errors import JavaError

_BYTE: Final = Struct(">b")
_SHORT: Final = Struct(">h")
_INT: Final = Struct(">i")
_LONG: Final = Struct(">q")


class Cursor:
    """Reads on from `position`; each method raises JavaError BufferUnderflowException at the end."""

    __slots__ = ("_data", "limit", "position")

    def __init__(self, data: ReadableBuffer, position: int = 0, limit: int | None = None) -> None:
        self._data = data
        self.position = position
        self.limit = len(data) if limit is None else limit

    def get_byte(self) -> int:
        """`get()`, signed."""
        return self._number(_BYTE)

    def get_short(self) -> int:
        """`getShort()`."""
        return self._number(_SHORT)

    def get_int(self) -> int:
        """`getInt()`."""
        return self._number(_INT)

    def get_long(self) -> int:
        """`getLong()`."""
        return self._number(_LONG)

    def take(self, length: int, room: int) -> bytes:
        """`get(bytes, 0, length)` into an array of `room` bytes.

        Raises JavaError: IndexOutOfBoundsException when the length is negative or above `room`, looked at first;
        BufferUnderflowException.
        """
        if not 0 <= length <= room:
            raise JavaError("IndexOutOfBoundsException", f"{length} of {room}")
        start = self._advance(length)
        return bytes(self._data[start : start + length])

    def skip(self, length: int) -> None:
        """`position(position() + length)`.

        Raises JavaError: IllegalArgumentException when that is past the end; also where the sum overflows.
        """
        if self.position + length > self.limit:
            raise JavaError("IllegalArgumentException", f"position {self.position + length} of {self.limit}")
        self.position += length

    def _number(self, code: Struct) -> int:
        value: int = code.unpack_from(self._data, self._advance(code.size))[0]
        return value

    def _advance(self, length: int) -> int:
        start = self.position
        if length > self.limit - start:
            raise JavaError("BufferUnderflowException", f"{length} bytes at {start} of {self.limit}")
        self.position = start + length
        return start
