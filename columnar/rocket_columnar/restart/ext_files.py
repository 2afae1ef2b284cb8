"""What a start of 4.9.3 with enableConsumeQueueExt does to ext files, read off them beforehand.

Read beside `ConsumeQueueExt.recover` 282-304, `truncateByMinAddress` 317-342 and `truncateByMaxAddress` 349-368, and what
calls them: `ConsumeQueue.recover` 98-161 and `correctMinOffset` 343-377.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from rocket_spec.layout import QUEUE_UNIT

from rocket_columnar.decode import LAST_ADDRESS
from rocket_columnar.formats import LONG_MIN, UNIT_DTYPE
from rocket_columnar.restart.recovery import Deletion
from rocket_columnar.store import read_at, size_of, usual_size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rocket_columnar.audit import Plan
    from rocket_columnar.restart.queues import QueueStart
    from rocket_columnar.store import StoreFile

__all__ = ["deleted_exts", "ext_refusal"]

_FILES: Final = 3  # `recover` begins at the third file from the end
_WINDOW: Final = 1 << 20

_Exts = dict[tuple[str | None, int | None], list["StoreFile"]]


def ext_refusal(plan: Plan) -> str | None:
    """The first ext file that ends the load: by its length, or since the walk over its units leads past its end.

    A start that cuts off units clears nothing. Where a shorter one is put in a longer one's place, the walk of the next
    start goes on in the midst of the old one.
    """
    sizes = [(file, size_of(file) or 0) for file in plan.exts]
    usual = usual_size([size for _, size in sizes]) if sizes else 0
    loaded = {(file.topic, file.queue_id) for file in plan.queues}
    for file, size in sizes:
        if (file.topic, file.queue_id) in loaded:
            if size != usual:
                return f"{file.name}: an ext file of {size:,} bytes among others of {usual:,}"
            if _walked(file, size) is None:
                return f"{file.name}: the walk over its units leads past its end"
    return None


def _walked(file: StoreFile, size: int) -> int | None:
    """Where the walk over a file's units ends, None where it throws."""
    position, begin, window = 0, 0, b""
    while position + 2 <= size:
        if position + 2 > begin + len(window):
            begin, window = position, read_at(file, position, _WINDOW)
        length = int.from_bytes(window[position - begin : position - begin + 2], signed=True)
        if length < 1:
            return position
        position += length
    return None


def deleted_exts(plan: Plan, queues: Sequence[QueueStart]) -> list[Deletion]:
    """Ext files behind the unit that a queue's last unit points to, and before what its first one points to."""
    exts: _Exts = {}
    for file in sorted(plan.exts, key=lambda one: one.base_offset):
        exts.setdefault((file.topic, file.queue_id), []).append(file)
    found = []
    for queue in queues:
        own = exts.get((queue.topic, queue.queue_id), [])
        if own and not plan.logs:
            found += [Deletion("delete", file.name, None, "there is no commit log") for file in own]
        elif own:
            files = [
                file for file in plan.queues if (file.topic, file.queue_id) == (queue.topic, queue.queue_id)
            ]
            found += _deleted(own, files, queue, plan.begin)
    return found


def _deleted(
    own: Sequence[StoreFile], files: list[StoreFile], queue: QueueStart, begin: int
) -> list[Deletion]:
    found = []
    files.sort(key=lambda file: file.base_offset)
    end = _end_of_last(own, _last_address(files))
    if end is not None:
        reason = f"it begins behind the ext unit of the queue's last unit, which ends at {end:,}"
        found += [Deletion("delete", file.name, None, reason) for file in own if file.base_offset > end]
    first = _first_address(queue, begin)
    if first is not None:
        reason = f"it ends before the ext unit of the queue's first message, at {first:,}"
        size = size_of(own[0]) or 0
        found += [
            Deletion("delete", file.name, None, reason) for file in own if file.base_offset + size < first
        ]
    return found


def _last_address(files: Sequence[StoreFile]) -> int | None:
    """Byte in the ext queue to which the last unit that `recover` walks over points."""
    found = None
    for file in files[-_FILES:]:
        raw = _units(file)
        bad = np.flatnonzero((raw["phy_offset"].astype(np.int64) < 0) | (raw["size"].astype(np.int32) <= 0))
        tags = raw["tags_code"].astype(np.int64)[: int(bad[0]) if bad.size else None]
        tags = tags[tags <= LAST_ADDRESS]
        if tags.size:
            found = int(tags[-1]) - LONG_MIN
        if bad.size:
            break
    return found


def _end_of_last(own: Sequence[StoreFile], address: int | None) -> int | None:
    """Where the ext unit at a byte of the ext queue ends; None where 4.9.3 finds none."""
    for number, file in enumerate(own):
        size = size_of(file) or 0
        place = -1 if address is None else address - file.base_offset
        if 0 <= place < size:
            if number == len(own) - 1 and place >= (_walked(file, size) or 0):
                return None
            length = int.from_bytes(read_at(file, place, 2), signed=True)
            return file.base_offset + place + length if length > 0 else None
    return None


def _first_address(queue: QueueStart, begin: int) -> int | None:
    """Byte in the ext queue to which the first unit points whose record the log still has, of the queue's first file."""
    if not queue.files:
        return None
    file = queue.files[0]
    raw = _units(file)[: max(queue.end - file.base_offset, 0) // QUEUE_UNIT.size]
    live = np.flatnonzero(raw["phy_offset"].astype(np.int64) >= begin)
    tags = int(raw["tags_code"][live[0]]) if live.size else 0
    return tags - LONG_MIN if tags <= LAST_ADDRESS else None


def _units(file: StoreFile) -> NDArray[np.void]:
    size = (size_of(file) or 0) // QUEUE_UNIT.size * QUEUE_UNIT.size
    return np.frombuffer(read_at(file, 0, size), UNIT_DTYPE)
