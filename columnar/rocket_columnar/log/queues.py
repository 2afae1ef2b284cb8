"""Queues: those that a record names beside its own, where their logical offsets begin again, and how a start leaves them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rocket_spec.layout import PRE_BLANK_SIZE, QUEUE_UNIT, RECORD_FIXED_V4

from rocket_columnar.formats import UNIT_DTYPE, Bad, clean_utf8, parse_long, parse_properties, parse_record
from rocket_columnar.log.requests import Requests, TopicNames
from rocket_columnar.store import LIGHT, StoreFile, WorkDone, by_queue, read_at, size_of

_QUEUES: Final = b"INNER_MULTI_DISPATCH"
_OFFSETS: Final = b"INNER_MULTI_QUEUE_OFFSET"


class Copy(NamedTuple):
    """A queue, and the logical offset that a record has there."""

    topic: str
    queue_id: int
    logical_offset: int


def batch_copies(file: StoreFile, batch: Requests, *, light: bool) -> Iterator[tuple[int, list[Copy]]]:
    """The place and the copies of each record of a batch that is copied, in the order of their puts; OSError if the file cannot be read."""
    if not batch.copied.any():
        return
    places = np.flatnonzero(batch.copied & batch.queued).tolist()
    if not places:
        return
    with file.open() as reader:
        for place in places:
            at, size = int(batch.phy_offset[place]) - file.base_offset, int(batch.size[place])
            yield place, _copies(reader.read(at, size).tobytes(), light=light)


def _copies(data: bytes, *, light: bool) -> list[Copy]:
    """The copies that a whole record names; none if its two lists differ in length (`ConsumeQueue.multiDispatchLmqQueue` 432-453)."""
    record = parse_record(data, 0)
    if isinstance(record, Bad):
        return []
    pairs = parse_properties(data[record.properties : record.properties + record.properties_length])
    queues, offsets = (pairs.get(name, b"").decode() for name in (_QUEUES, _OFFSETS))
    if not queues.strip() or not offsets.strip():
        return []
    names, numbers = _split(queues), [parse_long(part) for part in _split(offsets)]
    if len(names) != len(numbers):
        return []
    queue_id = record.fixed.queue_id
    return [
        Copy(name, 0 if light and name.startswith(LIGHT) else queue_id, number)
        for name, number in zip(names, numbers, strict=True)
        if number is not None and None not in numbers
    ]


def dispatch_stop(data: bytes, *, light: bool) -> str | None:
    """The reason that a broker's dispatch stays at a whole record, with settings and clauses; None if there is none.

    A record without properties gives one if the store has `light` queues.
    """
    record = parse_record(data, 0)
    if isinstance(record, Bad):
        return None
    if light and not record.properties_length:
        return "it has no properties, and a broker with enableMultiDispatch stays there (CQ-LMQ-5)"
    pairs = parse_properties(data[record.properties : record.properties + record.properties_length])
    queues, offsets = (pairs.get(name, b"").decode() for name in (_QUEUES, _OFFSETS))
    numbers = [parse_long(part) for part in _split(offsets)]
    if queues.strip() and offsets.strip() and None in numbers and len(numbers) == len(_split(queues)):
        return (
            f"its INNER_MULTI_QUEUE_OFFSET is {offsets!r}, and a broker with longPollingEnable, the default, or enableMultiDispatch "
            "stays where that is not a number for each queue (LOG-DSP-18, CQ-LMQ-5)"
        )
    return None


def _split(text: str) -> list[str]:
    """Java's `split(",")`: empty parts at the end are dropped."""
    parts = text.split(",")
    while parts and not parts[-1]:
        parts.pop()
    return parts


def goes_to(data: bytes, topic: str, queue_id: int, *, light: bool) -> bool:
    """Whether bytes are a record that goes into a queue, as its own or as a copy."""
    if len(data) < RECORD_FIXED_V4 or int.from_bytes(data[:4]) != len(data):
        return False
    record = parse_record(data, 0)
    if isinstance(record, Bad):
        return False
    own = clean_utf8(data[record.topic : record.topic + record.topic_length]).decode()
    queues = {copy[:2] for copy in _copies(data, light=light)}
    return (topic, queue_id) in {(own, record.fixed.queue_id), *queues}


def has_light_queues(files: Sequence[StoreFile]) -> bool:
    """Whether the broker had `enableLmq`, which gives light queues the number 0, as far as its files show."""
    return not any(file.kind == "queue" and file.queue_id and file.light for file in files)


# Lives of queues: where in the log the records of a queue begin to count from 0 again.
#
# A topic that is deleted and created again counts from 0, and so does a queue whose files were lost. The last life owns the
# queue: what precedes it in the log is in no queue of a broker, and would hide the units of its live messages.


_NEVER: Final = 1 << 62  # a physical offset after all records


def _codes(topic: NDArray[np.integer[Any]], queue_id: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """One number for each record's queue."""
    codes: NDArray[np.int64] = topic.astype(np.int64) << 32 | queue_id.astype(np.int64) & 0xFFFFFFFF
    return codes


def life_begins(batch: Requests, names: TopicNames) -> dict[tuple[str, int], int]:
    """Physical offset of the last record with the logical offset 0, of each queue that has one in the batch."""
    rows = np.flatnonzero(batch.queued & (batch.queue_offset == 0)).tolist()
    return {
        (names.names[batch.topic[row]], int(batch.queue_id[row])): int(batch.phy_offset[row]) for row in rows
    }


def of_earlier_life(batch: Requests) -> NDArray[np.bool_]:
    """A mask of the records of a batch that precede one with the logical offset 0 of their queue."""
    rows = np.flatnonzero(batch.queued & (batch.queue_offset == 0))
    codes = _codes(batch.topic, batch.queue_id)
    queues, from_end = np.unique(codes[rows][::-1], return_index=True)
    earlier = np.zeros(codes.size, np.bool_)
    if queues.size:
        begins = rows[::-1][from_end]
        at = np.searchsorted(queues, codes).clip(max=queues.size - 1)
        earlier = (queues[at] == codes) & (np.arange(codes.size) < begins[at])
    return earlier


def last_lives(
    batches: Iterable[Requests], names: TopicNames, queues: Collection[tuple[str, int]]
) -> dict[tuple[str, int], tuple[int, int, int]]:
    """Of each queue the logical offset of the first record of its last life in the log, that after the last one, and the greatest of earlier lives; zeros without one."""
    found: dict[tuple[str, int], tuple[int, int, int]] = dict.fromkeys(queues, (0, 0, 0))
    for batch in batches:
        topics = {names.numbers[topic]: topic for topic, _ in queues if topic in names.numbers}
        rows = batch.queued & np.isin(batch.topic, list(topics))
        columns = (batch.topic[rows], batch.queue_id[rows], batch.queue_offset[rows])
        for topic, queue_id, offset in zip(*(column.tolist() for column in columns), strict=True):
            place = topics[topic], queue_id
            if place in found:
                first, end, earlier = found[place]
                earlier = earlier if offset else max(earlier, end)
                found[place] = first if end and offset else offset, offset + 1, earlier
    return found


class Life(NamedTuple):
    """The last life of a queue in a part of the log, by physical offsets."""

    topic: str
    queue_id: int
    begin: int  # of its first record
    counts: bool  # whether that has the logical offset 0: what precedes the part then is of an earlier life
    earlier: int  # of the last record of an earlier life, -1 without one
    last: int  # of its last record

    def then(self, later: Life) -> Life:
        """The last life in this part and the one that follows it."""
        if not later.counts:
            return self._replace(last=later.last)
        return later if later.earlier >= 0 else later._replace(earlier=self.last)


def _lives_in(batch: Requests, names: TopicNames) -> Iterator[Life]:
    """The last lives in a batch."""
    rows = np.flatnonzero(batch.queued)
    if not rows.size:
        return
    codes = _codes(batch.topic[rows], batch.queue_id[rows])
    order = np.argsort(codes, kind="stable")
    rows, codes = rows[order], codes[order]
    firsts = np.flatnonzero(np.diff(codes, prepend=-1))
    counted = np.where(batch.queue_offset[rows] == 0, np.arange(rows.size), -1)
    begins = np.maximum.reduceat(counted, firsts)
    for first, begin, stop in zip(
        firsts.tolist(), begins.tolist(), [*firsts[1:].tolist(), rows.size], strict=True
    ):
        row = rows[first]
        places = [
            int(batch.phy_offset[rows[at]]) for at in (max(begin, first), max(begin - 1, first), stop - 1)
        ]
        earlier = places[1] if begin > first else -1
        name = names.names[batch.topic[row]]
        yield Life(name, int(batch.queue_id[row]), places[0], begin >= 0, earlier, places[2])


class FileLives:
    """The last lives of queues in one file of the log."""

    def __init__(self) -> None:
        self._lives: dict[tuple[str, int], Life] = {}

    def add(self, batch: Requests, names: TopicNames) -> None:
        """Adds the next records of the file."""
        _join(self._lives, _lives_in(batch, names))

    @property
    def last(self) -> tuple[Life, ...]:
        """The last one of each queue."""
        return tuple(self._lives.values())


def _join(lives: dict[tuple[str, int], Life], later: Iterable[Life]) -> None:
    for life in later:
        known = lives.get(life[:2])
        lives[life[:2]] = life if known is None else known.then(life)


def of_nobody(
    begins: Mapping[tuple[str, int], int],
    earlier: Mapping[tuple[str, int], int],
    with_files: Collection[tuple[str, int]],
) -> set[tuple[str, int]]:
    """The queues without files that only an earlier life of their topic had, as all queues of a topic go with it.

    `begins` are the physical offsets at which their last lives begin, `earlier` those of the last records of earlier lives. A queue that began before
    the last record of its topic's earlier life got none since; so did one that began before its topic's next life shows, if others have files.
    """
    last, again = dict[str, int](), dict[str, int]()
    for queue, at in earlier.items():
        last[queue[0]] = max(at, last.get(queue[0], at))
        again[queue[0]] = min(begins[queue], again.get(queue[0], begins[queue]))
    has_queue = {topic for topic, _ in with_files}
    return {
        queue
        for queue, begin in begins.items()
        if queue not in with_files
        and begin < again.get(queue[0], 0)
        and (begin <= last[queue[0]] or (queue not in earlier and queue[0] in has_queue))
    }


class Lives:
    """The last lives of queues that had another one, by those in each file of the log; `files` are those of the queues."""

    def __init__(self, parts: Iterable[Iterable[Life]] = (), files: Iterable[StoreFile] = ()) -> None:
        lives: dict[tuple[str, int], Life] = {}
        for part in parts:
            _join(lives, part)
        earlier = {queue: life.earlier for queue, life in lives.items() if life.earlier >= 0}
        self.begins = {queue: lives[queue].begin for queue in earlier}
        with_files = {(file.topic or "", file.queue_id or 0) for file in files if file.kind == "queue"}
        begins = {queue: life.begin for queue, life in lives.items()}
        self.begins |= dict.fromkeys(of_nobody(begins, earlier, with_files), _NEVER)

    def hold(
        self,
        names: TopicNames,
        topic: NDArray[np.int32],
        queue_id: NDArray[np.int32],
        phy_offset: NDArray[np.int64],
    ) -> NDArray[np.bool_]:
        """A mask of the records, given by columns, that are of the last life of their queue."""
        known = [
            (names.numbers[name], number, begin)
            for (name, number), begin in self.begins.items()
            if name in names.numbers
        ]
        if not known:
            return np.ones(topic.size, np.bool_)
        topics, numbers, begins = np.array(known, np.int64).T
        codes, wanted = _codes(topics, numbers), _codes(topic, queue_id)
        order = np.argsort(codes)
        at = order[np.searchsorted(codes, wanted, sorter=order).clip(max=codes.size - 1)]
        earlier: NDArray[np.bool_] = (codes[at] == wanted) & (phy_offset < begins[at])
        return ~earlier


# Queues as a start of 4.9.3 leaves them, read off their files beforehand.
#
# Read beside `ConsumeQueue.recover` 98-161, `truncateDirtyLogicFiles` 229-303 and `DefaultMessageStore.start` 217-250.


# The units of a consume-queue file, some at a time; holes cost nothing.


_SIZE: Final = QUEUE_UNIT.size
_FIRST: Final = 1 << 10  # units: many queues hold few
_UNITS_AT_ONCE: Final = 1 << 16


def each_units(
    file: StoreFile, start: int = 0, *, holes: bool = False
) -> Iterator[tuple[int, NDArray[np.void]]]:
    """Number of the first and fields of the units of a file, fewer at first.

    With `holes` also the first two units of each hole; the others of a hole are zeros, too.
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


RECOVERED_FILES: Final = 3  # of a queue: `ConsumeQueue.recover` begins at the third file from the end


@dataclass(frozen=True, slots=True)
class LostUnits:
    """Neighbouring units that a start takes out of a queue: the first one's logical offset, and the physical offset that it points to."""

    topic: str
    queue_id: int
    first: int
    count: int
    phy_offset: int
    reason: str


@dataclass(slots=True)
class QueueStart:
    """One queue as a start leaves it."""

    topic: str
    queue_id: int
    files: list[StoreFile]  # its files; those that are left
    end: int = 0  # byte of the queue at which the next unit goes in
    max_phy_offset: int = -1  # what the queue takes for the end of its last message, -1 without units
    # (byte of the queue from which on it is cut off, reason), in the order of the cuts
    cuts: list[tuple[int, str]] = field(default_factory=list)
    # (file, reason) of each file that is deleted
    deleted: list[tuple[StoreFile, str]] = field(default_factory=list)
    endless: bool = False  # whether the start never comes to an end here
    # name of the file without units whose first bytes, zeros, are taken for one; None if there is none
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
    """All queues as a start leaves them, by their files, all of one length; without a log file all are deleted.

    The start's walk over the log ends at the physical offset `log_end`; `work` counts the bytes of the files.
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
    for file in queue.files[-RECOVERED_FILES:]:
        taken = _taken(file)
        if taken.number:
            queue.max_phy_offset = taken.record_end
        queue.end = file.base_offset + taken.number * _SIZE
        if not taken.whole:
            break
    _cut(queue, queue.end, f"the unit at logical offset {queue.end // _SIZE:,} is not accepted by 4.9.3")


class _Taken(NamedTuple):
    """The number of units up to the first that a walk stops at, the end of the last one's record (0 without), and whether they are all of the file."""

    number: int
    record_end: int
    whole: bool


def _taken(file: StoreFile, *, below: int | None = None) -> _Taken:
    """The units before the first that is none.

    With `below` it also stops at a unit of a record at or after this physical offset; then the first unit is taken, whatever
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
