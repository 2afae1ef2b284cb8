"""One file of a queue of files: its mapping, its write position, and how many still use it.

Read beside `org.apache.rocketmq.store.MappedFile` and `ReferenceResource` of 4.9.3.

Theory of operation. A mapped file has its full length from the start; how much of it was written is known
in memory alone, as the write position. And the users of the mapping are counted: the list that holds the
file counts as one, each reader as one more. A destroy takes the list's count away, and succeeds only when
none is left, or, later than `interval_forcibly` after the first try, by force.
"""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from rocket_reference._mapping import check_file_name, map_view, release_view
from rocket_reference.errors import JavaError
from rocket_reference.rules import RULES_4_9_3, Rules

_FORCED: Final = -1000


def wall_clock() -> int:
    """`System.currentTimeMillis()`."""
    return time.time_ns() // 1_000_000


class MappedFile:
    """A mapped file of exactly `file_size` bytes.

    Raises JavaError: NumberFormatException for a name that is not a number, with nothing created;
    IllegalArgumentException for a negative size, the file made empty; FileNotFoundException, IOException.
    Source: MappedFile.init 155-180.
    """

    __slots__ = (
        "_available",
        "_cleanup_over",
        "_clock",
        "_first_shutdown",
        "_references",
        "_rules",
        "file_from_offset",
        "file_size",
        "first_create_in_queue",
        "path",
        "view",
        "wrote_position",
    )

    def __init__(
        self,
        path: str | os.PathLike[str],
        file_size: int,
        *,
        clock: Callable[[], int] = wall_clock,
        rules: Rules = RULES_4_9_3,
    ) -> None:
        self.path = Path(path)  # of the file; its name is a number
        self.file_size = file_size  # bytes that are mapped
        # the number of its name: for a queue's files, the offset of the first byte
        self.file_from_offset = check_file_name(path)
        self.view = map_view(path, file_size)  # these bytes; not to be touched after the file was cleaned up
        self.wrote_position = 0  # bytes written so far; damage can make it negative
        self.first_create_in_queue = False  # whether it was made, not loaded, as the only file of its queue
        self._clock = clock
        self._rules = rules
        self._references = 1
        self._available = True
        self._cleanup_over = False
        self._first_shutdown = 0

    @property
    def full(self) -> bool:
        """Whether nothing more fits in. Source: isFull 373-375."""
        return self.file_size == self.wrote_position

    @property
    def available(self) -> bool:
        """Whether no destroy was tried yet. Source: ReferenceResource.isAvailable 40-42."""
        return self._available

    def append(self, data: bytes) -> bool:
        """Writes at the write position and moves it on; False, and nothing, when there is no room.

        At a negative position nothing is written, but the position moves, and the answer is True: what the
        write throws is caught, logged and forgotten.

        Source: appendMessage 225-241, 249-265.
        """
        start, end = self.wrote_position, self.wrote_position + len(data)
        if end > self.file_size:
            return False
        if start >= 0:
            self.view[start:end] = data
        elif self._rules.failed_append == "refuses":
            return False
        elif self._rules.failed_append == "throws":
            raise JavaError("IllegalArgumentException", f"position {start}")
        self.wrote_position = end
        return True

    def select(self, position: int, at_most: int | None = None) -> bytes | None:
        """The bytes from a position up to the write position; None where none are written.

        Args:
            position: where they begin.
            at_most: the most bytes to take, for a reader that needs no more.

        Source: selectMappedBuffer 399-412.
        """
        if 0 <= position < self.wrote_position and self.hold():
            end = self.wrote_position if at_most is None else min(self.wrote_position, position + at_most)
            data = bytes(self.view[position:end])
            self.release()
            return data
        return None

    # --- ReferenceResource ----------------------------------------------------------------------------

    def hold(self) -> bool:
        """Counts one more user, unless a destroy was tried. Source: ReferenceResource.hold 27-37."""
        if self._available and self._references > 0:
            self._references += 1
            return True
        return False

    def release(self) -> None:
        """Counts one user less, and unmaps the file after the last. Source: ReferenceResource.release 58-67."""
        self._references -= 1
        if self._references <= 0 and not self._available and not self._cleanup_over:
            self._cleanup_over = True
            release_view(self.view)

    def destroy(self, interval_forcibly: int) -> bool:
        """Unmaps and deletes the file; False when it is still held, which leaves it unavailable.

        Args:
            interval_forcibly: ms after the first try from which on holders are ignored.

        Source: destroy 434-459; ReferenceResource.shutdown 44-56.
        """
        if self._available:
            self._available = False
            self._first_shutdown = self._clock()
            self.release()
        elif self._references > 0 and self._clock() - self._first_shutdown >= interval_forcibly:
            self._references = _FORCED - self._references
            self.release()
        if self._references <= 0 and self._cleanup_over:
            self.path.unlink(missing_ok=True)
            return True
        return False

    def close(self) -> None:
        """Unmaps the file and leaves it where it is, as the end of the process does."""
        self._available = False
        if not self._cleanup_over:
            self._cleanup_over = True
            release_view(self.view)
