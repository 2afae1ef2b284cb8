"""Progress of consumers, delayed messages and transactions: the configuration compared with the queues and the log.

Numbers are those that a broker would give after a start: offsets from the file of `config/` that it takes (CFG-1),
minimum and maximum offsets from the queues.
"""

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np

from rocket_columnar.consumers.by_offset import real_tags, units
from rocket_columnar.decode import ExtUnits, decode
from rocket_columnar.describe import QueueView, queue_views
from rocket_columnar.facts import Store
from rocket_columnar.query import CommitLog
from rocket_columnar.store import StoreFile, by_queue, open_reader

SCHEDULE: Final = "SCHEDULE_TOPIC_XXXX"
HALF: Final = "RMQ_SYS_TRANS_HALF_TOPIC"
OP: Final = "RMQ_SYS_TRANS_OP_HALF_TOPIC"

CHECKER: Final = "CID_RMQ_SYS_TRANS"
"""The group in whose name the broker itself reads the queues of transactions."""

_PRECISION: Final = 1000
"""Ms of a slot of the timer wheel: the default of timerPrecisionMs, which no file records."""

_RETRY: Final = "%RETRY%"
_DEAD: Final = "%DLQ%"
_REMOVE: Final = ord("d")  # tags code of an op message, whose tag is d
_HALVES: Final = 1000  # of which details are read

_Queue = tuple[str, int]


@dataclass(frozen=True, slots=True)
class GroupLag:
    """Progress of a consumer group in one queue."""

    group: str
    topic: str
    queue_id: int
    offset: int  # logical offset of the next message that the group gets
    min_offset: int
    max_offset: int  # of the queue; 0 without files
    # `max_offset - offset`, as `mqadmin consumerProgress` counts them; below 0 for a group ahead of its queue
    messages: int
    size: int | None  # bytes of the unread records that the log still has; None if they were not counted
    expired: int  # number of messages that were deleted before the group got them
    first_timestamp: int | None  # store time of the oldest unread message, ms; None without one


@dataclass(frozen=True, slots=True)
class DelayLevel:
    """The delayed messages of one level."""

    delay_level: int  # 1 for the first
    offset: int  # logical offset of the next one to deliver in queue `delay_level - 1` of SCHEDULE_TOPIC_XXXX
    max_offset: int  # of that queue
    messages: int  # number of those that wait
    overdue: int  # of these, how many were due before now
    next_due: int | None  # when the first of them is due, ms; None without one
    last_due: int | None  # when the last of them is due, ms; None without one


@dataclass(frozen=True, slots=True)
class Timers:
    """The messages of a broker of 5.x with a delivery time of their own, as its timer wheel has them (TIM-1)."""

    messages: int  # number of those that wait
    overdue: int  # of these, how many were due before now
    next_due: int | None  # when the first of them is due, or enqueued again (TIM-3), ms; None without one
    last_due: int | None  # when the last of them is, ms; None without one


@dataclass(frozen=True, slots=True)
class OpenHalf:
    """A half message that was neither committed nor rolled back."""

    queue_id: int  # number of its queue of RMQ_SYS_TRANS_HALF_TOPIC
    queue_offset: int  # its logical offset there
    phy_offset: int
    topic: str | None  # the topic that it is for; None if its record cannot be read
    uniq_key: str | None
    store_timestamp: int | None  # when it was stored, ms; each check stores it again
    born_timestamp: int | None  # when it was sent, ms
    checks: int  # how often the broker asked its producer


@dataclass(frozen=True, slots=True)
class Failed:
    """Messages that a group could not consume."""

    group: str
    retries: int  # number of messages that wait in its retry topic
    dead: int  # number of messages in its dead-letter topic that the log still has


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of everything that reads a store."""

    groups: tuple[GroupLag, ...]  # by group, topic and queue
    delays: tuple[DelayLevel, ...]  # the levels that ever had a message
    timers: Timers | None  # messages with a delivery time of their own; None without a timer wheel
    halves: tuple[OpenHalf, ...]  # open half messages, the oldest first; the first 1,000 of them
    open_halves: int
    failed: tuple[Failed, ...]  # groups with a retry or dead-letter topic

    def row(self) -> dict[str, Any]:
        """All of it as plain values, by name."""
        lists = {
            name: [asdict(item) for item in getattr(self, name)]
            for name in ("groups", "delays", "halves", "failed")
        }
        timers = None if self.timers is None else asdict(self.timers)
        return lists | {"timers": timers, "open_halves": self.open_halves}


def progress(store: Store, *, sizes: bool = False) -> Progress:
    """Progress of the consumers, delayed messages and transactions of a store; OSError if a file cannot be read.

    With `sizes` the bytes of unread records are counted too, which reads a unit for each.
    """
    return store.looked_at(lambda: _progress(store, sizes=sizes), despite_unreadable=False)


def _progress(store: Store, *, sizes: bool) -> Progress:
    offsets = store.config("consumer_offsets").rows
    with ExitStack() as stack:
        reading = _StoreReading(store, CommitLog(store, stack), sizes=sizes)
        groups = tuple(
            reading.lag(row["group"], row["topic"], row["queue_id"], row["offset"])
            for row in sorted(offsets, key=lambda row: (row["group"], row["topic"], row["queue_id"]))
        )
        delays = reading.delays(
            {row["delay_level"]: row["offset"] for row in store.config("delay_offsets").rows}
        )
        halves = list(
            reading.open_halves(
                {(row["topic"], row["queue_id"]): row["offset"] for row in offsets if row["group"] == CHECKER}
            )
        )
        shown = tuple(reading.half(*half) for half in halves[:_HALVES])
        failed = tuple(_failed(store.once(queue_views), groups))
        return Progress(groups, tuple(delays), _timers(store), shown, len(halves), failed)


def _timers(store: Store) -> Timers | None:
    """The slots with messages that the broker has not read (`TimerMessageStore.recover` 339, `getAllNum` 1883, `TimerCheckpoint` 62 of 5.5.0)."""
    wheel = None if store.path is None else store.path / "timerwheel"
    if wheel is None or not wheel.is_file():
        return None
    read = 0
    with suppress(FileNotFoundError), open_reader(wheel.parent / "config" / "timercheck") as reader:
        read = int.from_bytes(reader.read(0, min(reader.size, 8)).tobytes(), signed=True)
    times, counts = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for _, rows in decode([StoreFile("timer_wheel", wheel, wheel.name)], tables=["timer_wheel"]):
        time_ms = rows["delayed_time"].to_numpy() * _PRECISION
        waiting = (time_ms >= read) & (rows["num"].to_numpy() > 0)
        times.append(time_ms[waiting])
        counts.append(rows["num"].to_numpy()[waiting].astype(np.int64))
    due, count = np.concatenate(times), np.concatenate(counts)
    return Timers(
        messages=int(count.sum()),
        overdue=int(count[due <= time.time_ns() // 1_000_000].sum()),
        next_due=int(due.min()) if due.size else None,
        last_due=int(due.max()) if due.size else None,
    )


class _StoreReading:
    """The queues and the log of a store while they are read."""

    def __init__(self, store: Store, log: CommitLog, *, sizes: bool) -> None:
        self._bounds = store.once(queue_views)
        self._files = by_queue(store.queues)
        self._ext = ExtUnits(store.exts)
        self._log = log
        self._sizes = sizes

    def _span(self, topic: str, queue_id: int) -> tuple[int, int]:
        queue = self._bounds.get((topic, queue_id))
        return (0, 0) if queue is None else (queue.min_offset, queue.max_offset)

    def lag(self, group: str, topic: str, queue_id: int, offset: int) -> GroupLag:
        low, high = self._span(topic, queue_id)
        size, first = 0, None
        for _, some in units(self._files.get((topic, queue_id), ()), max(offset, low), high):
            size += int(some["size"].sum(dtype="i8"))
            first = int(some["phy_offset"][0]) if first is None else first
            if not self._sizes:
                break
        return GroupLag(
            group=group,
            topic=topic,
            queue_id=queue_id,
            offset=offset,
            min_offset=low,
            max_offset=high,
            messages=high - offset,
            size=size if self._sizes else None,
            expired=max(low - offset, 0),
            first_timestamp=None if first is None else self._log.store_timestamp(first),
        )

    def delays(self, offsets: Mapping[int, int]) -> Iterator[DelayLevel]:
        now = time.time_ns() // 1_000_000
        levels = {queue_id + 1 for topic, queue_id in self._bounds if topic == SCHEDULE}
        for level in sorted(levels | offsets.keys()):
            low, high = self._span(SCHEDULE, level - 1)
            offset = offsets.get(level, 0)
            due = [
                real_tags(self._ext, (SCHEDULE, level - 1), some)
                for _, some in units(self._files.get((SCHEDULE, level - 1), ()), max(offset, low), high)
            ]
            times = np.concatenate(due) if due else np.zeros(0, "i8")
            yield DelayLevel(
                delay_level=level,
                offset=offset,
                max_offset=high,
                messages=max(high - max(offset, low), 0),
                overdue=int((times <= now).sum()),
                next_due=int(times[0]) if times.size else None,
                last_due=int(times[-1]) if times.size else None,
            )

    def open_halves(self, offsets: Mapping[_Queue, int]) -> Iterator[tuple[int, int, int]]:
        """Queue number, logical and physical offset of each half message that no op message names.

        Source: `TransactionalMessageServiceImpl.check` 128-241, `fillOpRemoveMap` 257-304 (4.9.3).
        """
        for topic, queue_id in sorted(self._bounds):
            if topic != HALF:
                continue
            done = self._resolved(queue_id, offsets.get((OP, queue_id), 0))
            low, high = self._span(HALF, queue_id)
            begin = max(offsets.get((HALF, queue_id), 0), low)
            for first, some in units(self._files.get((HALF, queue_id), ()), begin, high):
                for number, phy_offset in enumerate(some["phy_offset"].tolist(), first):
                    if number not in done:
                        yield queue_id, number, phy_offset

    def _resolved(self, queue_id: int, begin: int) -> set[int]:
        """Logical offsets of the half messages that the op messages of a queue name from an offset on."""
        low, high = self._span(OP, queue_id)
        done = set()
        for _, some in units(self._files.get((OP, queue_id), ()), max(begin, low), high):
            for phy_offset in some["phy_offset"][
                real_tags(self._ext, (OP, queue_id), some) == _REMOVE
            ].tolist():
                found = self._log.record(phy_offset)
                if found is None:
                    continue
                data, record = found
                length = int.from_bytes(data[record.body - 4 : record.body], signed=True)
                body = data[record.body : record.body + max(length, 0)]
                if body.isdigit() and len(body) < 20:
                    done.add(int(body))
        return done

    def half(self, queue_id: int, queue_offset: int, phy_offset: int) -> OpenHalf:
        row = self._log.row(phy_offset)
        properties: Mapping[str, str] = row["properties"] or {}
        checks = properties.get("TRANSACTION_CHECK_TIMES", "")
        return OpenHalf(
            queue_id=queue_id,
            queue_offset=queue_offset,
            phy_offset=phy_offset,
            topic=properties.get("REAL_TOPIC"),
            uniq_key=row["uniq_key"],
            store_timestamp=row["store_timestamp"],
            born_timestamp=row["born_timestamp"],
            checks=int(checks) if checks.isdecimal() and len(checks) < 10 else 0,
        )


def _failed(bounds: Mapping[_Queue, QueueView], groups: Sequence[GroupLag]) -> Iterator[Failed]:
    retries, dead = Counter[str](), Counter[str]()
    read = {(lag.topic, lag.queue_id): lag.offset for lag in groups if lag.topic == _RETRY + lag.group}
    for (topic, queue_id), queue in bounds.items():
        if topic.startswith(_RETRY):
            begin = max(read.get((topic, queue_id), 0), queue.min_offset)
            retries[topic.removeprefix(_RETRY)] += max(queue.max_offset - begin, 0)
        elif topic.startswith(_DEAD):
            dead[topic.removeprefix(_DEAD)] += queue.messages
    for group in sorted(retries.keys() | dead.keys()):
        yield Failed(group, retries[group], dead[group])
