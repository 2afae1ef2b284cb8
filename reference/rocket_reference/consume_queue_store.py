"""A consume queue in its directory: put, get, and what a start of the broker does to its files.

Read beside `org.apache.rocketmq.store.ConsumeQueue` of 4.9.3.

Theory of operation. Three values live in memory alone and are found again from the units: the write
position, the minimum, and the greatest commit-log offset seen (`max_physic_offset`, the end of the record
that the last unit points to). A put trusts the last of them: whatever ends at or before it was put before.

    load      every file counts as full, minimum 0, max_physic_offset -1
    recover   the last three files are read; the write position is after the last valid unit
    truncate  units of records at or after a commit-log offset go; always after recover
    correct   the minimum moves to the first unit whose record is still in the commit log

Files shrink and grow only by the write position. Bytes after it stay, and a later recover may find them.
"""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rocket_reference._cursor import Cursor
from rocket_reference._minimum_unit import minimum_by_halves
from rocket_reference._nearest_unit import nearest_unit, next_unit
from rocket_reference.consume_queue import PRE_BLANK, UNIT_SIZE, QueueUnit, encode_queue_unit
from rocket_reference.consume_queue_ext import is_ext_address
from rocket_reference.consume_queue_ext_store import ConsumeQueueExt
from rocket_reference.errors import JavaError, UnspecifiedError
from rocket_reference.java import div, rem, to_i32, to_i64
from rocket_reference.mapped_file import MappedFile, wall_clock
from rocket_reference.mapped_file_queue import MappedFileQueue, queue_directory
from rocket_reference.rules import RULES_4_9_3, Rules

_NO_ADDRESS: Final = 1  # a number that is not an ext address


@dataclass(frozen=True, slots=True)
class QueueBounds:
    """The bounds of a queue."""

    min: int  # least logical offset that a get answers
    max: int  # logical offset that the next put gets
    max_physic_offset: int  # end of the record of the last unit, bytes; -1 before there was any


class ConsumeQueue:
    """A queue of a topic; nothing is read or made before `load` or the first put.

    Args:
        root: the directory of all queues, `consumequeue`.
        topic: name of the topic.
        queue_id: number of the queue.
        mapped_file_size: length of its files, bytes, a whole number of units: `queue_file_size` of the
            configured one (CQ-FILE-1).
        ext: where the ext units go, when they are enabled.
        clock: ms since the epoch.
        rules: of the release.

    Source: ConsumeQueue 50-80.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        topic: str,
        queue_id: int,
        mapped_file_size: int,
        *,
        ext: ConsumeQueueExt | None = None,
        clock: Callable[[], int] = wall_clock,
        rules: Rules = RULES_4_9_3,
    ) -> None:
        self.topic = topic
        self.queue_id = queue_id
        self._rules = rules
        self.files = MappedFileQueue(
            queue_directory(root, topic, queue_id), mapped_file_size, clock=clock, rules=rules
        )
        self.ext = ext
        self.max_physic_offset = -1  # end of the record of the last unit, bytes
        self.min_logic_offset = 0  # byte offset in the queue of its first unit

    @property
    def mapped_file_size(self) -> int:
        """Length of the queue's files, bytes."""
        return self.files.mapped_file_size

    def load(self) -> bool:
        """Maps the queue's files; False when one has another length, which stops the start of a broker.

        Raises JavaError: NumberFormatException for a file whose name is no number.
        Source: load 82-89. Clauses CQ-LOAD-1, CQ-LOAD-2.
        """
        loaded = self.files.load()
        if self.ext is not None:
            loaded &= self.ext.load()
        return loaded

    def bounds(self) -> QueueBounds:
        """Minimum, maximum and max_physic_offset as they are in memory.

        Source: getMinOffsetInQueue 378-380; getMaxOffsetInQueue 619-621; getMaxPhysicOffset.
        Clause CQ-BND-1.
        """
        return QueueBounds(
            div(self.min_logic_offset, UNIT_SIZE),
            div(self.files.max_offset(), UNIT_SIZE),
            self.max_physic_offset,
        )

    # --- put ------------------------------------------------------------------------------------------

    def put(self, offset: int, size: int, tags_code: int, cq_offset: int) -> bool:
        """Appends a unit, unless it was appended before; False when the file for it cannot be made.

        The unit goes to the write position, which need not be the place of `cq_offset`: a gap is logged
        and closed. What counts as put before, and is answered with True: a record that ends at or before
        max_physic_offset, and a logical offset, other than 0, before the write position.

        Args:
            offset: physical offset of the record, bytes.
            size: its length.
            tags_code: as the unit stores it.
            cq_offset: logical offset that the record asks for.

        Raises:
            JavaError: ArithmeticException, IllegalArgumentException for files of length 0 or less.

        Source: putMessagePositionInfo 481-530. Clauses CQ-PUT-1 .. CQ-PUT-8.
        """
        end = self._end(offset, size)
        if end <= self.max_physic_offset:  # CQ-PUT-1
            return True
        expected = to_i64(cq_offset * UNIT_SIZE)  # CQ-PUT-8
        mapped_file = self.files.last_for_write(expected)  # CQ-PUT-5
        if mapped_file is None:
            return False
        if mapped_file.first_create_in_queue and cq_offset != 0 and mapped_file.wrote_position == 0:
            self.min_logic_offset = expected  # CQ-PUT-6
            self._fill_pre_blank(mapped_file, expected)
        if cq_offset != 0 and self._rules.skips_repeats:  # CQ-PUT-4
            current = to_i64(mapped_file.wrote_position + mapped_file.file_from_offset)
            if expected < current:  # CQ-PUT-2; above it the gap is closed: CQ-PUT-3
                return True
        self.max_physic_offset = end  # CQ-PUT-7; before the append
        return mapped_file.append(encode_queue_unit(QueueUnit(offset, size, tags_code)))

    def _end(self, offset: int, size: int) -> int:
        """The max_physic_offset after a unit: the end of its record, its beginning before 4.5.0."""
        return to_i64(offset + size) if self._rules.remembers_ends else offset

    def _fill_pre_blank(self, mapped_file: MappedFile, until_where: int) -> None:
        """Pre-blank units up to the place of `until_where` in *its* file, though it may be another one.

        Source: fillPreBlank 532-542. Clauses CQ-UNIT-2, CQ-PUT-6.
        """
        until = to_i32(rem(until_where, self.mapped_file_size))
        for _ in range(0, until, UNIT_SIZE):
            mapped_file.append(encode_queue_unit(PRE_BLANK))

    # --- get ------------------------------------------------------------------------------------------

    def get(self, cq_offset: int) -> QueueUnit | None:
        """The unit of a logical offset; None below the minimum, or where none is written.

        Raises JavaError: BufferUnderflowException where less than a unit is written, which takes a logical offset
        whose byte offset overflows.
        Source: getIndexBuffer 544-555. Clause CQ-GET-1.
        """
        offset = to_i64(cq_offset * UNIT_SIZE)
        if offset < self.min_logic_offset:
            return None
        mapped_file = self.files.find(offset)
        if mapped_file is None:
            return None
        data = mapped_file.select(to_i32(rem(offset, self.mapped_file_size)), UNIT_SIZE)
        return None if data is None else next_unit(Cursor(data))

    def last_offset(self) -> int:
        """End of the record of the last valid unit, read from the unit before the write position on; else -1.

        The scan stops at the first unit that is not valid, and goes through bytes after the write
        position, left there by a truncate.

        Raises JavaError: BufferUnderflowException when valid units reach the end of the file, unless the scan began
        at the file's first unit.
        Source: getLastOffset 299-326. Clauses CQ-LAST-1, CQ-LAST-2.
        """
        found = -1
        mapped_file = self.files.last()
        if mapped_file is None:
            return found
        cursor = Cursor(mapped_file.view, max(0, mapped_file.wrote_position - UNIT_SIZE))
        for _ in range(0, self.mapped_file_size, UNIT_SIZE):
            unit = next_unit(cursor)
            if not unit.valid:
                break
            found = to_i64(unit.phy_offset + unit.size)
        return found

    def offset_by_time(
        self,
        timestamp: int,
        last_modified: Callable[[Path], int],
        store_timestamp: Callable[[int, int], int],
        min_phy_offset: int,
    ) -> int:
        """The logical offset of the unit whose record was stored nearest to a time; 0 when there is none.

        The first file modified at or after that time is searched, by halves, else the last. Of two
        neighbours the earlier is taken unless the later is nearer.

        Args:
            timestamp: ms since the epoch.
            last_modified: ms of a file's last modification.
            store_timestamp: store timestamp of the record of a physical offset and length, -1 if unreadable:
                `CommitLog.pickupStoreTimestamp`.
            min_phy_offset: least offset in the commit log, bytes.

        Source: getOffsetInQueueByTime 159-226; MappedFileQueue.getMappedFileByTime 78-92.
        Clauses CQ-TIME-1, CQ-TIME-2.
        """
        files = self.files.mapped_files
        if not files:
            return 0
        mapped_file = next((file for file in files if last_modified(file.path) >= timestamp), files[-1])
        data = mapped_file.select(0)
        if data is None:
            return 0
        first = mapped_file.file_from_offset
        low = to_i32(self.min_logic_offset - first) if self.min_logic_offset > first else 0
        position = nearest_unit(data, low, timestamp, store_timestamp, min_phy_offset)
        return 0 if position is None else div(to_i64(first + position), UNIT_SIZE)

    # --- start and clean-up ---------------------------------------------------------------------------

    def recover(self) -> None:
        """Finds the write position again: after the last valid unit, from the third file from the end on.

        The first unit that is not valid ends it, and files after that one's are deleted. A pre-blank unit
        is valid. Where even the last file is valid to its end, its write position stays what it was.

        Source: recover 91-157. Clauses CQ-REC-1 .. CQ-REC-4.
        """
        files = self.files.mapped_files
        if not files:
            return
        address = _NO_ADDRESS
        process_offset = 0
        for mapped_file in files[max(0, len(files) - 3) :]:
            valid = 0
            for unit in self._units(mapped_file):
                if not unit.valid:
                    break
                valid += UNIT_SIZE
                self.max_physic_offset = self._end(unit.phy_offset, unit.size)
                address = unit.tags_code if is_ext_address(unit.tags_code) else address
            process_offset = to_i64(mapped_file.file_from_offset + valid)
            if valid != self.mapped_file_size:
                break
        self.files.truncate_dirty_files(process_offset)
        if self.ext is not None:
            self.ext.recover()
            self.ext.truncate_by_max_address(address)

    def truncate(self, phy_offset: int) -> None:
        """Removes the units of records at or after `phy_offset`, from the last file backward.

        A file whose first unit is such a one is deleted; that unit is not checked for validity. In the
        last file that is left, the first unit that is invalid, or such a one, is the end. Bytes stay.
        Leaves max_physic_offset at the end of the last unit kept, or at `phy_offset` when none is.

        Raises UnspecifiedError where 4.9.3 never ends: a file of one unit that is kept, or of none.
        Source: truncateDirtyLogicFiles 228-297. Clauses CQ-TRUNC-1 .. CQ-TRUNC-7.
        """
        self.max_physic_offset = to_i64(phy_offset - (not self._rules.remembers_ends))
        address = _NO_ADDRESS
        while (mapped_file := self.files.last()) is not None:
            if self.mapped_file_size <= UNIT_SIZE and self._keeps_first_unit(mapped_file, phy_offset):
                raise UnspecifiedError("truncating a queue of one-unit files never ends")
            mapped_file.wrote_position = 0
            for number, unit in enumerate(self._units(mapped_file)):
                if number == 0 and unit.phy_offset >= phy_offset:
                    self.files.delete_last()
                    break
                if number > 0 and (not unit.valid or unit.phy_offset >= phy_offset):
                    return  # and the ext units stay (CQ-EXT-7)
                mapped_file.wrote_position = (number + 1) * UNIT_SIZE
                self.max_physic_offset = self._end(unit.phy_offset, unit.size)
                address = unit.tags_code if is_ext_address(unit.tags_code) else address
                if number > 0 and mapped_file.full:
                    return
        if self.ext is not None:
            self.ext.truncate_by_max_address(address)

    def _keeps_first_unit(self, mapped_file: MappedFile, phy_offset: int) -> bool:
        return all(unit.phy_offset < phy_offset for unit in self._units(mapped_file))

    def correct_min(self, phy_min_offset: int) -> None:
        """Moves the minimum to the first file's first unit whose record is at or after `phy_min_offset`.

        Validity is not looked at, so a pre-blank unit counts as one of record 0. Where no unit of the
        first file qualifies, the minimum stays.

        Source: correctMinOffset 343-376. Clauses CQ-MIN-1, CQ-MIN-2.
        """
        if self._rules.resets_empty and not self.files.mapped_files:
            self.min_logic_offset, self.max_physic_offset = 0, -1
        if self._rules.searches_minimum:
            self.min_logic_offset, found = minimum_by_halves(
                self.files, self.min_logic_offset, phy_min_offset, self._rules
            )
            if self.ext is not None and found is not None:
                is_address = is_ext_address(found.tags_code)
                self.ext.truncate_by_min_address(found.tags_code if is_address else _NO_ADDRESS)
            return
        mapped_file = self.files.first()
        address = _NO_ADDRESS
        data = mapped_file.select(0) if mapped_file else None
        if mapped_file and data is not None:
            cursor = Cursor(data)
            try:
                for position in range(0, len(data), UNIT_SIZE):
                    unit = next_unit(cursor)
                    if unit.phy_offset >= phy_min_offset:
                        self.min_logic_offset = to_i64(mapped_file.file_from_offset + position)
                        address = unit.tags_code if is_ext_address(unit.tags_code) else address
                        break
            except JavaError:
                pass  # caught and logged: less than a unit is left
        if self.ext is not None:
            self.ext.truncate_by_min_address(address)

    def delete_expired(self, phy_offset: int) -> int:
        """Deletes files whose last unit's record is before `phy_offset`, then corrects the minimum.

        Returns:
            how many files were deleted; never the last one.

        Source: deleteExpiredFile 337-341; MappedFileQueue.deleteExpiredFileByOffset 405-447.
        Clause CQ-DEL-1.
        """
        deleted = self.files.delete_expired_by_offset(phy_offset, UNIT_SIZE)
        self.correct_min(phy_offset)
        return deleted

    def destroy(self) -> None:
        """Deletes the queue's files and directory. Source: destroy 607-614."""
        self.max_physic_offset = -1
        self.min_logic_offset = 0
        self.files.destroy()
        if self.ext is not None:
            self.ext.destroy()

    def close(self) -> None:
        """Unmaps the files, as the end of the process does."""
        self.files.close()
        if self.ext is not None:
            self.ext.close()

    def _units(self, mapped_file: MappedFile) -> Iterator[QueueUnit]:
        """Every unit of a file, written or not."""
        cursor = Cursor(mapped_file.view)
        for _ in range(0, self.mapped_file_size, UNIT_SIZE):
            yield next_unit(cursor)
