"""Writes consume-queue files, unit by unit as `ConsumeQueue.putMessagePositionInfo` does.

Many units are distributed to their queues by compiled loops, few in Python.
"""

from __future__ import annotations

import json
import struct
from io import FileIO
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from rocket_spec.layout import PRE_BLANK_SIZE, QUEUE_UNIT

from rocket_columnar import formats
from rocket_columnar.formats import UNIT_DTYPE
from rocket_columnar.log import TopicNames
from rocket_columnar.rebuild.batch_columns import UNIT, Units
from rocket_columnar.rebuild.ext_addresses import Addresses
from rocket_columnar.store import is_safe

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from rocket_columnar.decode import ExtUnits
    from rocket_columnar.store import StoreFile

__all__ = ["QueueFiles", "UnsafeUnit", "write_queues"]

_SIZE: Final = QUEUE_UNIT.size
_UNIT: Final = struct.Struct(QUEUE_UNIT.struct_format)
_AT_ONCE: Final = 1 << 16
_FEW, _MANY = 1 << 15, 1 << 20
"""Units that are distributed together, at least and at most."""
_OF_EACH: Final = 16
"""Units that are collected for each queue, on average, before files are opened."""
_COPIED: Final = 1 << 20
_OPEN: Final = 64
"""Files that stay open for the next units of their queues."""
_LEFT_OUT: Final = -2


def write_queues(
    directory: Path,
    parts: Sequence[tuple[Path, Sequence[tuple[int, int]]]],
    files: Sequence[StoreFile],
    queue_file_size: int,
) -> None:
    """Writes the queues of one bucket, and copies their ext files.

    Args:
        directory: for `consumequeue/` and `consumequeue_ext/`.
        parts: for each log file, in order, the directory that `dispatch_log` wrote, and first and number of the
            bucket's units there (`Dispatched.unit_spans`).
        files: the store's.
        queue_file_size: bytes.

    Raises:
        OSError: reading or writing fails.
    """
    count = sum(number for _, spans in parts for _, number in spans)
    queues = QueueFiles(directory, files, queue_file_size, compiled=count >= formats.COMPILED_FROM)
    try:
        for units in _read_units(parts, queues.topics):
            queues.put(units)
        queues.close()
    finally:
        queues.abandon()


def _read_units(
    parts: Iterable[tuple[Path, Iterable[tuple[int, int]]]], topics: TopicNames
) -> Iterator[Units]:
    """The units of a bucket, their topics numbered by `topics`."""
    for part, spans in parts:
        numbers: NDArray[np.int32] | None = None
        for first, number in spans:
            if numbers is None:
                names = json.loads((part / "topics.json").read_text("utf-8"))
                numbers = np.array([topics.number(name) for name in names], np.int32)
            units = Units.of(np.fromfile(part / "units", UNIT, number, offset=first * UNIT.itemsize))
            yield units._replace(topic=numbers[units.topic])


class UnsafeUnit(NamedTuple):
    """The first unit of a queue whose topic cannot be the name of a directory."""

    topic: str
    queue_id: int
    phy_offset: int


class QueueFiles:
    """The files of many queues in the making.

    Args:
        directory: for `consumequeue/` and `consumequeue_ext/`.
        files: the store's.
        file_size: of a queue file, bytes.
        compiled: whether compiled loops are used.

    Attributes:
        topics: number the topics of the units.
        unsafe: queues that are left out.
    """

    def __init__(
        self, directory: Path, files: Sequence[StoreFile], file_size: int, *, compiled: bool
    ) -> None:
        self.topics = TopicNames()
        self.unsafe: list[UnsafeUnit] = []
        self._directory = directory
        self._files = files
        self._file_size = file_size
        self._ext = _ext_units(files)
        self._held: list[Units] = []
        self._count = 0  # units in `_held`
        self._open = _OpenFiles()
        self._queues: list[_Queue] = []
        self._addresses: dict[int, Addresses] = {}
        self._put_all = _CompiledPuts() if compiled else _Puts()

    def put(self, units: Units) -> None:
        """Puts units in order; they are in the files when others come, or after `close`."""
        self._held.append(units)
        self._count += units.topic.size
        if self._count >= min(max(_FEW, _OF_EACH * len(self._queues)), _MANY):
            self._put_held()

    def close(self) -> None:
        """Completes the files, and copies the ext files of the queues."""
        self._put_held()
        self._open.close()
        _copy_ext(self._files, {queue.key for queue in self._queues}, self._directory)

    def abandon(self) -> None:
        """Closes the files that are open after a failure; does nothing after `close`."""
        self._open.close()

    def _put_held(self) -> None:
        if not self._held:
            return
        units, self._held, self._count = Units.joined(self._held), [], 0
        numbers = np.empty(units.topic.size, np.int32)
        at = 0
        while (at := self._put_all.number(units, numbers, at)) < numbers.size:
            self._begin(units, at)
        if self._addresses:
            units = units._replace(tags_code=self._with_addresses(units, numbers))
        for run in self._put_all.put(units, numbers):
            self._queues[run.queue].append(run.position, run.data, skipped=run.skipped)

    def _with_addresses(self, units: Units, numbers: NDArray[np.int32]) -> NDArray[np.int64]:
        """The units' tags codes, or ext addresses in their place; copies never get one."""
        codes = units.tags_code.copy()
        own = np.flatnonzero(~units.is_copy)
        own = own[np.argsort(numbers[own], kind="stable")]
        for rows in np.split(own, np.flatnonzero(np.diff(numbers[own])) + 1):
            addresses = self._addresses.get(int(numbers[rows[0]])) if rows.size else None
            if addresses:
                codes[rows] = addresses.take(codes[rows], units.store_timestamp[rows])
        return codes

    def _begin(self, units: Units, at: int) -> None:
        """Adds the queue of a unit."""
        topic, queue_id = self.topics.names[units.topic[at]], int(units.queue_id[at])
        if not is_safe(topic):
            self._put_all.add(units, at, _LEFT_OUT)
            self.unsafe.append(UnsafeUnit(topic, queue_id, int(units.phy_offset[at])))
            return
        queue = _Queue(self._directory, (topic, queue_id), self._file_size, self._open)
        addresses = Addresses(self._ext, topic, queue_id) if self._ext else None
        if addresses:
            self._addresses[len(self._queues)] = addresses
        self._put_all.add(units, at, len(self._queues), queue.begin(int(units.logical_offset[at])))
        self._queues.append(queue)


class _Run(NamedTuple):
    """Units that go into one queue together.

    Attributes:
        queue: its number.
        position: number of the first one in the queue.
        data: the bytes that go into the files.
        skipped: whether the last unit was skipped because it is before the write position.
    """

    queue: int
    position: int
    data: memoryview
    skipped: bool


class _Puts:
    """Puts units in Python; skips, as 4.9.3 does, those that were put before and those before the write position.

    A gap before a unit is only logged by 4.9.3.

    Source: `ConsumeQueue.putMessagePositionInfo` 478-530.
    """

    def __init__(self) -> None:
        self._numbers: dict[tuple[int, int], int] = {}
        self._keys: list[tuple[int, int]] = []  # of the units that are being numbered
        self._positions: list[int] = []
        self._max_phy_offsets: list[int] = []

    def add(self, units: Units, at: int, number: int, position: int = 0) -> None:
        """Adds the queue of a unit, with the place of its first one."""
        self._numbers[int(units.topic[at]), int(units.queue_id[at])] = number
        if number >= 0:
            self._positions.append(position)
            self._max_phy_offsets.append(0)

    def number(self, units: Units, numbers: NDArray[np.int32], first: int) -> int:
        """Fills in the queues' numbers; returns the first unit of a new queue, or the number of units."""
        if not first:
            self._keys = [*zip(units.topic.tolist(), units.queue_id.tolist(), strict=True)]
        for at in range(first, numbers.size):
            number = self._numbers.get(self._keys[at])
            if number is None:
                return at
            numbers[at] = number
        return numbers.size

    def put(self, units: Units, numbers: NDArray[np.int32]) -> Iterator[_Run]:
        """What goes into the queues' files."""
        runs: dict[int, tuple[int, bytearray]] = {}
        skipped: dict[int, bool] = {}
        columns = (numbers, units.phy_offset, units.size, units.tags_code, units.logical_offset)
        for queue, phy_offset, size, code, logical in zip(
            *(column.tolist() for column in columns), strict=True
        ):
            if queue < 0 or phy_offset + size <= self._max_phy_offsets[queue]:
                continue
            position = self._positions[queue]
            _, data = runs.setdefault(queue, (position, bytearray()))
            skipped[queue] = logical != 0 and logical < position
            if not skipped[queue]:
                data += _UNIT.pack(phy_offset, size, code)
                self._positions[queue] = position + 1
                self._max_phy_offsets[queue] = phy_offset + size
        for queue, (position, data) in runs.items():
            yield _Run(queue, position, memoryview(data), skipped[queue])


class _CompiledPuts:
    """The same by compiled loops."""

    def __init__(self) -> None:
        from rocket_columnar import kernels

        self._kernels = kernels
        self._known: dict[int, int] = {}
        self._state = kernels.QueueStates._make(np.zeros((5, 64), np.int64))
        self._count = 0
        self._table = kernels.QueueTable(np.empty(0, np.int64), np.empty(0, np.int32))
        self._grow(64)

    def add(self, units: Units, at: int, number: int, position: int = 0) -> None:
        """As `_Puts.add`."""
        if number >= 0:
            if number == self._state.position.size:
                wider = (np.resize(column, 2 * number) for column in self._state)
                self._state = self._kernels.QueueStates._make(wider)
            self._state.position[number] = position
            self._state.max_phy_offset[number] = 0
            self._count += 1
        key = int(units.topic[at]) << 32 | int(units.queue_id[at]) & 0xFFFFFFFF
        self._known[key] = number
        if 2 * len(self._known) > self._table.keys.size:
            self._grow(4 * self._table.keys.size)
        else:
            self._kernels.add_queue(self._table, key, number)

    def _grow(self, room: int) -> None:
        self._table = self._kernels.QueueTable(
            np.zeros(room, np.int64), np.full(room, self._kernels.FREE, np.int32)
        )
        for key, number in self._known.items():
            self._kernels.add_queue(self._table, key, number)

    def number(self, units: Units, numbers: NDArray[np.int32], first: int) -> int:
        """As `_Puts.number`."""
        return self._kernels.number_units(units.topic, units.queue_id, self._table, numbers, first)

    def put(self, units: Units, numbers: NDArray[np.int32]) -> Iterator[_Run]:
        """As `_Puts.put`."""
        words = np.empty(numbers.size * _SIZE // 4, np.uint32)
        rows = self._kernels.UnitRows(
            units.phy_offset, units.size, units.tags_code, units.logical_offset, numbers
        )
        state = self._kernels.QueueStates._make(column[: self._count] for column in self._state)
        self._kernels.put_units(rows, state, words)
        data = words.view(np.uint8).data
        for queue in np.flatnonzero((state.stop > state.begin) | (state.skipped > 0)).tolist():
            begin, stop = int(state.begin[queue]), int(state.stop[queue])
            position = int(state.position[queue].astype(np.uint64)) - (stop - begin)
            yield _Run(queue, position, data[begin * _SIZE : stop * _SIZE], bool(state.skipped[queue]))


class _OpenFiles:
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


class _Queue:
    """The files of one queue, in the staging directory of a rebuild."""

    def __init__(self, directory: Path, key: tuple[str, int], file_size: int, files: _OpenFiles) -> None:
        self.key = key
        self._directory = directory / "consumequeue" / key[0] / str(key[1])
        self._file_size = file_size
        self._files = files
        self._path = ""  # of the last file that was created
        self._last = -1  # its first byte

    def begin(self, logical_offset: int) -> int:
        """The first put: its file is filled with pre-blank units up to it (CQ-UNIT-2); its number in the queue."""
        number = max(logical_offset, 0)
        left = number % (self._file_size // _SIZE)
        blank = np.zeros(min(left, _AT_ONCE), UNIT_DTYPE)
        blank["size"] = PRE_BLANK_SIZE
        data = memoryview(blank.tobytes())
        while left:
            part = data[: left * _SIZE]
            self.append(number - left, part)
            left -= len(part) // _SIZE
        return number

    def append(self, number: int, data: memoryview, *, skipped: bool = False) -> None:
        """Writes units from a number on; a skipped unit after them still creates the next file."""
        position = number * _SIZE
        while data:
            at = position % self._file_size
            part = data[: self._file_size - at]
            self._create(position - at)
            self._files.write(self._path, at, part)
            position += len(part)
            data = data[len(part) :]
        if skipped:
            self._create(position - position % self._file_size)

    def _create(self, begin: int) -> None:
        """Creates the file that begins at a byte of the queue, unless it is the last one created."""
        if begin > self._last:
            if self._last < 0:
                self._directory.mkdir(parents=True, exist_ok=True)
            path = self._directory / f"{begin:020}"
            with path.open("wb") as file:
                file.truncate(self._file_size)
            self._last, self._path = begin, str(path)


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
