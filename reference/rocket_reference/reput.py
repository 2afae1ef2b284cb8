"""The reput: reading the commit log on from where dispatch stands, record by record.

Read beside `DefaultMessageStore.ReputMessageService` 1984-2180 of 4.9.3.

Theory of operation. One pass takes the rest of a file as one buffer, and asks `checkMessageAndReturnSize`
what comes next. After a length mismatch the count of bytes read does not move, so the pass reads off the buffer's end, fails there, and a master jumps by all that was
not counted: beyond the end of the log. What is appended up to there is never dispatched.
"""

from collections.abc import Callable, Sequence

from rocket_reference._cursor import Cursor
from rocket_reference.commit_log_store import CommitLogFiles
from rocket_reference.dispatch import DELAY_LEVELS, DispatchRequest, next_request
from rocket_reference.java import to_i64
from rocket_reference.mapped_file import MappedFile


class Reput:
    """The position of dispatch in the commit log.

    Args:
        log: the commit log.
        dispatch: what to do with each record.
        master: whether the broker's id is 0; only then bytes that cannot be read are jumped over.
        delay_levels: ms of the levels from 1 on.
        confirm_offset: nothing is dispatched from there on, None for no limit (`duplicationEnable`, STORE-18).
    """

    def __init__(
        self,
        log: CommitLogFiles,
        dispatch: Callable[[DispatchRequest], None],
        *,
        master: bool = True,
        delay_levels: Sequence[int] = DELAY_LEVELS,
        confirm_offset: int | None = None,
    ) -> None:
        self._log = log
        self._dispatch = dispatch
        self._master = master
        self._delay_levels = delay_levels
        self.confirm_offset = confirm_offset
        self.reput_from_offset = 0  # offset of the next record

    def behind(self) -> int:
        """Bytes of the log that are not dispatched; below 0 after a jump. Source: behind 2016-2018."""
        return to_i64(self._log.max_offset() - self.reput_from_offset)

    def reput(self) -> None:
        """One run: up to the end of the log, or to what cannot be read.

        Raises JavaError: what a dispatch throws; the offset then is that of the record, so that the next run meets it
        again.
        Raises JavaFatalError of a dispatch, or a record of huge size; no further run follows (LOG-DSP-15).
        Source: doReput 2031-2101. Clauses LOG-DSP-8 .. LOG-DSP-11, LOG-DSP-14, LOG-DSP-16.
        """
        self.reput_from_offset = max(self.reput_from_offset, self._log.min_offset())  # LOG-DSP-9
        do_next = True
        while do_next and self.reput_from_offset < self._log.max_offset():
            offset = self.reput_from_offset
            if self.confirm_offset is not None and offset >= self.confirm_offset:  # STORE-18
                return
            found = self._log.find(offset, first_on_not_found=offset == 0)
            if found is None:
                return
            mapped_file, position = found
            if not 0 <= position < mapped_file.wrote_position:
                return
            self.reput_from_offset = to_i64(mapped_file.file_from_offset + position)
            do_next = self._buffer(mapped_file, position)

    def _buffer(self, mapped_file: MappedFile, position: int) -> bool:
        """The records from a position on to the end of what is written; whether to go on after them."""
        size = mapped_file.wrote_position - position
        cursor = Cursor(mapped_file.view, position, mapped_file.wrote_position)
        read_size = 0
        while read_size < size:
            request = next_request(cursor, read_body=False, delay_levels=self._delay_levels)
            if request.success and request.msg_size > 0:
                self._dispatch(request)
                self.reput_from_offset = to_i64(self.reput_from_offset + request.msg_size)
                read_size += request.msg_size
            elif request.success:  # a blank
                self.reput_from_offset = to_i64(self._log.roll_next_file(self.reput_from_offset))
                return True
            elif request.msg_size > 0:  # LOG-DSP-10: lengths that do not add up; read on after the fields
                self.reput_from_offset = to_i64(self.reput_from_offset + request.msg_size)
            else:  # LOG-DSP-11
                if self._master:
                    self.reput_from_offset = to_i64(self.reput_from_offset + size - read_size)
                return False
        return True
