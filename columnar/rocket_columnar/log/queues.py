"""Queues as the log knows them: those that a record names beside its own, and where their logical offsets begin again."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rocket_spec.layout import RECORD_FIXED_V4

from rocket_columnar.formats import Bad, clean_utf8, parse_long, parse_properties, parse_record
from rocket_columnar.log.requests import Requests, TopicNames
from rocket_columnar.store import LIGHT, StoreFile

_QUEUES: Final = b"INNER_MULTI_DISPATCH"
_OFFSETS: Final = b"INNER_MULTI_QUEUE_OFFSET"


class Copy(NamedTuple):
    """A queue, and the logical offset that a record has there."""

    topic: str
    queue_id: int
    logical_offset: int


def batch_copies(file: StoreFile, batch: Requests, *, light: bool) -> Iterator[tuple[int, list[Copy]]]:
    """The place and the copies of each record of a batch that is copied, in the order of their puts.

    Raises:
        OSError: the file cannot be read.
    """
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
    """The copies that a whole record names; none if its two lists differ in length.

    Source: `ConsumeQueue.multiDispatchLmqQueue` 432-453.
    """
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


def ends_of_lives(
    batches: Iterable[Requests], names: TopicNames, queues: Collection[tuple[str, int]]
) -> dict[tuple[str, int], tuple[int, int]]:
    """For each queue, the logical offset after its last record in the log, and the greatest one of its earlier lives."""
    ends: dict[tuple[str, int], tuple[int, int]] = dict.fromkeys(queues, (0, 0))
    for batch in batches:
        topics = {names.numbers[topic]: topic for topic, _ in queues if topic in names.numbers}
        rows = batch.queued & np.isin(batch.topic, list(topics))
        columns = (batch.topic[rows], batch.queue_id[rows], batch.queue_offset[rows])
        for topic, queue_id, offset in zip(*(column.tolist() for column in columns), strict=True):
            place = topics[topic], queue_id
            if place in ends:
                end, earlier = ends[place]
                ends[place] = offset + 1, earlier if offset else max(earlier, end)
    return ends


class Life(NamedTuple):
    """A place where a queue begins to count from 0.

    Attributes:
        topic: of the queue.
        queue_id: of the queue.
        begin: physical offset of its first record.
        again: whether records of the queue precede it in its file of the log.
    """

    topic: str
    queue_id: int
    begin: int
    again: bool


class FileLives:
    """The places in one file of the log where queues begin to count from 0."""

    def __init__(self) -> None:
        self._seen: set[int] = set()
        self._lives: dict[tuple[str, int], Life] = {}

    def add(self, batch: Requests, names: TopicNames) -> None:
        """Adds the next records of the file."""
        codes = _codes(batch.topic, batch.queue_id)
        queues, begins = np.unique(codes, return_index=True)
        for row in np.flatnonzero(batch.queued & (batch.queue_offset == 0)).tolist():
            code = int(codes[row])
            again = code in self._seen or bool(begins[np.searchsorted(queues, code)] < row)
            life = Life(
                names.names[batch.topic[row]], int(batch.queue_id[row]), int(batch.phy_offset[row]), again
            )
            self._lives[life[:2]] = life
        self._seen.update(queues.tolist())

    @property
    def last(self) -> tuple[Life, ...]:
        """The last one of each queue."""
        return tuple(self._lives.values())


class Lives:
    """The begin of the last life of each queue that may have had another one.

    Args:
        files: of each file of the log, in order, the last place where each of its queues begins to count.
    """

    def __init__(self, files: Iterable[Iterable[Life]] = ()) -> None:
        self.begins = {
            (life.topic, life.queue_id): life.begin
            for number, lives in enumerate(files)
            for life in lives
            if number or life.again
        }

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
