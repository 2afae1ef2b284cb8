"""The frames of one log file by place: whether a record verifies there, and where the next one does."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

from rocket_spec.layout import BLANK, BLANK_MAGIC, MESSAGE_MAGIC, RECORD_FIXED_V4

from rocket_columnar._record import Bad, Record, check, check_head

if TYPE_CHECKING:
    from rocket_columnar._read import Reader

__all__ = ["Walk"]

_WINDOW: Final = 1 << 16
_PAIR: Final = struct.Struct(">ii")
_MESSAGE: Final = struct.pack(">i", MESSAGE_MAGIC)
_END: Final = struct.pack(">i", BLANK_MAGIC)


class Walk:
    """A window that moves over one file."""

    def __init__(self, reader: Reader, base_offset: int) -> None:
        self.window = b""
        self._reader = reader
        self._base = base_offset
        self._begin = 0

    def _load(self, position: int, length: int) -> int:
        """Makes the window hold `length` bytes from `position`; their place in it."""
        if position < self._begin or position + length > self._begin + len(self.window):
            size = min(max(length, _WINDOW), self._reader.size - position)
            self.window = self._reader.read(position, size).tobytes()
            self._begin = position
        return position - self._begin

    def is_blank(self, position: int) -> bool:
        """Whether a blank lies here that fills the file to its end (LOG-BLANK-1)."""
        if position + BLANK.size > self._reader.size:
            return False
        at = self._load(position, BLANK.size)
        total_size, magic = _PAIR.unpack_from(self.window, at)
        return bool(magic == BLANK_MAGIC and total_size == self._reader.size - position)

    def record(self, position: int) -> Record | Bad:
        """The record at `position`, whose bytes are then in the window, or why there is none."""
        room = self._reader.size - position
        if room < RECORD_FIXED_V4:
            return Bad(f"{room} bytes", f"a record of at least {RECORD_FIXED_V4}, or a blank")
        at = self._load(position, RECORD_FIXED_V4)
        bad = check_head(self.window, at, room, self._base + position)
        if bad is not None:
            return bad
        total_size, _ = _PAIR.unpack_from(self.window, at)
        at = self._load(position, total_size)
        return check(self.window, at)

    def next_frame(self, position: int) -> int:
        """The next place from `position` on at which a record verifies or a blank ends the file, else its size.

        Holes are passed over.
        """
        for begin, end in self._reader.extents(position):
            position = max(position, begin - 7)  # a frame may begin with zeros of a hole
            while position + BLANK.size <= self._reader.size and position < end:
                at = self._load(position, BLANK.size)
                message = self.window.find(_MESSAGE, at + 4)
                blank = self.window.find(_END, at + 4, None if message < 0 else message)
                hit = blank if blank >= 0 else message
                if hit < 0:
                    # A magic may lie across the window's end.
                    position = max(position + 1, self._begin + len(self.window) - 7)
                    continue
                candidate = self._begin + hit - 4
                if self.is_blank(candidate) or isinstance(self.record(candidate), Record):
                    return candidate
                position = candidate + 1
        return self._reader.size
