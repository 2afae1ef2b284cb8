"""The commit log in its directory: reading by offset, and the two recoveries of a start.

Read beside `org.apache.rocketmq.store.CommitLog` 177-285, 462-593, 896-940 of 4.9.3; what is in a file is
in `dispatch` and `commit_log`.

Theory of operation. A load takes every file as full, and a recovery finds the true end by reading records
until one fails. After a clean exit it reads the last three files and dispatches nothing. After an unclean
one it goes back to a file that was handled safely by the checkpoint, and dispatches every record from
there on again, which queues and index mostly refuse as repeats. Neither compares the position of a record
with the one that it records.
"""

import os
from collections.abc import Callable, Sequence
from struct import Struct
from typing import Final

from rocket_spec.layout import MESSAGE_MAGIC

from rocket_reference._cursor import Cursor
from rocket_reference._mapping import MappedBuffer
from rocket_reference.dispatch import DispatchRequest, next_request
from rocket_reference.errors import JavaError
from rocket_reference.java import rem, to_i32, to_i64
from rocket_reference.mapped_file import MappedFile, wall_clock
from rocket_reference.mapped_file_queue import MappedFileQueue
from rocket_reference.record_bytes import BORN_HOST_V6

_INT: Final = Struct(">i")
_MAGIC_POSITION: Final = 4
_SYS_FLAG_POSITION: Final = 36
_RECOVERED_FILES: Final = 3


def store_timestamp_position(sys_flag: int) -> int:
    """The position of a record's store timestamp, bytes from its start (LOG-REC-2)."""
    return 48 + (20 if sys_flag & BORN_HOST_V6 else 8)


class CommitLogFiles:
    """The files of a commit log.

    Args:
        directories: where they are, `commitlog` or several (STORE-17).
        mapped_file_size: length of each, bytes (1 GiB).
        clock: ms since the epoch.
    """

    def __init__(
        self,
        directories: Sequence[str | os.PathLike[str]],
        mapped_file_size: int,
        *,
        clock: Callable[[], int] = wall_clock,
    ) -> None:
        self.files = MappedFileQueue(directories[0], mapped_file_size, others=directories[1:], clock=clock)

    def load(self) -> bool:
        """As `MappedFileQueue.load`; False stops the start of a broker. Source: load 128-132."""
        return self.files.load()

    def close(self) -> None:
        """Unmaps the files, as the end of the process does."""
        self.files.close()

    # --- reading --------------------------------------------------------------------------------------

    def min_offset(self) -> int:
        """Offset of the first byte; -1 without files. Source: getMinOffset 914-925."""
        first = self.files.first()
        if first is None:
            return -1
        return first.file_from_offset if first.available else self.roll_next_file(first.file_from_offset)

    def max_offset(self) -> int:
        """Offset after the last byte. Source: getMaxOffset 168-170."""
        return self.files.max_offset()

    def roll_next_file(self, offset: int) -> int:
        """Offset of the file after the one that holds `offset`. Source: rollNextFile 937-940."""
        size = self.files.mapped_file_size
        return to_i64(offset + size - rem(offset, size))

    def find(self, offset: int, *, first_on_not_found: bool) -> tuple[MappedFile, int] | None:
        """The file that holds an offset, and the position in it. Source: getData 201-211."""
        mapped_file = self.files.find(offset, first_on_not_found=first_on_not_found)
        if mapped_file is None:
            return None
        return mapped_file, to_i32(rem(offset, self.files.mapped_file_size))

    def message(self, offset: int, size: int) -> bytes | None:
        """`size` bytes at an offset; None when not all of them are written.

        Raises JavaError: IllegalArgumentException for a negative size.
        Source: getMessage 927-935; MappedFile.selectMappedBuffer 377-397.
        """
        found = self.find(offset, first_on_not_found=offset == 0)
        if found is None:
            return None
        mapped_file, position = found
        if to_i32(position + size) > mapped_file.wrote_position:
            return None
        if position < 0 or size < 0 or position + size > mapped_file.file_size:
            raise JavaError("IllegalArgumentException", f"{size} bytes at {position}")
        return bytes(mapped_file.view[position : position + size])

    def message_at(self, offset: int) -> bytes | None:
        """The bytes of a record at an offset, by its own size; None when they are not all written.

        Raises JavaError: IllegalArgumentException for a negative size.
        Source: DefaultMessageStore.lookMessageByOffset 786-799.
        """
        head = self.message(offset, _INT.size)
        return None if head is None else self.message(offset, _INT.unpack(head)[0])

    def pickup_store_timestamp(self, offset: int, size: int) -> int:
        """Store timestamp of the record at an offset, ms; -1 below the minimum or where none is written.

        Raises JavaError: IndexOutOfBoundsException for a size too small to hold it.
        Source: pickupStoreTimestamp 896-912.
        """
        data = self.message(offset, size) if offset >= self.min_offset() else None
        if data is None:
            return -1
        return _store_timestamp(bytearray(data))

    # --- recovery -------------------------------------------------------------------------------------

    def recover_normally(self, *, check_crc: bool, delay_levels: Sequence[int]) -> int:
        """Reads the last three files, cuts the log after the last whole record, and returns that offset.

        Source: recoverNormally 216-280, to 266. Clauses STORE-6, STORE-7, STORE-8.
        """
        index = max(0, len(self.files.mapped_files) - _RECOVERED_FILES)
        return self._recover(index, lambda _request: None, check_crc=check_crc, delay_levels=delay_levels)

    def recover_abnormally(
        self,
        dispatch: Callable[[DispatchRequest], None],
        *,
        safe_timestamp: int,
        check_crc: bool,
        delay_levels: Sequence[int],
    ) -> int:
        """Dispatches again from a safe file on, cuts the log as `recover_normally`, and returns that offset.

        The file is the newest whose first record was stored at or before `safe_timestamp`, else the first.

        Args:
            dispatch: what to do with each record.
            safe_timestamp: the checkpoint's, ms.
            check_crc: compare bodies with their checksums (`checkCRCOnRecover`).
            delay_levels: empty in 4.9.3, which reads them only after it recovered.

        Raises:
            JavaError: whatever leaves a dispatch; IndexOutOfBoundsException for files too small for a record.

        Source: recoverAbnormally 467-547, to 536. Clauses STORE-11, STORE-12, STORE-15.
        """
        files = self.files.mapped_files
        index = len(files) - 1
        while index > 0 and not _matched_recover(files[index], safe_timestamp):
            index -= 1
        if index == 0:
            _matched_recover(files[0], safe_timestamp)  # what it throws leaves; its answer changes nothing
        return self._recover(index, dispatch, check_crc=check_crc, delay_levels=delay_levels)

    def _recover(
        self,
        index: int,
        dispatch: Callable[[DispatchRequest], None],
        *,
        check_crc: bool,
        delay_levels: Sequence[int],
    ) -> int:
        process_offset = 0
        for mapped_file in self.files.mapped_files[index:]:
            whole = 0
            cursor = Cursor(mapped_file.view)
            while True:
                request = next_request(cursor, check_crc=check_crc, delay_levels=delay_levels)
                if not request.success or request.msg_size == 0:
                    break
                whole += request.msg_size
                dispatch(request)
            process_offset = to_i64(mapped_file.file_from_offset + whole)
            if not request.success:
                break
        self.files.truncate_dirty_files(process_offset)
        return process_offset


def _matched_recover(mapped_file: MappedFile, safe_timestamp: int) -> bool:
    """Whether a file's first record was handled according to the checkpoint.

    Source: isMappedFileMatchedRecover 549-585. Clause STORE-11.
    """
    buffer = MappedBuffer(mapped_file.view, mapped_file.file_size)
    if buffer.get_int(_MAGIC_POSITION) != MESSAGE_MAGIC:
        return False
    store_timestamp = buffer.get_long(store_timestamp_position(buffer.get_int(_SYS_FLAG_POSITION)))
    return store_timestamp != 0 and store_timestamp <= safe_timestamp


def _store_timestamp(data: bytearray) -> int:
    buffer = MappedBuffer(data, len(data))
    return buffer.get_long(store_timestamp_position(buffer.get_int(_SYS_FLAG_POSITION)))
