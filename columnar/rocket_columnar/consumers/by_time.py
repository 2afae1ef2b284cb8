"""The logical offset that a broker gives for a time in a queue (CQ-TIME-1, CQ-TIME-2)."""

import struct
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rocket_spec.errors import UsageError
from rocket_spec.layout import QUEUE_UNIT

from rocket_columnar.describe import QueueView, queue_views
from rocket_columnar.facts import Store, as_store
from rocket_columnar.query import CommitLog
from rocket_columnar.store import StoreFile, by_queue, read_at, size_of

_UNIT: Final = struct.Struct(QUEUE_UNIT.struct_format)
_SYS_FLAG: Final = 36  # its place in a record
_BORN_HOST_IPV6: Final = 16


@dataclass(frozen=True, slots=True)
class OffsetAtTime:
    """The answer of a broker, and how it came to it.

    Attributes:
        topic: of the queue.
        queue_id: number of the queue.
        time: the time asked for, ms.
        offset: the logical offset of the unit whose record was stored nearest to it; 0 if there is none.
        file: the file that was searched; None for a queue without files.
        store_timestamp: when the record of the unit was stored, ms; None if no unit was found.
        why: what decided the answer.
    """

    topic: str
    queue_id: int
    time: int
    offset: int
    file: str | None
    store_timestamp: int | None
    why: str


def offset_at(store: Store | Path | str, topic: str, queue_id: int, time: int, **known: Any) -> OffsetAtTime:
    """The logical offset that a broker of 4.9.3 answers when a consumer, or `mqadmin resetOffsetByTime`, asks for a time.

    Args:
        store: the store, or its directory.
        topic: of the queue.
        queue_id: number of the queue.
        time: ms since 1970.
        known: of a directory, as for `Store`.

    Raises:
        UsageError: no store, or no such queue.
        OSError: a file cannot be read.

    Source: `ConsumeQueue.getOffsetInQueueByTime` 159-226; `MappedFileQueue.getMappedFileByTime` 78-92.
    """
    store = as_store(store, **known)
    views, path = store.once(queue_views), store.path or Path()
    view, files = views.get((topic, queue_id)), by_queue(store.queues).get((topic, queue_id))
    if view is None or not files:
        raise UsageError(f"{path}: no queue {queue_id} of topic {topic}")
    modified = (file for file in files if file.path.stat().st_mtime_ns // 1_000_000 >= time)
    file = next(modified, files[-1])
    with ExitStack() as stack:
        search = _Search(file, view, CommitLog(store, stack), time)
        position, why = search.run()
    number, found = 0, None
    if position is not None:
        # Java divides toward zero: one unit before the first file's first is 0.
        number = max((file.base_offset + position) // QUEUE_UNIT.size, 0) if position >= 0 else 0
        number = (file.base_offset - 1) // QUEUE_UNIT.size if position < 0 and file.base_offset else number
        found = search.times.get(position)
    return OffsetAtTime(topic, queue_id, time, number, file.name, found, why)


class _Search:
    """The binary search in one file; positions are bytes."""

    def __init__(self, file: StoreFile, queue: QueueView, log: CommitLog, time: int) -> None:
        written = min(queue.max_offset * QUEUE_UNIT.size - file.base_offset, size_of(file) or 0)
        self._low = max(0, queue.min_offset * QUEUE_UNIT.size - file.base_offset)
        self._file = file
        self._written = max(written, 0) // QUEUE_UNIT.size * QUEUE_UNIT.size
        self._log = log
        self._time = time
        bounds = log.range
        self._begin = 0 if bounds is None else bounds[0]
        self.times: dict[int, int] = {}

    def run(self) -> tuple[int | None, str]:
        """The position of the unit found, -1 for none, None where a record cannot be read; and the reason."""
        size, low, high = QUEUE_UNIT.size, self._low, self._written - QUEUE_UNIT.size
        left = right = -1
        before = after = None
        while high >= low:
            middle = (low + high) // (2 * size) * size
            phy_offset, length, _ = self._unit(middle)
            if phy_offset < self._begin:
                low, left = middle + size, middle
                continue
            stored = self._stored(phy_offset, length)
            if stored is None or stored < 0:
                return (
                    None,
                    f"the record at physical offset {phy_offset:,} is not in the log: the answer is 0",
                )
            self.times[middle] = stored
            if stored == self._time:
                return middle, "its record was stored at that time"
            if stored > self._time:
                high, right, after = middle - size, middle, stored
            else:
                low, left, before = middle + size, middle, stored
        if before is None:
            return (
                right,
                "all records of the file were stored later"
                if right >= 0
                else "no unit has a record in the log",
            )
        if after is None:
            return left, "all records of the file were stored before"
        nearer = right if self._time - before > after - self._time else left
        return nearer, f"its record was stored nearest: its neighbours at {before} and {after} ms"

    def _unit(self, position: int) -> tuple[int, int, int]:
        """One unit: the file may be terabytes of holes."""
        with self._file.open() as reader:
            phy_offset, length, code = _UNIT.unpack(reader.read(position, QUEUE_UNIT.size).tobytes())
        return phy_offset, length, code

    def _stored(self, phy_offset: int, length: int) -> int | None:
        """Store timestamp at its place in the record, whatever else the bytes are; None outside the log."""
        bounds = self._log.range
        file = self._log.file_at(phy_offset)
        if file is None or bounds is None or phy_offset + length > bounds[1]:
            return None
        head = read_at(file, phy_offset - file.base_offset, 76)
        if len(head) < 76 or length < 64:
            return None
        ipv6 = int.from_bytes(head[_SYS_FLAG : _SYS_FLAG + 4]) & _BORN_HOST_IPV6
        at = 68 if ipv6 else 56
        return int.from_bytes(head[at : at + 8], signed=True)
