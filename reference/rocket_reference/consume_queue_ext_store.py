"""The ext queue beside a consume queue: its units in their files.

Read beside `org.apache.rocketmq.store.ConsumeQueueExt` of 4.9.3; the unit itself is in `consume_queue_ext`.

Theory of operation. Units of any length follow each other, and none is in two files: where the next one
and 4 bytes do not fit, an end mark is written and the file counts as full. The address that a put returns
goes into the consume queue's unit, as its tags code.
"""

import os
from collections.abc import Callable
from typing import Final

from rocket_spec.errors import MalformedError

from rocket_reference._cursor import Cursor
from rocket_reference.consume_queue_ext import (
    MAX_ADDRESS,
    ExtUnit,
    address_of,
    encode_ext_unit,
    ext_unit,
    is_ext_address,
    offset_of,
)
from rocket_reference.errors import JavaError
from rocket_reference.java import I64_MIN, rem, to_i32, to_i64
from rocket_reference.mapped_file import MappedFile, wall_clock
from rocket_reference.mapped_file_queue import MappedFileQueue, queue_directory

FAILED: Final = 1
"""What a put returns instead of an address."""

_MIN_UNIT_SIZE: Final = 20
_MAX_UNIT_SIZE: Final = 32767
_END_BLANK: Final = 4  # END_BLANK_DATA_LENGTH
_END_MARK: Final = b"\xff\xff"
_MAX_REAL_OFFSET: Final = MAX_ADDRESS - I64_MIN
_TRIES: Final = 3


class ConsumeQueueExt:
    """The ext queue of a topic's queue; nothing is read or made before `load` or the first put.

    Args:
        root: the directory of all ext queues, `consumequeue_ext`.
        topic: name of the topic.
        queue_id: number of the queue.
        mapped_file_size: length of its files, bytes (`mappedFileSizeConsumeQueueExt`, 48 MiB).
        clock: ms since the epoch.

    Source: ConsumeQueueExt 66-91.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        topic: str,
        queue_id: int,
        mapped_file_size: int,
        *,
        clock: Callable[[], int] = wall_clock,
    ) -> None:
        self.files = MappedFileQueue(queue_directory(root, topic, queue_id), mapped_file_size, clock=clock)

    def load(self) -> bool:
        """As `MappedFileQueue.load`. Source: load 252-256."""
        return self.files.load()

    def put(self, tags_code: int, store_timestamp: int, bit_map: bytes = b"") -> int:
        """Appends a unit, and returns its address; 1 when that failed.

        A unit that fits into no file fills three of them with an end mark each, and fails.

        Args:
            tags_code: hash of TAGS, or delivery time in ms.
            store_timestamp: ms since the epoch.
            bit_map: the filter's bytes.

        Source: put 186-239, fullFillToEnd 241-249. Clauses CQ-EXT-1, CQ-EXT-3, CQ-EXT-4.
        """
        size = _MIN_UNIT_SIZE + len(bit_map)
        if size > _MAX_UNIT_SIZE or to_i64(self.files.max_offset() + size) > _MAX_REAL_OFFSET:
            return FAILED
        try:
            for _ in range(_TRIES):
                mapped_file = self.files.last()
                if mapped_file is None or mapped_file.full:
                    mapped_file = self.files.last_for_write(0)
                if mapped_file is None:
                    continue
                position = mapped_file.wrote_position
                if size > to_i32(self.files.mapped_file_size - position - _END_BLANK):
                    self._fill_to_end(mapped_file)
                elif mapped_file.append(encode_ext_unit(tags_code, store_timestamp, bit_map)):
                    return address_of(to_i64(position + mapped_file.file_from_offset))
        except JavaError:
            pass  # `catch (Throwable e)`
        return FAILED

    def _fill_to_end(self, mapped_file: MappedFile) -> None:
        position = mapped_file.wrote_position
        if not 0 <= position <= mapped_file.file_size - len(_END_MARK):
            raise JavaError("BufferOverflowException", f"an end mark at {position}")
        mapped_file.view[position : position + len(_END_MARK)] = _END_MARK
        mapped_file.wrote_position = self.files.mapped_file_size

    def get(self, address: int) -> ExtUnit | None:
        """The unit at an address; None when that is not an address, or nothing is written there.

        Raises JavaError: BufferUnderflowException when the unit is cut off by the write position.
        Source: get 148-178.
        """
        if not is_ext_address(address):
            return None
        offset = offset_of(address)
        mapped_file = self.files.find(offset, first_on_not_found=offset == 0)
        if mapped_file is None:
            return None
        data = mapped_file.select(to_i32(rem(offset, self.files.mapped_file_size)), _MAX_UNIT_SIZE + 1)
        try:
            return None if data is None else ext_unit(data)
        except MalformedError as error:
            raise JavaError("BufferUnderflowException", str(error)) from error

    def recover(self) -> None:
        """Finds the write position again, stepping through every file by the units' sizes.

        A file's units end at a size below 1.

        Raises JavaError: IllegalArgumentException when a size leads past the file's end; BufferUnderflowException
        when units reach it.
        Source: recover 268-317, CqExtUnit.readBySkip 489-498. Clauses CQ-EXT-5, CQ-EXT-6, CQ-EXT-8.
        """
        files = self.files.mapped_files
        if not files:
            return
        position = 0
        for mapped_file in files:
            cursor = Cursor(mapped_file.view)
            while (size := _peek_short(cursor)) > 0:
                cursor.skip(size)
            position = cursor.position
        self.files.truncate_dirty_files(to_i64(files[-1].file_from_offset + position))

    def truncate_by_min_address(self, address: int) -> None:
        """Deletes the files that end before an address. Source: truncateByMinAddress 324-350."""
        if not is_ext_address(address):
            return
        offset = offset_of(address)
        kept: list[MappedFile] = []
        for mapped_file in self.files.mapped_files:
            tail = to_i64(mapped_file.file_from_offset + self.files.mapped_file_size)
            if tail >= offset or not mapped_file.destroy(1000):
                kept.append(mapped_file)
        self.files.mapped_files = kept

    def truncate_by_max_address(self, address: int) -> None:
        """Deletes everything after the unit at an address; nothing when there is no such unit.

        Raises JavaError as `get`.
        Source: truncateByMaxAddress 357-374.
        """
        unit = self.get(address)
        if unit is not None:
            self.files.truncate_dirty_files(to_i64(offset_of(address) + unit.size))

    def destroy(self) -> None:
        """Deletes the files and their directory. Source: destroy 386-388."""
        self.files.destroy()

    def close(self) -> None:
        """Unmaps the files, as the end of the process does."""
        self.files.close()


def _peek_short(cursor: Cursor) -> int:
    start = cursor.position
    value = cursor.get_short()
    cursor.position = start
    return value
