"""What a start of 4.9.3 does to consume queues, read off their files beforehand.

Read beside `ConsumeQueue.recover` 98-161, `truncateDirtyLogicFiles` 229-303 and `DefaultMessageStore.start` 217-250.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rocket_spec.layout import PRE_BLANK_SIZE, QUEUE_UNIT

from rocket_columnar.facts import Store
from rocket_columnar.formats import LAST_ADDRESS, LONG_MIN, UNIT_DTYPE
from rocket_columnar.log import Requests, TopicNames, dispatch_stop, requests_before_gap, units_taken
from rocket_columnar.restart.recovery import Deletion
from rocket_columnar.store import Reader, StoreFile, WorkDone, by_queue, read_at, size_of, usual_size

# The units of a consume-queue file, some at a time; holes cost nothing.


_SIZE: Final = QUEUE_UNIT.size
_FIRST: Final = 1 << 10  # units: many queues hold few
_UNITS_AT_ONCE: Final = 1 << 16


def each_units(
    file: StoreFile, start: int = 0, *, holes: bool = False
) -> Iterator[tuple[int, NDArray[np.void]]]:
    """Number of the first and fields of the units of a file, fewer at first.

    Args:
        file: of a queue.
        start: the first unit wanted.
        holes: also gives the first two units of each hole; the others of a hole are zeros, too.

    Raises:
        OSError: the file cannot be read.
    """
    with file.open() as reader:
        whole = reader.size // _SIZE
        number, step = start, _FIRST
        if number >= whole:
            return
        for begin, end in reader.extents(start * _SIZE):
            first = max(begin // _SIZE, number)
            if holes and first > number:
                yield number, np.zeros(min(first - number, 2), UNIT_DTYPE)
            number, stop = first, min(-(-end // _SIZE), whole)
            while number < stop:
                count = min(step, stop - number)
                yield number, reader.read(number * _SIZE, count * _SIZE).view(UNIT_DTYPE)
                number, step = number + count, min(4 * step, _UNITS_AT_ONCE)
        if holes and number < whole:
            yield number, np.zeros(min(whole - number, 2), UNIT_DTYPE)


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
        zeros: name of the file without units whose first bytes, zeros, are taken for one; None if there is none.
    """

    topic: str
    queue_id: int
    files: list[StoreFile]
    end: int = 0
    max_phy_offset: int = -1
    cuts: list[tuple[int, str]] = field(default_factory=list)
    deleted: list[tuple[StoreFile, str]] = field(default_factory=list)
    endless: bool = False
    zeros: str | None = None

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


def max_after_start(store: Store, topic: str, queue_id: int) -> int:
    """The maximum offset that a broker answers of a queue after a start, before it dispatches anything (CQ-REC-2).

    Raises:
        OSError: a file of the queue cannot be read.
    """
    files = by_queue(store.queues).get((topic, queue_id), [])
    found = queue_starts(files, store.end, WorkDone(None), has_log=bool(store.logs))
    return max((queue.end for queue in found), default=0) // _SIZE


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
    if after or (last is not None and holds_bytes(last, end - last.base_offset)):
        queue.cuts.append((end, reason))


def holds_bytes(file: StoreFile, begin: int) -> bool:
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
    elif queue.end > before:
        queue.zeros = queue.files[-1].name


# Predicts the dispatch of a start over a plain log: the units that it leaves out, and the places where it never ends.
#
# Read beside `ConsumeQueue.putMessagePositionInfo` 481-513 and `ReputMessageService.doReput` 2058-2066. Light queues are not followed.


_TAKEN = "an older message has its place in the queue (CQ-PUT-2)"


class Redispatched(NamedTuple):
    """The fate of the records that a start dispatches.

    Attributes:
        stuck: why dispatch never passes one of them, or None.
        lost: those that get no unit, since their places are taken.
    """

    stuck: str | None
    lost: tuple[LostUnits, ...]


def dispatched_again(
    store: Store, queues: Sequence[QueueStart], position: int, end: int, *, recovered_from: int | None
) -> Redispatched:
    """What a start dispatches, up to the log's end or to the first gap.

    Args:
        store: the store.
        queues: as they are before.
        position: the greatest end of a queue: physical offset from which dispatch begins, unless a recovery dispatches.
        end: of the log.
        recovered_from: physical offset from which a recovery dispatches. It notifies nobody: what can stop the dispatch
            (LOG-DSP-18) is after the last record with a unit. With enableMultiDispatch any record can, here as there.

    Raises:
        OSError: the log cannot be read.
    """
    puts = _RecordPuts(position if recovered_from is None else recovered_from)
    for queue in queues:
        place = queue.end // QUEUE_UNIT.size if queue.files else None
        puts.places[queue.topic, queue.queue_id] = _Place(place, queue.max_phy_offset, _Kept(queue))
    names, stuck = TopicNames(), -1
    files = zip(store.logs, store.log_sizes, strict=True)
    bounds = min(position, puts.begin), end
    for reader, base, batch in requests_before_gap(files, names, bounds=bounds, keys=store.keys):
        puts.add(batch, names)
        put = batch.queued & (batch.phy_offset >= puts.begin)
        at = _first_stop(reader, base, batch, put) if store.multi_dispatch else -1
        if at >= 0:
            return Redispatched(_stuck_text(at, "enableMultiDispatch is off (CQ-LMQ-5)"), tuple(puts.lost))
        notified = batch.dispatched & (batch.phy_offset >= position)
        if recovered_from is not None and put.any():
            notified[: np.flatnonzero(put)[-1] + 1] = False
            stuck = -1
        if stuck < 0:
            stuck = _first_stop(reader, base, batch, notified)
    why = "the broker is a slave or has longPollingEnable off (LOG-DSP-18)"
    return Redispatched(_stuck_text(stuck, why) if stuck >= 0 else None, tuple(puts.lost))


def _first_stop(reader: Reader, base: int, batch: Requests, chosen: NDArray[np.bool_]) -> int:
    """Physical offset of the first of the chosen records whose offsets in light queues are not numbers; -1 if there is none."""
    for place in np.flatnonzero(batch.copied & chosen).tolist():
        at = int(batch.phy_offset[place])
        if dispatch_stop(reader.read(at - base, int(batch.size[place])).tobytes(), light=False):
            return at
    return -1


def _stuck_text(at: int, unless: str) -> str:
    return (
        f"the record at physical offset {at:,} has an INNER_MULTI_QUEUE_OFFSET that is not a number: dispatch stays there, "
        f"and a start never returns, unless {unless}"
    )


@dataclass(slots=True)
class _Kept:
    """The units that a queue keeps over the start; one file of them is in memory."""

    queue: QueueStart
    _file: StoreFile | None = None
    _targets: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))

    def has(self, logical: int, phy_offset: int) -> bool:
        """Whether the unit at a logical offset points to a record."""
        position = logical * QUEUE_UNIT.size
        files = self.queue.files
        number = bisect_right(files, position, key=lambda file: file.base_offset) - 1
        if number < 0 or position >= self.queue.end:
            return False
        file = files[number]
        if file is not self._file:
            raw = read_at(file, 0, size_of(file) or 0)
            self._file = file
            self._targets = np.frombuffer(raw, UNIT_DTYPE, len(raw) // QUEUE_UNIT.size)["phy_offset"]
        place = (position - file.base_offset) // QUEUE_UNIT.size
        return place < self._targets.size and int(self._targets[place]) == phy_offset


@dataclass(slots=True)
class _Place:
    """A queue: the logical offset at which the next unit goes in, None without a file, and the end of its last record."""

    next: int | None = None
    max_phy_offset: int = -1
    kept: _Kept | None = None


@dataclass(slots=True)
class _RecordPuts:
    """Puts of records from `begin` on, and the runs of those that get no unit."""

    begin: int
    places: dict[tuple[str, int], _Place] = field(default_factory=dict)
    lost: list[LostUnits] = field(default_factory=list)

    def add(self, batch: Requests, names: TopicNames) -> None:
        chosen = np.flatnonzero(batch.queued & (batch.phy_offset >= self.begin))
        owners = np.stack((batch.topic[chosen], batch.queue_id[chosen]))
        for topic, queue_id in np.unique(owners, axis=1).T.tolist():
            rows = chosen[(owners[0] == topic) & (owners[1] == queue_id)]
            queue = names.names[topic], queue_id
            place = self.places.setdefault(queue, _Place())
            ends = batch.phy_offset[rows] + batch.size[rows]
            new = ends > place.max_phy_offset  # else they were built before: CQ-PUT-1
            if new.any():
                self._put(queue, place, batch.queue_offset[rows[new]], batch.phy_offset[rows[new]])
                place.max_phy_offset = int(ends[-1])

    def _put(self, queue: tuple[str, int], place: _Place, offsets: np.ndarray, starts: np.ndarray) -> None:
        if place.next is None:
            place.next = int(offsets[0])
        taken = units_taken(offsets, place.next)
        place.next += int(np.count_nonzero(taken))
        for offset, start in zip(offsets[~taken].tolist(), starts[~taken].tolist(), strict=True):
            if place.kept is not None and place.kept.has(offset, start):
                continue
            last = self.lost[-1] if self.lost else None
            if last is not None and (last.topic, last.queue_id, last.first + last.count) == (*queue, offset):
                self.lost[-1] = replace(last, count=last.count + 1)
            else:
                self.lost.append(LostUnits(*queue, offset, 1, start, _TAKEN))


# Predicts what a start of 4.9.3 with enableConsumeQueueExt does to ext files.
#
# Read beside `ConsumeQueueExt.recover` 282-304, `truncateByMinAddress` 317-342 and `truncateByMaxAddress` 349-368, and what
# calls them: `ConsumeQueue.recover` 98-161 and `correctMinOffset` 343-377.


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
