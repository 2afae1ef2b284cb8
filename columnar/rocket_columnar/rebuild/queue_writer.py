"""Writes consume-queue files as `ConsumeQueue.putMessagePositionInfo` does, and across holes in the log.

A queue must not end earlier than it did: the next message would get a logical offset that consumers have passed. The log
may lack the last records of a queue, in a hole, or because they expired. Their units are then copied from the store's own files.

Units are sorted by queue, many at once. In nearly all queues they simply follow one another, and are put together.
"""

import json
import shutil
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence
from io import FileIO
from itertools import pairwise
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray
from rocket_spec.layout import PRE_BLANK_SIZE, QUEUE_UNIT

from rocket_columnar.decode import ExtUnits
from rocket_columnar.formats import UNIT_DTYPE
from rocket_columnar.log import TopicNames
from rocket_columnar.rebuild.dispatched_columns import UNIT, Holes, LeftOut, Units, bucket_of, by_queue
from rocket_columnar.store import StoreFile, offset_name

# The units of the store's own queue files whose records the log lacks: in a hole, or because they expired.
#
# Their places follow from no record any more, and a broker may still deliver a record in a hole.


_SIZE: Final = QUEUE_UNIT.size


class OwnUnits:
    """The units of the store's files by place.

    `places` has for each queue the logical offset of the first unit of its files, and that after the last before the hole at the end.
    """

    def __init__(self, files: Sequence[StoreFile], holes: Holes) -> None:
        self.places: dict[tuple[str, int], tuple[int, int]] = {}
        self._holes = holes
        self._files: dict[tuple[str, int], list[tuple[int, int, StoreFile]]] = {}
        for file in sorted(files, key=lambda file: file.base_offset):
            if file.kind == "queue" and file.topic is not None and file.queue_id is not None:
                key, first = (file.topic, file.queue_id), file.base_offset // _SIZE
                with file.open() as reader:
                    end = first + -(-reader.data_end() // _SIZE)
                self._files.setdefault(key, []).append((first, end, file))
                self.places[key] = self.places.get(key, (first, 0))[0], end

    def next_held(self, key: tuple[str, int], place: int) -> int:
        """The first logical offset from `place` on whose unit is not in a hole of its file; the queue's end without one."""
        for first, end, file in self._files[key]:
            if place < end:
                with file.open() as reader:
                    held = next(reader.extents(max(place - first, 0) * _SIZE), None)
                if held is not None:
                    return max(place, first + held[0] // _SIZE)
        return self.places[key][1]

    def lost(
        self, key: tuple[str, int], place: int, count: int, *, after: int, before: int
    ) -> NDArray[np.void]:
        """`count` units from the logical offset `place` on; zeros for those that are no unit of a lost record.

        The record before them ends at the physical offset `after`, and the one after them begins at `before`.
        """
        units = np.zeros(count, UNIT_DTYPE)
        for first, end, file in self._files.get(key, ()):
            start, stop = max(place, first), min(place + count, end)
            if start < stop:
                with file.open() as reader:
                    data = reader.read((start - first) * _SIZE, (stop - start) * _SIZE)
                units[start - place : stop - place] = data.view(UNIT_DTYPE)
        offset, size = units["phy_offset"].astype(np.int64), units["size"].astype(np.int64)
        real = (size > 0) & (size != PRE_BLANK_SIZE)
        ends = np.maximum.accumulate(np.append(after, np.where(real, offset + size, 0)))
        real &= (offset >= ends[:-1]) & (offset + size <= before) & self._holes.hold(offset)
        units[~real] = np.zeros((), UNIT_DTYPE)
        return units


# A consume queue in the making, the ext units that are its own, and the files of many that stay open.


_OPEN: Final = 64  # files that stay open for the next units of their queues


class OpenHandles:
    """Files that were written last and stay open: most units go into the same files as those before."""

    def __init__(self) -> None:
        self._files: dict[str, FileIO] = {}  # the one written last is at the end

    def write(self, path: str, position: int, data: memoryview) -> None:
        """Writes all of `data` from a byte of a file on."""
        file = self._files.pop(path, None)
        if file is None:
            if len(self._files) == _OPEN:
                self._files.pop(next(iter(self._files))).close()
            file = FileIO(path, "r+")
        self._files[path] = file
        file.seek(position)
        while data:
            data = data[file.write(data) :]

    def close(self) -> None:
        """Closes all."""
        while self._files:
            self._files.popitem()[1].close()


class Addresses:
    """The ext units of one queue, taken in order.

    Bit maps depend on the consumers at that time, so ext units cannot be rebuilt. Each existing one belongs to
    the next message of the queue that has its store timestamp and tags code. Units that no message takes are orphans of
    repeated puts.
    """

    def __init__(self, ext: ExtUnits, topic: str, queue_id: int) -> None:
        self._addresses, tags, times = ext.of(topic, queue_id)
        self._next = 0
        self._places: dict[tuple[int, int], list[int]] = {}
        for place, key in enumerate(zip(tags.tolist(), times.tolist(), strict=True)):
            self._places.setdefault(key, []).append(place)

    def __bool__(self) -> bool:
        """Whether an ext unit is left."""
        return self._next < self._addresses.size

    def take(self, tags_code: NDArray[np.int64], store_timestamp: NDArray[np.int64]) -> NDArray[np.int64]:
        """The content of the units' tags codes: addresses, or the tags code itself if no ext unit is left."""
        taken = tags_code.copy()
        for number, key in enumerate(zip(tags_code.tolist(), store_timestamp.tolist(), strict=True)):
            places = self._places.get(key, [])
            at = bisect_left(places, self._next)
            if at < len(places):
                taken[number] = self._addresses[places[at]]
                self._next = places[at] + 1
        return taken


class OpenQueue:
    """One queue, and its files in the staging directory of a rebuild.

    Attributes:
        key: topic and queue id.
        begun: whether its first unit is known.
        position: logical offset of the next unit, by its place.
        max_phy_offset: where the record of the last unit ends.
        ahead: by how much the last unit's record states a higher logical offset than the unit's place.
        addresses: the ext units that are left for it, if any.
        kinds: whether its units are copies.
    """

    def __init__(self, directory: Path, key: tuple[str, int], file_size: int, files: OpenHandles) -> None:
        self.key = key
        self.begun = False
        self.position = self.max_phy_offset = self.ahead = 0
        self.addresses: Addresses | None = None
        self.left_out = False
        self.kinds: set[bool] = set()
        self._directory = directory / "consumequeue" / key[0] / str(key[1])
        self._file_size = file_size
        self._files = files
        self._path = ""  # of the last file that was created
        self._last = -1  # its first byte

    @property
    def mixed(self) -> bool:
        """Whether it has both its own records and copies of others, whose logical offsets are counted apart."""
        return len(self.kinds) > 1

    def begin(self, logical_offset: int) -> int:
        """The first put: the number of units before it in its file, which are pre-blank (CQ-UNIT-2)."""
        self.begun = True
        number = max(logical_offset, 0)
        left = number % (self._file_size // _SIZE)
        self.position = number - left
        return left

    def append(self, units: NDArray[np.void], end: int, *, skipped: bool = False) -> None:
        """Puts units whose last record ends at `end`; a skipped unit after them still creates the next file."""
        data = memoryview(units.view(np.uint8).data)
        position = self.position * _SIZE
        self.position, self.max_phy_offset = self.position + units.size, end
        while data:
            at = position % self._file_size
            part = data[: self._file_size - at]
            self._create(position - at)
            self._files.write(self._path, at, part)
            position += len(part)
            data = data[len(part) :]
        if skipped:
            self._create(position - position % self._file_size)

    def remove(self) -> None:
        """Removes the files of a queue that is left out after all."""
        shutil.rmtree(self._directory, ignore_errors=True)
        if self._directory.parent.exists() and not any(self._directory.parent.iterdir()):
            self._directory.parent.rmdir()

    def _create(self, begin: int) -> None:
        """Creates the file that begins at a byte of the queue, unless it is the last one created."""
        if begin > self._last:
            if self._last < 0:
                self._directory.mkdir(parents=True, exist_ok=True)
            path = self._directory / offset_name(begin)
            with path.open("wb") as file:
                file.truncate(self._file_size)
            self._last, self._path = begin, str(path)


_UNITS_AT_ONCE: Final = 1 << 16

_FEW, _MANY = 1 << 15, 1 << 20  # minimum and maximum number of units that are distributed together

_OF_EACH: Final = 16  # average number of units that are collected for each queue before files are opened

_COPIED: Final = 1 << 20

_LARGEST: Final = 1 << 62  # largest logical offset of a unit: those that follow it still fit into 64 bits


def write_queues(
    directory: Path,
    parts: Sequence[tuple[Path, Sequence[tuple[int, int]]]],
    files: Sequence[StoreFile],
    queue_file_size: int,
    holes: Holes,
) -> list[LeftOut]:
    """Writes the queues of one bucket, and copies their ext files; returns the queues that are left out.

    Into `directory` go `consumequeue/` and `consumequeue_ext/`. The parts are for each log file, in order, the directory that `dispatch_log`
    wrote, and first and number of the bucket's units there (`Dispatched.unit_ranges`); `files` are the store's, of the bucket's queues
    (`in_bucket`).
    """
    queues = QueueFiles(directory, files, queue_file_size, holes)
    try:
        for units in _read_units(parts, queues.topics):
            queues.put(units)
        queues.close()
    finally:
        queues.abandon()
    return queues.left_out


def in_bucket(files: Iterable[StoreFile], bucket: int, buckets: int) -> list[StoreFile]:
    """The queue and ext files of one bucket's queues."""
    return [
        file
        for file in files
        if file.topic is not None and bucket_of(file.topic, file.queue_id or 0, buckets) == bucket
    ]


def _read_units(
    parts: Iterable[tuple[Path, Iterable[tuple[int, int]]]], topics: TopicNames
) -> Iterator[Units]:
    """The units of a bucket, their topics numbered by `topics`."""
    for part, ranges in parts:
        numbers: NDArray[np.int32] | None = None
        for first, number in ranges:
            if numbers is None:
                names = json.loads((part / "topics.json").read_text("utf-8"))
                numbers = np.array([topics.number(name) for name in names], np.int32)
            units = Units.of(np.fromfile(part / "units", UNIT, number, offset=first * UNIT.itemsize))
            yield units._replace(topic=numbers[units.topic])


class QueueFiles:
    """The files of many queues in the making.

    Units are put as 4.9.3 does: those that were put before, and those before the write position, are skipped, and a gap
    before a unit is ignored. Across a hole in the log, units are copied from the old queue, or filled with pre-blank
    units, so that later offsets do not move. Holes before a unit are known when it is put.

    Source: `ConsumeQueue.putMessagePositionInfo` 478-530.
    """

    def __init__(self, directory: Path, files: Sequence[StoreFile], file_size: int, holes: Holes) -> None:
        self.topics = TopicNames()
        self.left_out: list[LeftOut] = []
        self._directory = directory
        self._files = files
        self._file_size = file_size
        self._holes = holes
        self._own = OwnUnits(files, holes)
        self._lost = 0  # records for which there are pre-blank units
        self._ext = _ext_units(files)
        self._held: list[Units] = []
        self._count = 0  # units in `_held`
        self._open = OpenHandles()
        self._queues: dict[tuple[int, int], OpenQueue] = {}

    def put(self, units: Units) -> None:
        """Puts units in order, without those of earlier lives; they are in the files when others come, or after `close`."""
        kept = self._holes.lives.hold(self.topics, units.topic, units.queue_id, units.phy_offset)
        if not kept.all():
            units = units.taken(np.flatnonzero(kept | units.is_copy))
        self._held.append(units)
        self._count += units.topic.size
        if self._count >= min(max(_FEW, _OF_EACH * len(self._queues)), _MANY):
            self._put_held()

    def close(self) -> None:
        """Completes the files, and copies the ext files of the queues."""
        self._put_held()
        self._put_lost()
        self._open.close()
        for queue in self._queues.values():
            if queue.left_out:
                queue.remove()
        written = {queue.key for queue in self._queues.values() if not queue.left_out}
        _copy_ext(self._files, written, self._directory)

    def abandon(self) -> None:
        """Closes the files that are open after a failure; does nothing after `close`."""
        self._open.close()

    def _put_held(self) -> None:
        if not self._count:
            return
        units, self._held, self._count = Units.joined(self._held), [], 0
        order, begins = by_queue(units)
        units = units.taken(order)
        rows = np.empty(order.size, UNIT_DTYPE)
        for name in rows.dtype.names or ():
            rows[name] = getattr(units, name)
        ends = units.phy_offset + units.size
        rising, steady = np.ones(order.size, np.bool_), np.ones(order.size, np.bool_)
        rising[1:], steady[1:] = ends[1:] > ends[:-1], np.diff(units.logical_offset) == 1
        rising[begins], steady[begins] = True, True
        usual = np.logical_and.reduceat(rising & steady, begins).tolist()
        copied = bool(units.is_copy.any())
        for number, (begin, stop) in enumerate(pairwise([*begins.tolist(), order.size])):
            queue = self._queue(units, begin)
            if queue.left_out:
                continue
            queue.kinds |= (
                {bool(kind) for kind in np.unique(units.is_copy[begin:stop])} if copied else {False}
            )
            if queue.addresses:
                own = begin + np.flatnonzero(~units.is_copy[begin:stop])  # copies never have an address
                rows["tags_code"][own] = queue.addresses.take(
                    units.tags_code[own], units.store_timestamp[own]
                )
            begins_here = int(units.logical_offset[begin]) == queue.position < _LARGEST
            if usual[number] and begins_here and ends[begin] > queue.max_phy_offset:
                queue.append(rows[begin:stop], int(ends[stop - 1]))
            else:
                self._put_singly(queue, units.taken(slice(begin, stop)), rows[begin:stop])

    def _queue(self, units: Units, at: int) -> OpenQueue:
        """The queue of a unit; a new one begins with it."""
        number = int(units.topic[at]), int(units.queue_id[at])
        queue = self._queues.get(number)
        if queue is None:
            key = self.topics.names[number[0]], number[1]
            queue = self._queues[number] = OpenQueue(self._directory, key, self._file_size, self._open)
            queue.addresses = Addresses(self._ext, *key) if self._ext else None
            blank = queue.begin(int(units.logical_offset[at]))
            self._blank(queue, blank, int(units.phy_offset[at]))
        return queue

    def _leave_out(self, queue: OpenQueue, phy_offset: int, reason: str) -> None:
        queue.left_out = True
        self.left_out.append(LeftOut(*queue.key, phy_offset, reason))

    def _put_lost(self) -> None:
        """Puts the last units of the store's own files if the log lacks their records."""
        queues = {queue.key: queue for queue in self._queues.values()}
        for key, (first, end) in self._own.places.items():
            queue = queues.get(key)
            if queue is None:
                queue = OpenQueue(self._directory, key, self._file_size, self._open)
                self._queues[self.topics.number(key[0]), key[1]] = queue
            place = queue.position if queue.begun else first
            while not queue.left_out:
                if not queue.begun:
                    place = self._own.next_held(key, place)
                if place >= end:
                    break
                units = self._lost_units(queue, place, min(_UNITS_AT_ONCE, end - place), _LARGEST)
                there = units["size"] > 0
                start = int(np.argmax(there)) if not queue.begun else 0
                if there[start]:
                    if not queue.begun:
                        self._blank(queue, queue.begin(place + start), int(units["phy_offset"][start]))
                    count = int(np.argmin(there[start:])) or units.size - start
                    queue.append(units[start : start + count], queue.max_phy_offset)
                place += units.size
                if queue.begun and queue.position < place:
                    break

    def _blank(self, queue: OpenQueue, count: int, phy_offset: int) -> None:
        """Puts the units of lost records before the one at `phy_offset`: the store's own, else pre-blank ones."""
        for left in range(count, 0, -_UNITS_AT_ONCE):
            units = self._lost_units(queue, queue.position, min(left, _UNITS_AT_ONCE), phy_offset)
            units["size"][units["size"] == 0] = PRE_BLANK_SIZE
            queue.append(units, queue.max_phy_offset)

    def _lost_units(self, queue: OpenQueue, place: int, count: int, before: int) -> NDArray[np.void]:
        return self._own.lost(queue.key, place, count, after=queue.max_phy_offset, before=before)

    def _put_singly(self, queue: OpenQueue, units: Units, rows: NDArray[np.void]) -> None:
        """Puts units of one queue whose places do not simply follow one another."""
        columns = (units.phy_offset, units.size, units.logical_offset)
        taken: list[int] = []  # rows that are put together
        end, skipped = queue.max_phy_offset, False
        for row, (phy_offset, size, logical) in enumerate(
            zip(*(column.tolist() for column in columns), strict=True)
        ):
            if phy_offset + size <= end:
                continue
            position = queue.position + len(taken)
            away = logical - position
            if away not in (0, queue.ahead) and self._holes.between(end, phy_offset) and away > 0:
                queue.append(rows[taken], end)
                taken = []
                if not self._fill(queue, away, phy_offset):
                    return
                away = 0
            if queue.ahead and logical and away not in (0, queue.ahead) and queue.kinds == {False}:
                reason = f"states logical offset {logical:,} after others stated up to {position - 1 + queue.ahead:,}"
                self._leave_out(queue, phy_offset, reason)
                return
            skipped = logical != 0 and away < 0
            if not skipped:
                queue.ahead = max(away, 0)
                taken.append(row)
                end = phy_offset + size
        queue.append(rows[taken], end, skipped=skipped)

    def _fill(self, queue: OpenQueue, lost: int, phy_offset: int) -> bool:
        """Puts the store's own units for lost records, else pre-blank ones; leaves the queue out if their number cannot be right."""
        self._lost += lost
        if not queue.mixed and not queue.ahead and self._lost <= self._holes.records:
            self._blank(queue, lost, phy_offset)
            return True
        if queue.mixed:
            why = "the queue's own records and those that are copied to it are numbered apart"
        elif queue.ahead:
            why = f"the units before the hole state offsets {queue.ahead:,} above their places"
        else:
            why = "the hole has no room for their records"
        reason = (
            f"comes after a hole in the log and states an offset {lost:,} above the queue's end, but {why}"
        )
        self._leave_out(queue, phy_offset, reason)
        return False


def _ext_units(files: Sequence[StoreFile]) -> ExtUnits | None:
    """The ext units of a store, if it has any: their decoding loads pyarrow."""
    if not any(file.kind == "ext" for file in files):
        return None
    from rocket_columnar.decode import ExtUnits

    return ExtUnits(files)


def _copy_ext(files: Sequence[StoreFile], queues: Collection[tuple[str, int]], directory: Path) -> None:
    """Copies the ext files of some queues; holes stay holes."""
    for file in files:
        if file.kind == "ext" and (file.topic or "", file.queue_id or 0) in queues:
            folder = directory / "consumequeue_ext" / (file.topic or "") / str(file.queue_id)
            folder.mkdir(parents=True, exist_ok=True)
            with file.open() as reader, (folder / file.path.name).open("wb") as copy:
                copy.truncate(reader.size)
                for begin, end in reader.extents():
                    copy.seek(begin)
                    for start in range(begin, end, _COPIED):
                        copy.write(reader.read(start, min(_COPIED, end - start)).data)
