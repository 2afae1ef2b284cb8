"""Predicts what a start of 4.9.3 with enableConsumeQueueExt does to ext files.

Read beside `ConsumeQueueExt.recover` 282-304, `truncateByMinAddress` 317-342 and `truncateByMaxAddress` 349-368, and what
calls them: `ConsumeQueue.recover` 98-161 and `correctMinOffset` 343-377.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
from rocket_spec.layout import QUEUE_UNIT

from rocket_columnar.facts import Store
from rocket_columnar.formats import LAST_ADDRESS, LONG_MIN
from rocket_columnar.restart.queues import QueueStart
from rocket_columnar.restart.recovery import Deletion
from rocket_columnar.restart.unit_reader import each_units
from rocket_columnar.store import StoreFile, by_queue, read_at, size_of, usual_size

_FILES: Final = 3  # `recover` begins at the third file from the end
_WINDOW: Final = 1 << 20
_FIRST_WINDOW: Final = 1 << 12


def ext_refusal(store: Store) -> str | None:
    """The first ext file that ends the load: by its length, or since the walk over its units leads past its end.

    A start that cuts off units clears nothing. Where a shorter one is put in a longer one's place, the walk of the next
    start goes on in the midst of the old one.
    """
    sizes = [(file, size_of(file) or 0) for file in store.exts]
    usual = usual_size([size for _, size in sizes]) if sizes else 0
    loaded = {(file.topic, file.queue_id) for file in store.queues}
    for file, size in sizes:
        if (file.topic, file.queue_id) in loaded:
            if size != usual:
                return f"{file.name}: an ext file of {size:,} bytes where the others have {usual:,}"
            if _walked(file, size) is None:
                return f"{file.name}: the walk over its units leads past its end"
    return None


def _walked(file: StoreFile, size: int) -> int | None:
    """End of the walk over a file's units, None if it throws."""
    position, begin, window, step = 0, 0, b"", _FIRST_WINDOW
    with file.open() as reader:
        while position + 2 <= size:
            if position + 2 > begin + len(window):
                begin = position
                window = reader.read(position, min(step, size - position)).tobytes()
                step = min(4 * step, _WINDOW)
            length = int.from_bytes(window[position - begin : position - begin + 2], signed=True)
            if length < 1:
                return position
            position += length
    return None


def deleted_exts(store: Store, queues: Sequence[QueueStart]) -> list[Deletion]:
    """Ext files after the unit that a queue's last unit points to, and before what its first one points to."""
    exts = by_queue(sorted(store.exts, key=lambda listed: listed.base_offset))
    units = by_queue(store.queues)
    found = []
    for queue in queues:
        own = exts.get((queue.topic, queue.queue_id), [])
        if own and not store.logs:
            found += [Deletion("delete", file.name, None, "there is no commit log") for file in own]
        elif own:
            files = units.get((queue.topic, queue.queue_id), [])
            found += _deleted(own, files, queue, store.begin)
    return found


def _deleted(
    own: Sequence[StoreFile], files: list[StoreFile], queue: QueueStart, begin: int
) -> list[Deletion]:
    found = []
    files.sort(key=lambda file: file.base_offset)
    end = _end_of_last(own, _last_address(files))
    if end is not None:
        reason = f"it begins after the ext unit of the queue's last unit, which ends at {end:,}"
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
        for _, units in each_units(file, holes=True):
            bad = np.flatnonzero(
                (units["phy_offset"].astype(np.int64) < 0) | (units["size"].astype(np.int32) <= 0)
            )
            tags = units["tags_code"].astype(np.int64)[: int(bad[0]) if bad.size else None]
            tags = tags[tags <= LAST_ADDRESS]
            if tags.size:
                found = int(tags[-1]) - LONG_MIN
            if bad.size:
                return found
    return found


def _end_of_last(own: Sequence[StoreFile], address: int | None) -> int | None:
    """End of the ext unit at a byte of the ext queue; None if 4.9.3 finds none."""
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
    count = max(queue.end - file.base_offset, 0) // QUEUE_UNIT.size
    for first, units in each_units(file, holes=True):
        own = units[: max(count - first, 0)]
        live = np.flatnonzero(own["phy_offset"].astype(np.int64) >= begin)
        if live.size:
            tags = int(own["tags_code"][live[0]])
            return tags - LONG_MIN if tags <= LAST_ADDRESS else None
        if first + units.size >= count:
            break
    return None
