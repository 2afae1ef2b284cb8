"""What a start of 4.9.3 dispatches into consume queues, and what it does to their ext files."""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rocket_spec.layout import PRE_BLANK_SIZE, QUEUE_UNIT, RECORD_FIXED_V4

from rocket_columnar import log
from rocket_columnar.audit import Finding
from rocket_columnar.facts import Store
from rocket_columnar.formats import LAST_ADDRESS, LONG_MIN, UNIT_DTYPE, Record, parse_record
from rocket_columnar.restart.recovery import Deletion, StartWalk
from rocket_columnar.store import LIGHT, Reader, StoreFile, WorkDone, by_queue, read_at, size_of, usual_size


def max_after_start(store: Store, topic: str, queue_id: int) -> int:
    """The maximum offset that a broker answers of a queue after a start, before it dispatches anything (CQ-REC-2)."""
    files = by_queue(store.queues).get((topic, queue_id), [])
    found = log.queue_starts(files, store.end, WorkDone(None), has_log=bool(store.logs))
    return max((queue.end for queue in found), default=0) // QUEUE_UNIT.size


# Predicts the dispatch of a start over a plain log: the units that it leaves out, and the places where it never ends.
#
# Read beside `ConsumeQueue.putMessagePositionInfo` 481-513 and `ReputMessageService.doReput` 2058-2066. Light queues are not followed.


_TAKEN: Final = "an older message has its place in the queue (CQ-PUT-2)"
_ASTRAY: Final = (
    "its unit leads to the physical offset that the record states, and not to the record: a consumer loses those that follow it in the same "
    "pull, too (LOG-REC-7)"
)
_BUILT: Final = "it states a physical offset up to which the queue takes all for built (CQ-PUT-1)"
_STATED: Final = (
    "a record before it states a later physical offset, up to which the queue takes all for built (CQ-PUT-1)"
)


class Redispatched(NamedTuple):
    """The fate of the records that a start dispatches."""

    stuck: str | None  # why dispatch never passes one of them, or None
    lost: tuple[log.LostUnits, ...]  # those that get no unit
    # for each record with keys that states an offset beyond its position, the two; no record between them is indexed
    # (`IndexService.buildIndex` 201-205)
    stated: tuple[tuple[int, int], ...] = ()
    # key hashes of records that state another offset than their position, by that position: their index entries lead to the
    # stated one, if they get any
    astray: Mapping[int, Sequence[int]] = MappingProxyType({})
    # physical offset from which the dispatch goes on after a recovery: after the log's end only if a record states that
    end: int = 0
    # those of records that no queue had before, each with its number of queues
    topics: Mapping[str, int] = MappingProxyType({})


def dispatched_again(
    store: Store, queues: Sequence[log.QueueStart], position: int, end: int, *, recovered_from: int | None
) -> Redispatched:
    """What a start dispatches, up to the log's `end` or to the first gap; the queues are as they are before.

    Dispatch begins at `position`, the greatest end of a queue, unless a recovery dispatches, from `recovered_from` on. That notifies nobody: what
    can stop the dispatch (LOG-DSP-18) is after the last record with a unit. With enableMultiDispatch any record can, here as there.
    """
    puts = _RecordPuts(position if recovered_from is None else recovered_from)
    for queue in queues:
        place = queue.end // QUEUE_UNIT.size if queue.files else None
        puts.places[queue.topic, queue.queue_id] = _Place(place, queue.max_phy_offset, _Kept(queue))
    names, stuck, lives = log.TopicNames(), -1, log.FileLives()
    stated: list[tuple[int, int]] = []
    hashes: dict[int, list[int]] = {}
    topics: dict[str, int] = {}
    walk = StartWalk(store, min(position, puts.begin), end, names)
    for reader, base, batch in walk:
        begin = walk.end - int(batch.size[-1])
        off = int(batch.phy_offset[-1]) - begin
        at = np.array([begin]) if off else batch.phy_offset
        put = batch.queued & (at >= puts.begin)
        puts.add(batch, names, put, at)
        lives.add(replace(batch, phy_offset=at), names)
        new = put & (at >= position)
        for topic in np.unique(batch.topic[new]).tolist():
            number = int(batch.queue_id[new & (batch.topic == topic)].max()) + 1
            topics[names.names[topic]] = max(number, topics.get(names.names[topic], 0))
        if off and at[0] >= puts.begin and batch.key_count[0]:
            hashes[begin] = batch.key_hash.tolist()
            stated += [(begin, int(batch.phy_offset[0]))] if off > 0 else []
        first = _first_stop(reader, base, batch, put) if store.multi_dispatch else -1
        if first >= 0:
            return Redispatched(_stuck_text(first, "enableMultiDispatch is off (CQ-LMQ-5)"), tuple(puts.lost))
        notified = batch.dispatched & (at >= position)
        if recovered_from is not None and put.any():
            notified[: np.flatnonzero(put)[-1] + 1] = False
            stuck = -1
        if stuck < 0:
            stuck = _first_stop(reader, base, batch, notified)
    why = "the broker is a slave or has longPollingEnable off (LOG-DSP-18)"
    text = _stuck_text(stuck, why) if stuck >= 0 else None
    ends = [place.max_phy_offset for place in puts.places.values() if recovered_from is not None]
    begins = log.Lives([lives.last], store.queues).begins  # no broker delivers what precedes them
    lost = [one for one in puts.lost if one.phy_offset >= begins.get((one.topic, one.queue_id), 0)]
    return Redispatched(text, tuple(lost), tuple(stated), hashes, max(ends, default=0), topics)


def _first_stop(reader: Reader, base: int, batch: log.Requests, chosen: NDArray[np.bool_]) -> int:
    """Physical offset of the first of the chosen records whose offsets in light queues are not numbers; -1 if there is none."""
    for place in np.flatnonzero(batch.copied & chosen).tolist():
        at = int(batch.phy_offset[place])
        if log.dispatch_stop(reader.read(at - base, int(batch.size[place])).tobytes(), light=False):
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

    queue: log.QueueStart
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
    """A queue: the logical offset at which the next unit goes in, None without a file, and the end of its last record.

    `stated` is whether that end is only what a record at another place states.
    """

    next: int | None = None
    max_phy_offset: int = -1
    kept: _Kept | None = None
    stated: bool = False


@dataclass(slots=True)
class _RecordPuts:
    """Puts of records from `begin` on, and the runs of those that get no unit."""

    begin: int
    places: dict[tuple[str, int], _Place] = field(default_factory=dict)
    lost: list[log.LostUnits] = field(default_factory=list)

    def add(
        self, batch: log.Requests, names: log.TopicNames, put: NDArray[np.bool_], at: NDArray[np.int64]
    ) -> None:
        """Adds the records of a batch that are `put`, `at` their own physical offsets."""
        chosen = np.flatnonzero(put)
        owners = np.stack((batch.topic[chosen], batch.queue_id[chosen]))
        for topic, queue_id in np.unique(owners, axis=1).T.tolist():
            rows = chosen[(owners[0] == topic) & (owners[1] == queue_id)]
            queue = names.names[topic], queue_id
            place = self.places.setdefault(queue, _Place())
            ends = batch.phy_offset[rows] + batch.size[rows]
            new = ends > place.max_phy_offset  # else they were built before: CQ-PUT-1
            astray = bool((batch.phy_offset[rows] != at[rows]).any())  # then it is a batch of its own
            if place.stated or astray:
                why = _STATED if place.stated else _BUILT
                self._lose(queue, place, batch.queue_offset[rows[~new]], at[rows[~new]], why)
            if new.any():
                self._put(queue, place, batch.queue_offset[rows[new]], at[rows[new]], astray=astray)
                place.max_phy_offset = int(ends[-1])
                place.stated = bool(batch.phy_offset[rows[-1]] > at[rows[-1]])

    def _put(
        self, queue: tuple[str, int], place: _Place, offsets: np.ndarray, starts: np.ndarray, *, astray: bool
    ) -> None:
        if place.next is None:
            place.next = int(offsets[0])
        taken = log.units_taken(offsets, place.next)
        place.next += int(np.count_nonzero(taken))
        self._lose(queue, place, offsets[~taken], starts[~taken], _TAKEN)
        if astray:
            self._lose(queue, place, offsets[taken], starts[taken], _ASTRAY)

    def _lose(
        self, queue: tuple[str, int], place: _Place, offsets: np.ndarray, starts: np.ndarray, reason: str
    ) -> None:
        for offset, start in zip(offsets.tolist(), starts.tolist(), strict=True):
            if place.kept is not None and place.kept.has(offset, start):
                continue
            last = self.lost[-1] if self.lost else None
            if last is not None and (last.topic, last.queue_id, last.first + last.count, last.reason) == (
                *queue,
                offset,
                reason,
            ):
                self.lost[-1] = replace(last, count=last.count + 1)
            else:
                self.lost.append(log.LostUnits(*queue, offset, 1, start, reason))


# The messages that consumers do not get, though the log has them: of units that are damaged already, by the pulls of a group that begins
# with the first message.
#
# Read beside `DefaultMessageStore.getMessage` 561-688 and the client's `MessageDecoder.decodes`.


_PULLED: Final = 32  # messages of a pull (pullBatchSize)
_LOOKED_AT: Final = 800  # units of a pull
_JUDGED: Final = 1 << 22  # units of a file, which real ones never have; more are taken for sound

_OWN, _OTHER, _LONGER, _EMPTY, _NOWHERE, _MIDST = range(6)
"""Where a unit leads: to a message of its queue, to another one, to one and the beginning of the next, to no byte, out of the log, into the midst of a record."""

_Key = tuple[str, int]


def undelivered(
    store: Store, faults: Sequence[Finding], starts: Sequence[log.QueueStart], dispatch_from: int
) -> int:
    """The number of messages that the log has and no pull gives, after a start that leaves the queues so and dispatches from an offset on.

    Units that the start takes out of queues, and further queues of multi-dispatch, are not counted.
    """
    files = {file.name: file for file in store.queues}
    bad: dict[str, list[tuple[int, int]]] = {}
    for one in faults:
        if one.file in files and one.offset is not None and one.deviation is not None:
            first = one.offset // QUEUE_UNIT.size
            bad.setdefault(one.file, []).append((first, first + one.deviation.count))
    damaged = {(files[name].topic or "", files[name].queue_id or 0): name for name in bad}
    missing = sum(
        one.deviation.count
        for one in faults
        if one.code == "queue.missing_unit" and one.deviation is not None
        if one.units is None
        or (*one.units[0].split("/")[1:],) not in {(topic, str(number)) for topic, number in damaged}
    )
    queues = [
        start
        for start in starts
        if (start.topic, start.queue_id) in damaged and not start.topic.startswith(LIGHT)
    ]
    kept = _kept_records(
        store, {(one.topic, one.queue_id): one.max_phy_offset for one in queues}, dispatch_from
    )
    for queue in queues:
        lost = sum(one.count for one in queue.lost(dispatch_from, store.end) if one.phy_offset < store.end)
        missing += max(kept[queue.topic, queue.queue_id] - _given(store, queue, bad) - lost, 0)
    return missing


def _kept_records(store: Store, queues: Mapping[_Key, int], dispatch_from: int) -> Counter[_Key]:
    """The number of records in the log of the last life of each queue, but for those that are put into it: after its last record, and from an offset on."""
    names, found = log.TopicNames(), Counter[_Key]()
    for file in store.logs if queues else ():
        for batch in log.read_requests(file, names, lambda _: None, keys=store.keys):
            for (topic, queue_id), end in queues.items():
                own = (
                    batch.queued
                    & (batch.topic == names.numbers.get(topic, -1))
                    & (batch.queue_id == queue_id)
                )
                begins = np.flatnonzero(own & (batch.queue_offset == 0))
                if begins.size:
                    found[topic, queue_id] = 0
                    own[: begins[-1]] = False
                own &= (batch.phy_offset < max(dispatch_from, end)) & (batch.phy_offset < store.end)
                found[topic, queue_id] += int(own.sum())
    return found


def _given(store: Store, queue: log.QueueStart, bad: Mapping[str, Sequence[tuple[int, int]]]) -> int:
    """The number of own messages that pulls give of a queue, each once; `bad` are runs of unsound units by file, each from one up to another."""
    given, led_to = 0, [np.empty(0, np.int64)]
    for file in queue.files:
        every = min(queue.end - file.base_offset, size_of(file) or 0) // QUEUE_UNIT.size
        raw = read_at(file, 0, max(min(every, _JUDGED), 0) * QUEUE_UNIT.size)
        rows = np.frombuffer(raw, UNIT_DTYPE)
        marked = {
            number
            for first, after in bad.get(file.name, ())
            for number in range(first, min(after, rows.size))
        }
        offsets, sizes = rows["phy_offset"].astype(np.int64), rows["size"].astype(np.int64)
        fillers = (sizes <= 0) | (sizes == PRE_BLANK_SIZE) | (offsets < store.begin)
        led_to.append(offsets[~fillers])
        fillers[[*marked]] = False
        at = int(np.argmin(fillers)) if not fillers.all() else rows.size
        ordered = sorted(number for number in marked if number >= at)
        given += max(every - rows.size, 0)
        while (place := bisect_left(ordered, at)) < len(ordered):
            whole = (ordered[place] - at) // _PULLED * _PULLED
            at, number = _pull(store, queue, offsets, sizes, at + whole, marked)
            given += whole + number
            if at < 0:  # a consumer asks for the same again and again
                return given
        given += max(rows.size - at, 0)
    every_unit = np.concatenate(led_to)
    return given - (every_unit.size - np.unique(every_unit).size)


def _pull(
    store: Store,
    queue: log.QueueStart,
    offsets: NDArray[np.int64],
    sizes: NDArray[np.int64],
    at: int,
    bad: Collection[int],
) -> tuple[int, int]:
    """Where the pull after one from a unit on begins, -1 if none succeeds there, and the number of own messages that the client can decode of this one.

    After a unit that leads out of the log the broker passes over those that lead before the file that would follow; the client gives up
    at bytes that are no record, and fails where there is none.
    """
    size, end, next_file = max(store.log_sizes), min(at + _LOOKED_AT, offsets.size), LONG_MIN
    sent = given = empty = 0
    is_spoilt = False
    while at < end:
        offset = int(offsets[at])
        if offset >= next_file:
            if sent == _PULLED:
                break
            leads = _leads(store, queue, offset, int(sizes[at])) if at in bad else _OWN
            sent, next_file = sent + (leads != _NOWHERE), LONG_MIN
            if leads == _NOWHERE:
                next_file = offset + size - offset % size
            given += leads in (_OWN, _LONGER) and not is_spoilt
            is_spoilt |= leads in (_LONGER, _MIDST)
            empty += leads == _EMPTY
        at += 1
    return -1 if 0 < sent == empty else at, given


def _leads(store: Store, queue: log.QueueStart, offset: int, size: int) -> int:
    file = store.log_at(offset)
    if size <= 0:
        return _EMPTY
    if (
        file is None
        or (end := offset - file.base_offset + size) > (size_of(file) or 0)
        or file.base_offset + end > store.end
    ):
        return _NOWHERE
    raw = read_at(file, offset - file.base_offset, size)
    length = int.from_bytes(raw[:4], signed=True)
    if not RECORD_FIXED_V4 <= length <= size or not isinstance(parse_record(raw[:length], 0), Record):
        return _MIDST
    if log.goes_to(raw[:length], queue.topic, queue.queue_id, light=store.light):
        return _OWN if length == size else _LONGER
    return _OTHER if length == size else _MIDST


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
    conf = store.conf
    if conf is not None and conf.ext_file_size is None:
        return None
    configured = None if conf is None else conf.ext_file_size
    usual = configured or usual_size([size for _, size in sizes])
    who = "the broker expects" if configured else "the others have"
    loaded = {(file.topic, file.queue_id) for file in store.queues}
    for file, size in sizes:
        if (file.topic, file.queue_id) in loaded:
            if size != usual:
                return f"{file.name}: an ext file of {size:,} bytes where {who} {usual:,}"
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


def deleted_exts(store: Store, queues: Sequence[log.QueueStart]) -> list[Deletion]:
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
    own: Sequence[StoreFile], files: list[StoreFile], queue: log.QueueStart, begin: int
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
    for file in files[-log.RECOVERED_FILES :]:
        for _, units in log.each_units(file, holes=True):
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


def _first_address(queue: log.QueueStart, begin: int) -> int | None:
    """Byte in the ext queue to which the first unit points whose record the log still has, of the queue's first file."""
    if not queue.files:
        return None
    file = queue.files[0]
    count = max(queue.end - file.base_offset, 0) // QUEUE_UNIT.size
    for first, units in log.each_units(file, holes=True):
        own = units[: max(count - first, 0)]
        live = np.flatnonzero(own["phy_offset"].astype(np.int64) >= begin)
        if live.size:
            tags = int(own["tags_code"][live[0]])
            return tags - LONG_MIN if tags <= LAST_ADDRESS else None
        if first + units.size >= count:
            break
    return None
