"""What a start of 4.9.3 does to consume queues, read off their files beforehand.

Read beside `ConsumeQueue.recover` 98-161, `truncateDirtyLogicFiles` 229-303 and `DefaultMessageStore.start` 217-250.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Final, NamedTuple

import numpy as np
from rocket_spec.layout import PRE_BLANK_SIZE, QUEUE_UNIT

from rocket_columnar.formats import UNIT_DTYPE
from rocket_columnar.restart.unit_reader import each_units
from rocket_columnar.store import StoreFile, WorkDone, by_queue, read_at, size_of

_SIZE: Final = QUEUE_UNIT.size
_FILES: Final = 3  # `recover` begins at the third file from the end


@dataclass(frozen=True, slots=True)
class LostUnits:
    """Neighbouring units that a start takes out of a queue.

    Attributes:
        topic: of the queue.
        queue_id: of the queue.
        first: logical offset of the first.
        count: how many.
        phy_offset: of the record that the first one points to, bytes.
        reason: why.
    """

    topic: str
    queue_id: int
    first: int
    count: int
    phy_offset: int
    reason: str


@dataclass(slots=True)
class QueueStart:
    """One queue as a start leaves it.

    Attributes:
        topic: of the queue.
        queue_id: of the queue.
        files: its files; those that are left.
        end: byte of the queue at which the next unit goes in.
        max_phy_offset: what the queue takes for the end of its last message, -1 without units.
        cuts: (byte of the queue from which on it is cut off, reason), in the order of the cuts.
        deleted: (file, reason) of each file that is deleted.
        endless: whether the start never comes to an end here.
    """

    topic: str
    queue_id: int
    files: list[StoreFile]
    end: int = 0
    max_phy_offset: int = -1
    cuts: list[tuple[int, str]] = field(default_factory=list)
    deleted: list[tuple[StoreFile, str]] = field(default_factory=list)
    endless: bool = False

    def lost(self, dispatch_from: int, log_end: int) -> list[LostUnits]:
        """Units after the end that no dispatch puts in again, whether the log has their records or not."""
        reason = self.cuts[-1][1] if self.cuts else "after the queue's end"
        found: list[LostUnits] = []
        for file in self.files:
            start = max(self.end - file.base_offset, 0) // _SIZE
            found += self._lost_of(file, start, reason, dispatch_from, log_end)
        for file, why in self.deleted:
            found += self._lost_of(file, 0, why, dispatch_from, log_end)
        return sorted(found, key=lambda lost: lost.first)

    def _lost_of(
        self, file: StoreFile, start: int, reason: str, dispatch_from: int, log_end: int
    ) -> Iterator[LostUnits]:
        """Those of one file, from unit `start` on, as runs of neighbours."""
        base = file.base_offset // _SIZE
        gone = enumerate(self._gone(file, start, dispatch_from, log_end))
        for _, run in groupby(gone, lambda placed: placed[1][0] - placed[0]):
            (_, (first, phy_offset)), *others = run
            count = 1 + len(others)
            yield LostUnits(self.topic, self.queue_id, base + first, count, phy_offset, reason)

    @staticmethod
    def _gone(file: StoreFile, start: int, dispatch_from: int, log_end: int) -> Iterator[tuple[int, int]]:
        """Number and physical offset of the units of a file that are not dispatched again, without pre-blank units."""
        for first, units in each_units(file, start):
            offset, size = units["phy_offset"].astype(np.int64), units["size"].astype(np.int32)
            gone = (offset >= 0) & (size > 0) & ~((offset == 0) & (size == PRE_BLANK_SIZE))
            chosen = np.flatnonzero(gone & ((offset < dispatch_from) | (offset >= log_end)))
            yield from zip((chosen + first).tolist(), offset[chosen].tolist(), strict=True)


def queue_starts(
    files: Sequence[StoreFile], log_end: int, work: WorkDone, *, has_log: bool
) -> list[QueueStart]:
    """All queues as a start leaves them.

    Args:
        files: the consume-queue files, all of one length.
        log_end: physical offset at which the start's walk over the log ends.
        work: counts the bytes of the files.
        has_log: whether there is a log file at all; else all queues are deleted.
    """
    queues = [QueueStart(*key, own) for key, own in by_queue(files).items()]
    sizes = [sum(size_of(file) or 0 for file in queue.files) for queue in queues]
    work.expect(sum(sizes))
    for queue, size in zip(queues, sizes, strict=True):
        _recover(queue)
        work.add(size)
    if not has_log:
        for queue in queues:
            queue.deleted += [(file, "there is no commit log") for file in queue.files]
            queue.files, queue.end, queue.max_phy_offset = [], 0, -1
    elif max((queue.max_phy_offset for queue in queues), default=-1) >= log_end:
        for queue in queues:
            _truncate(queue, log_end)
    return queues


def _recover(queue: QueueStart) -> None:
    """Walks the last three files to the first unit that 4.9.3 does not take; what comes after it is cut off."""
    queue.files.sort(key=lambda file: file.base_offset)
    for file in queue.files[-_FILES:]:
        taken = _taken(file)
        if taken.number:
            queue.max_phy_offset = taken.record_end
        queue.end = file.base_offset + taken.number * _SIZE
        if not taken.whole:
            break
    _cut(queue, queue.end, f"the unit at logical offset {queue.end // _SIZE:,} is not accepted by 4.9.3")


class _Taken(NamedTuple):
    """The units of a file up to the first that a walk stops at.

    Attributes:
        number: of the units.
        record_end: physical offset of the end of the last one's record, bytes; 0 without units.
        whole: whether they are all units of the file.
    """

    number: int
    record_end: int
    whole: bool


def _taken(file: StoreFile, *, below: int | None = None) -> _Taken:
    """The units before the first that is none.

    Args:
        file: of a queue.
        below: also stops at a unit of a record at or after this physical offset; then the first unit is taken, whatever
            it is (`ConsumeQueue.truncateDirtyLogicFiles` 229-303).
    """
    record_end, count = 0, 0
    for first, units in each_units(file, holes=True):
        offset, size = units["phy_offset"].astype(np.int64), units["size"].astype(np.int64)
        bad = (offset < 0) | (size <= 0)
        if below is not None:
            bad |= offset >= below
            bad[: 1 - min(first, 1)] = False
        stops = np.flatnonzero(bad)
        taken = int(stops[0]) if stops.size else units.size
        count = first + taken
        if taken:
            last = slice(taken - 1, taken)
            record_end = int((offset[last] + size[last])[0])  # wraps, as a long of Java
        if stops.size:
            return _Taken(count, record_end, whole=False)
    return _Taken(count, record_end, whole=True)


def _cut(queue: QueueStart, end: int, reason: str) -> None:
    """`MappedFileQueue.truncateDirtyFiles`: files that begin after the end are deleted."""
    after = [file for file in queue.files if file.base_offset > end]
    queue.deleted += [(file, reason) for file in after]
    queue.files = [file for file in queue.files if file.base_offset <= end]
    last = queue.files[-1] if queue.files else None
    if after or (last is not None and _holds_bytes(last, end - last.base_offset)):
        queue.cuts.append((end, reason))


def _holds_bytes(file: StoreFile, begin: int) -> bool:
    """Whether there is anything but zeros in the units from a byte of the file on."""
    with file.open() as reader:
        return reader.first_nonzero(begin, reader.size // _SIZE * _SIZE) is not None


def _truncate(queue: QueueStart, log_end: int) -> None:
    """Units of records from the log's end on go, file by file from the last."""
    reason = f"the log ends at physical offset {log_end:,}"
    queue.max_phy_offset = log_end
    before = queue.end
    while queue.files:
        file = queue.files[-1]
        ((offset, _, _),) = np.frombuffer(read_at(file, 0, _SIZE).ljust(_SIZE, b"\0"), UNIT_DTYPE).tolist()
        if offset >= log_end:
            queue.deleted.append((queue.files.pop(), reason))
            queue.end = file.base_offset
            continue
        taken = _taken(file, below=log_end)
        queue.endless = taken.number == 1 and taken.whole
        queue.end = file.base_offset + taken.number * _SIZE
        queue.max_phy_offset = taken.record_end
        break
    if queue.end < before:
        queue.cuts.append((queue.end, reason))
