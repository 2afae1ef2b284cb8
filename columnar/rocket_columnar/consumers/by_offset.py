"""The unit at a logical offset of a queue, with the record that it points to."""

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from rocket_spec.errors import UsageError
from rocket_spec.layout import PRE_BLANK_SIZE, QUEUE_UNIT

from rocket_columnar.consumers.queue_units import real_tags
from rocket_columnar.decode import ExtUnits
from rocket_columnar.describe import queue_views
from rocket_columnar.facts import Store, as_store
from rocket_columnar.formats import UNIT_DTYPE
from rocket_columnar.query import CommitLog, Row
from rocket_columnar.store import by_queue, file_at, read_at, size_of

_UNIT: Final = QUEUE_UNIT.size


@dataclass(frozen=True, slots=True)
class Bounds:
    """The logical offsets of a queue.

    Attributes:
        topic: of the queue.
        queue_id: number of the queue.
        min_offset: that of the first unit whose record the log still has; `max_offset` without one.
        max_offset: that after the last unit.
        broker_min: the minimum that a broker answers after a start, which looks in the first file alone (CQ-MIN-1).
    """

    topic: str
    queue_id: int
    min_offset: int
    max_offset: int
    broker_min: int


@dataclass(frozen=True, slots=True)
class UnitAt:
    """What a queue has at a logical offset.

    Attributes:
        bounds: of the queue.
        offset: the logical offset asked for.
        file: the file with the unit; None if no file has the offset.
        position: byte of the unit in that file.
        phy_offset: physical offset that the unit points to; None without a unit.
        size: length that it states.
        tags_code: its tags code, of an ext unit if it has one; a time in ms in a queue of delayed messages.
        row: the record there as a row of the table commit_log; None if there is none that decodes.
        problems: why a consumer does not get that record, or gets another one.
    """

    bounds: Bounds
    offset: int
    file: str | None = None
    position: int | None = None
    phy_offset: int | None = None
    size: int | None = None
    tags_code: int | None = None
    row: Row | None = None
    problems: tuple[str, ...] = ()


def queue_bounds(store: Store | Path | str, topic: str, queue_id: int, **known: Any) -> Bounds:
    """The logical offsets of a queue; arguments and errors as of `unit_at`.

    Source: `ConsumeQueue.correctMinOffset` 343-377 (4.9.3).
    """
    made = as_store(store, **known)
    return made.looked_at(lambda: _bounds(made, topic, queue_id), despite_unreadable=False)


def _bounds(store: Store, topic: str, queue_id: int) -> Bounds:
    view = store.once(queue_views).get((topic, queue_id))
    files = by_queue(store.queues).get((topic, queue_id))
    if view is None or not files:
        raise UsageError(f"{store.name}: no queue {queue_id} of topic {topic}")
    first = files[0]
    written = max(view.max_offset * _UNIT - first.base_offset, 0)
    raw = read_at(first, 0, min(written, size_of(first) or 0))
    kept = np.frombuffer(raw, UNIT_DTYPE, len(raw) // _UNIT)["phy_offset"] >= store.begin
    broker_min = first.base_offset // _UNIT + int(kept.argmax()) if kept.any() else 0
    return Bounds(topic, queue_id, view.min_offset, view.max_offset, broker_min)


def unit_at(store: Store | Path | str, topic: str, queue_id: int, offset: int, **known: Any) -> UnitAt:
    """The unit at a logical offset and its record.

    Args:
        store: the store, or its directory.
        topic: of the queue.
        queue_id: number of the queue.
        offset: the logical offset.
        known: of a directory, as for `Store`.

    Raises:
        UsageError: no store, or no such queue.
        OSError: a file cannot be read.
    """
    made = as_store(store, **known)
    return made.looked_at(lambda: _unit_at(made, topic, queue_id, offset), despite_unreadable=False)


def _unit_at(store: Store, topic: str, queue_id: int, offset: int) -> UnitAt:
    bounds = _bounds(store, topic, queue_id)
    file = file_at(by_queue(store.queues)[topic, queue_id], offset * _UNIT)
    raw = b"" if file is None else read_at(file, offset * _UNIT - file.base_offset, _UNIT)
    if file is None or len(raw) < _UNIT:
        return UnitAt(bounds, offset, problems=("no file of the queue has this offset",))
    place = (file.name, offset * _UNIT - file.base_offset)
    found = np.frombuffer(raw, UNIT_DTYPE)
    phy_offset, size = int(found["phy_offset"][0]), int(found["size"][0])
    if size <= 0 or size == PRE_BLANK_SIZE:
        blank = "the unit is a filler before the queue's first message"
        return UnitAt(bounds, offset, *place, problems=(blank if size > 0 else "no unit was written here",))
    tags = int(real_tags(ExtUnits(store.exts), (topic, queue_id), found)[0])
    with ExitStack() as stack:
        log = CommitLog(store, stack)
        row = log.row(phy_offset)
    problems = (
        _missing(store, phy_offset)
        if row["topic"] is None
        else _differing(row, (topic, queue_id, offset), size)
    )
    whole = None if row["topic"] is None else row
    return UnitAt(bounds, offset, *place, phy_offset, size, tags, whole, tuple(problems))


def _missing(store: Store, phy_offset: int) -> list[str]:
    if phy_offset < store.begin:
        return [f"its record was deleted: the log begins at {store.begin:,}"]
    if phy_offset >= store.end:
        return [f"its record is not in the log, which ends at {store.end:,}"]
    return ["there is no whole record at that physical offset"]


def _differing(row: Row, asked: tuple[str, int, int], size: int) -> list[str]:
    """In what the record is not the one that a dispatch would give this unit for; light queues are named in a property."""
    stated: dict[str, tuple[Any, Any]] = {"size": (row["size"], size)}
    properties = row["properties"] or {}
    others = properties.get("INNER_MULTI_DISPATCH", "").split(",")
    if asked[0] in others:
        offsets = properties.get("INNER_MULTI_QUEUE_OFFSET", "").split(",")
        number = others.index(asked[0])
        stated["offset"] = (offsets[number] if number < len(offsets) else None, str(asked[2]))
    else:
        names = {"topic": "topic", "queue_id": "queue", "queue_offset": "offset"}
        stated |= {
            shown: (row[name], value) for (name, shown), value in zip(names.items(), asked, strict=True)
        }
    return [
        f"its record has {name} {has}, expected {value}"
        for name, (has, value) in stated.items()
        if has != value
    ]
