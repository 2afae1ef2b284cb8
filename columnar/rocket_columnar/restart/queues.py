"""What a start of 4.9.3 does to consume queues, read off their files beforehand.

Read beside `ConsumeQueue.recover` 98-161, `truncateDirtyLogicFiles` 229-303 and `DefaultMessageStore.start` 217-250.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np
from rocket_spec.layout import PRE_BLANK_SIZE, QUEUE_UNIT

from rocket_columnar.formats import UNIT_DTYPE
from rocket_columnar.store import read_at, size_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rocket_columnar.store import StoreFile

__all__ = ["LostUnits", "QueueStart", "queue_starts"]

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
        """Units behind the end that no dispatch puts in again, with their record in the log or without."""
        found = []
        for file, reason in [*((file, self._reason()) for file in self.files), *self.deleted]:
            offset, valid = _units(file)
            start = max(self.end - file.base_offset, 0) // _SIZE if file in self.files else 0
            gone = np.flatnonzero(valid & ((offset < dispatch_from) | (offset >= log_end)))
            gone = gone[gone >= start]
            for part in np.split(gone, np.flatnonzero(np.diff(gone) != 1) + 1):
                if part.size:
                    first = file.base_offset // _SIZE + int(part[0])
                    phy_offset = int(offset[part[0]])
                    found.append(
                        LostUnits(self.topic, self.queue_id, first, int(part.size), phy_offset, reason)
                    )
        return sorted(found, key=lambda one: one.first)

    def _reason(self) -> str:
        return self.cuts[-1][1] if self.cuts else "behind the queue's end"


def _units(file: StoreFile) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Offsets of the units of a file, and which of them 4.9.3 takes for units, pre-blanks aside."""
    raw = np.frombuffer(_bytes(file), UNIT_DTYPE)
    offset, size = raw["phy_offset"].astype(np.int64), raw["size"].astype(np.int32)
    return offset, (offset >= 0) & (size > 0) & ~((offset == 0) & (size == PRE_BLANK_SIZE))


def _bytes(file: StoreFile) -> bytes:
    size = size_of(file) or 0
    return read_at(file, 0, size // _SIZE * _SIZE)


def queue_starts(files: Sequence[StoreFile], log_end: int, *, has_log: bool) -> list[QueueStart]:
    """All queues as a start leaves them.

    Args:
        files: the consume-queue files, all of one length.
        log_end: physical offset at which the start's walk over the log ends.
        has_log: whether there is a log file at all; else all queues are deleted.
    """
    queues: dict[tuple[str, int], QueueStart] = {}
    for file in files:
        if file.topic is not None and file.queue_id is not None:
            key = file.topic, file.queue_id
            queues.setdefault(key, QueueStart(*key, [])).files.append(file)
    for queue in queues.values():
        _recover(queue)
    if not has_log:
        for queue in queues.values():
            queue.deleted += [(file, "there is no commit log") for file in queue.files]
            queue.files, queue.end, queue.max_phy_offset = [], 0, -1
    elif max((queue.max_phy_offset for queue in queues.values()), default=-1) >= log_end:
        for queue in queues.values():
            _truncate(queue, log_end)
    return list(queues.values())


def _recover(queue: QueueStart) -> None:
    """Walks the last three files to the first unit that is none; what lies behind is cut off."""
    queue.files.sort(key=lambda file: file.base_offset)
    for file in queue.files[-_FILES:]:
        raw = np.frombuffer(_bytes(file), UNIT_DTYPE)
        offset, size = raw["phy_offset"].astype(np.int64), raw["size"].astype(np.int64)
        bad = np.flatnonzero((offset < 0) | (size <= 0))
        count = int(bad[0]) if bad.size else raw.size
        if count:
            queue.max_phy_offset = int(offset[count - 1] + size[count - 1])
        queue.end = file.base_offset + count * _SIZE
        if bad.size:
            break
    reason = f"the unit at logical offset {queue.end // _SIZE:,} is none that 4.9.3 takes"
    _cut(queue, queue.end, reason)


def _cut(queue: QueueStart, end: int, reason: str) -> None:
    """`MappedFileQueue.truncateDirtyFiles`: files that begin behind the end are deleted."""
    behind = [file for file in queue.files if file.base_offset > end]
    queue.deleted += [(file, reason) for file in behind]
    queue.files = [file for file in queue.files if file.base_offset <= end]
    last = queue.files[-1] if queue.files else None
    if behind or (last is not None and any(_bytes(last)[end - last.base_offset :])):
        queue.cuts.append((end, reason))


def _truncate(queue: QueueStart, log_end: int) -> None:
    """Units of records from the log's end on go, file by file from the last."""
    reason = f"the log ends at physical offset {log_end:,}"
    queue.max_phy_offset = log_end
    before = queue.end
    while queue.files:
        file = queue.files[-1]
        raw = np.frombuffer(_bytes(file), UNIT_DTYPE)
        offset, size = raw["phy_offset"].astype(np.int64), raw["size"].astype(np.int64)
        if offset[0] >= log_end:
            queue.deleted.append((queue.files.pop(), reason))
            queue.end = file.base_offset
            continue
        stops = np.flatnonzero((offset < 0) | (size <= 0) | (offset >= log_end))
        stops = stops[stops > 0]  # the first unit is kept, whatever it is
        count = int(stops[0]) if stops.size else raw.size
        queue.endless = raw.size == 1
        queue.end = file.base_offset + count * _SIZE
        queue.max_phy_offset = int(offset[count - 1] + size[count - 1])
        break
    if queue.end < before:
        queue.cuts.append((queue.end, reason))
