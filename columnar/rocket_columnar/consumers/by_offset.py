"""The unit at a logical offset of a queue, with the record that it points to."""

import struct
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from rocket_spec.errors import UsageError
from rocket_spec.layout import PRE_BLANK_SIZE, QUEUE_UNIT

from rocket_columnar.decode import ExtUnits
from rocket_columnar.describe import QueueView, queue_views
from rocket_columnar.facts import Store
from rocket_columnar.formats import LAST_ADDRESS, UNIT_DTYPE, tags_code
from rocket_columnar.query import CommitLog, Row
from rocket_columnar.store import StoreFile, by_queue, file_at, read_at, size_of

# Units of one consume queue by logical offset, whatever file they are in.


_UNITS_AT_ONCE: Final = 1 << 18


def real_tags(ext: ExtUnits, queue: tuple[str, int], found: NDArray[Any]) -> NDArray[np.int64]:
    """The tags codes of some units of a queue, where they are addresses those of the ext units, 0 without one."""
    tags: NDArray[np.int64] = found["tags_code"].astype(np.int64)
    addresses = tags <= LAST_ADDRESS
    if addresses.any():
        _, tags[addresses], _ = ext.tags_codes(*queue, tags[addresses])
    return tags


def units(files: Sequence[StoreFile], begin: int, end: int) -> Iterator[tuple[int, NDArray[Any]]]:
    """The units with logical offsets from `begin` up to `end`, some at a time, each time with the first offset; no holes, and no pre-blank ones."""
    for file in files:
        first = file.base_offset // QUEUE_UNIT.size
        for low, high in _data(file, max(begin - first, 0), end - first):
            for at in range(low, high, _UNITS_AT_ONCE):
                raw = read_at(
                    file, at * QUEUE_UNIT.size, (min(at + _UNITS_AT_ONCE, high) - at) * QUEUE_UNIT.size
                )
                found = np.frombuffer(raw, UNIT_DTYPE, len(raw) // QUEUE_UNIT.size)
                blank = (found["size"] == PRE_BLANK_SIZE) | (found["size"] <= 0)
                skipped = int(np.argmax(~blank)) if not blank.all() else len(found)
                if skipped < len(found):
                    yield first + at + skipped, found[skipped:]


def _data(file: StoreFile, low: int, high: int) -> list[tuple[int, int]]:
    """The ranges of numbers of units in a file, from `low` up to `high`, that are not in a hole."""
    if size_of(file) is None:
        return []
    size = QUEUE_UNIT.size
    with file.open() as reader:
        return [
            (max(begin // size, low), stop // size)
            for begin, stop in reader.aligned(size, min(max(high, 0), reader.size // size) * size)
        ]


# The logical offset that a broker gives for a time in a queue (CQ-TIME-1, CQ-TIME-2).


_UNIT: Final = struct.Struct(QUEUE_UNIT.struct_format)
_SYS_FLAG: Final = 36  # its place in a record
_BORN_HOST_IPV6: Final = 16


@dataclass(frozen=True, slots=True)
class OffsetAtTime:
    """The answer of a broker, and how it came to it."""

    topic: str
    queue_id: int
    time: int  # the time asked for, ms
    offset: int  # the logical offset of the unit whose record was stored nearest to it; 0 if there is none
    file: str | None  # the file that was searched; None for a queue without files
    store_timestamp: int | None  # when the record of the unit was stored, ms; None if no unit was found
    why: str


def offset_at(store: Store, topic: str, queue_id: int, time: int) -> OffsetAtTime:
    """The logical offset that a broker of 4.9.3 answers when a consumer, or `mqadmin resetOffsetByTime`, asks for a time in ms.

    UsageError for no such queue, OSError if a file cannot be read.
    Source: `ConsumeQueue.getOffsetInQueueByTime` 159-226; `MappedFileQueue.getMappedFileByTime` 78-92.
    """
    view, files = _queue(store, topic, queue_id)
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


def _queue(store: Store, topic: str, queue_id: int) -> tuple[QueueView, Sequence[StoreFile]]:
    """A queue and its files; a UsageError if there are none."""
    view, files = (
        store.once(queue_views).get((topic, queue_id)),
        by_queue(store.queues).get((topic, queue_id)),
    )
    if view is None or not files:
        raise UsageError(f"{store.name}: no queue {queue_id} of topic {topic}")
    return view, files


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
            phy_offset, length, _ = _UNIT.unpack(read_at(self._file, middle, size))
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


@dataclass(frozen=True, slots=True)
class Bounds:
    """The logical offsets of a queue."""

    topic: str
    queue_id: int
    min_offset: int  # that of the first unit whose record the log still has; `max_offset` without one
    max_offset: int  # that after the last unit
    # the minimum that a broker answers after a start, which looks in the first file alone (CQ-MIN-1)
    broker_min: int


@dataclass(frozen=True, slots=True)
class UnitAt:
    """The unit and message of a queue at a logical offset."""

    bounds: Bounds
    offset: int  # the logical offset asked for
    file: str | None = None  # the file with the unit; None if no file has the offset
    position: int | None = None
    phy_offset: int | None = None  # physical offset that the unit points to; None without a unit
    size: int | None = None  # length that it states
    # its tags code, of an ext unit if it has one; a time in ms in a queue of delayed messages
    tags_code: int | None = None
    # the record there as a row of the table commit_log; None if there is none that decodes
    row: Row | None = None
    problems: tuple[str, ...] = ()  # why a consumer does not get that record, or gets another one


def queue_bounds(store: Store, topic: str, queue_id: int) -> Bounds:
    """The logical offsets of a queue; arguments and errors as of `unit_at`.

    Source: `ConsumeQueue.correctMinOffset` 343-377 (4.9.3).
    """
    return store.looked_at(lambda: _bounds(store, topic, queue_id), despite_unreadable=False)


def _bounds(store: Store, topic: str, queue_id: int) -> Bounds:
    view, (first, *_) = _queue(store, topic, queue_id)
    written = max(view.max_offset * QUEUE_UNIT.size - first.base_offset, 0)
    raw = read_at(first, 0, min(written, size_of(first) or 0))
    kept = np.frombuffer(raw, UNIT_DTYPE, len(raw) // QUEUE_UNIT.size)["phy_offset"] >= store.begin
    broker_min = first.base_offset // QUEUE_UNIT.size + int(kept.argmax()) if kept.any() else 0
    return Bounds(topic, queue_id, view.min_offset, view.max_offset, broker_min)


def unit_at(store: Store, topic: str, queue_id: int, offset: int) -> UnitAt:
    """The unit at a logical offset of a queue and its record; UsageError for no such queue, OSError if a file cannot be read."""
    return store.looked_at(lambda: _unit_at(store, topic, queue_id, offset), despite_unreadable=False)


def _unit_at(store: Store, topic: str, queue_id: int, offset: int) -> UnitAt:
    bounds = _bounds(store, topic, queue_id)
    file = file_at(by_queue(store.queues)[topic, queue_id], offset * QUEUE_UNIT.size)
    raw = b"" if file is None else read_at(file, offset * QUEUE_UNIT.size - file.base_offset, QUEUE_UNIT.size)
    if file is None or len(raw) < QUEUE_UNIT.size:
        return UnitAt(bounds, offset, problems=("no file of the queue has this offset",))
    place = (file.name, offset * QUEUE_UNIT.size - file.base_offset)
    found = np.frombuffer(raw, UNIT_DTYPE)
    phy_offset, size = int(found["phy_offset"][0]), int(found["size"][0])
    if size <= 0 or size == PRE_BLANK_SIZE:
        blank = "the unit is a filler before the queue's first message"
        return UnitAt(bounds, offset, *place, problems=(blank if size > 0 else "no unit was written here",))
    tags = int(real_tags(ExtUnits(store.exts), (topic, queue_id), found)[0])
    with ExitStack() as stack:
        row = CommitLog(store, stack).row(phy_offset)
    if row["topic"] is None:
        return UnitAt(bounds, offset, *place, phy_offset, size, tags, problems=(_missing(store, phy_offset),))
    problems, expected = _differing(row, (topic, queue_id, offset), size), _tags_of(row, store.delays)
    if row["topic"] == topic and expected not in (None, tags):
        problems.append(
            f"its tags code is {tags}, expected {expected}: consumers that filter by tag do not get it"
        )
    return UnitAt(bounds, offset, *place, phy_offset, size, tags, row, tuple(problems))


def delivery(store: Store, row: Row, group: str) -> list[str]:
    """Sentences on whether the consumers of a group get a message, a row of the table commit_log: its unit, and the group's offset."""
    topic, queue_id, offset = row["topic"], row["queue_id"], row["queue_offset"]
    where = f"{topic} queue {queue_id} at logical offset {offset:,}"
    try:
        unit = unit_at(store, topic, queue_id, offset)
    except UsageError:
        return [f"the store has no queue {queue_id} of {topic}: no consumer gets the message"]
    if unit.phy_offset is None:
        return [f"{where}: {unit.problems[0]}: no consumer gets the message"]
    if unit.phy_offset != row["phy_offset"]:
        return [
            f"{where}: the unit points to physical offset {unit.phy_offset:,}, not to this message: no consumer gets it"
        ]
    found = [f"{where}: {problem}" for problem in unit.problems]
    reached = {
        (one["group"], one["topic"], one["queue_id"]): one["offset"]
        for one in store.config("consumer_offsets").rows
    }.get((group, topic, queue_id))
    if reached is None:
        return [*found, f"{where}: group {group} has no offset in this queue"]
    passed = "passed it" if reached > offset else "not come to it yet"
    return [*found, f"{where}: group {group} has {passed}, its offset is {reached:,}"]


def _tags_of(row: Row, delays: Sequence[int]) -> int | None:
    """The tags code that a dispatch gives a record; None if it fails."""
    pairs = {name.encode(): value.encode() for name, value in row["properties"].items()}
    return tags_code(row["topic"].encode(), pairs, row["store_timestamp"], delays)


def _missing(store: Store, phy_offset: int) -> str:
    if phy_offset < store.begin:
        return f"its record was deleted: the log begins at {store.begin:,}"
    if phy_offset >= store.end:
        return f"its record is not in the log, which ends at {store.end:,}"
    return "there is no whole record at that physical offset"


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
