"""Writes consume-queue files, unit by unit as `ConsumeQueue.putMessagePositionInfo` does."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from rocket_spec.layout import PRE_BLANK_SIZE, QUEUE_UNIT

from rocket_columnar.decode import ExtUnits
from rocket_columnar.formats import UNIT_DTYPE
from rocket_columnar.log import TopicNames
from rocket_columnar.rebuild.dispatched_columns import UNIT, number_queues, reordered
from rocket_columnar.rebuild.ext_addresses import Addresses

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from rocket_columnar.store import StoreFile

__all__ = ["write_queues"]

_SIZE: Final = QUEUE_UNIT.size
_AT_ONCE: Final = 1 << 16
_UNITS: Final = 1 << 16  # that are sorted by queue together
_COPIED: Final = 1 << 20


def write_queues(
    directory: Path,
    parts: Sequence[tuple[Path, Iterable[tuple[int, int]]]],
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
    topics = TopicNames()
    ext = ExtUnits(files)
    writers: dict[tuple[str, int], tuple[_QueueWriter, Addresses]] = {}
    for chunk in _chunks(parts, topics):
        numbers, queues = number_queues(chunk)
        units = reordered(chunk, np.argsort(numbers, kind="stable"))
        keys = [(topics.names[topic], queue_id) for topic, queue_id in queues]
        for key in keys:
            if key not in writers:
                path = directory / "consumequeue" / key[0] / str(key[1])
                writers[key] = _QueueWriter(path, queue_file_size), Addresses(ext, *key)
        bounds = np.concatenate([[0], np.cumsum(np.bincount(numbers))])
        for key, run in zip(keys, _runs(units, bounds, [writers[key][1] for key in keys]), strict=True):
            writers[key][0].put(run)
    _copy_ext(files, writers.keys(), directory)


def _chunks(
    parts: Iterable[tuple[Path, Iterable[tuple[int, int]]]], topics: TopicNames
) -> Iterator[NDArray[np.void]]:
    """The units of a bucket, many at a time, their topics numbered by `topics`."""
    held: list[NDArray[np.void]] = []
    count = 0
    for part, spans in parts:
        numbers: NDArray[np.int32] | None = None
        for first, number in spans:
            if numbers is None:
                names = json.loads((part / "topics.json").read_text("utf-8"))
                numbers = np.array([topics.number(name) for name in names], np.int32)
            units = np.fromfile(part / "units", UNIT, number, offset=first * UNIT.itemsize)
            if (numbers != np.arange(numbers.size)).any():
                units["topic"] = numbers[units["topic"]]
            held.append(units)
            count += number
            if count >= _UNITS:
                yield _joined(held)
                held, count = [], 0
    if held:
        yield _joined(held)


def _joined(parts: list[NDArray[np.void]]) -> NDArray[np.void]:
    """Units one after the other; NumPy copies words faster than structures."""
    return parts[0] if len(parts) == 1 else np.concatenate([part.view(np.int64) for part in parts]).view(UNIT)


class _Run(NamedTuple):
    """Units to put into one queue, in order.

    Attributes:
        raw: the bytes that go into the files.
        ends: physical offsets of the ends of their records.
        logical_offset: of each unit.
        plain: whether `ends` grow, and each logical offset is one more than the one before.
    """

    raw: NDArray[np.void]
    ends: NDArray[np.int64]
    logical_offset: NDArray[np.int64]
    plain: bool


def _runs(
    units: NDArray[np.void], bounds: NDArray[np.int64], addresses: Sequence[Addresses]
) -> Iterator[_Run]:
    """Units sorted by queue, cut at `bounds`; copies never get an ext address."""
    raw = np.empty(units.size, UNIT_DTYPE)
    raw["phy_offset"], raw["size"], raw["tags_code"] = units["phy_offset"], units["size"], units["tags_code"]
    logical = units["logical_offset"].copy()
    ends = units["phy_offset"] + units["size"]
    breaks = np.flatnonzero((np.diff(ends) <= 0) | (np.diff(logical) != 1))
    inside = np.searchsorted(breaks, np.maximum(bounds[1:] - 1, bounds[:-1])) - np.searchsorted(
        breaks, bounds[:-1]
    )
    for number, known in enumerate(addresses):
        part = slice(int(bounds[number]), int(bounds[number + 1]))
        if known:
            own = np.flatnonzero(~units["is_copy"][part]) + part.start
            raw["tags_code"][own] = known.take(units["tags_code"][own], units["store_timestamp"][own])
        yield _Run(raw[part], ends[part], logical[part], not inside[number])


class _QueueWriter:
    """The files of one queue in the making."""

    def __init__(self, directory: Path, file_size: int) -> None:
        self._directory = directory
        self._file_size = file_size
        self._position = -1  # byte in the queue of the next unit; there is none yet
        self._max_phy_offset = 0

    def put(self, run: _Run) -> None:
        """Puts units in order; skips, as 4.9.3 does, those that were put before and those before the write position.

        A gap before a unit is only logged by 4.9.3. A skipped unit still creates the next file.

        Source: `ConsumeQueue.putMessagePositionInfo` 478-530.
        """
        if self._position < 0:
            self._begin(int(run.logical_offset[0]))
        wanted = int(run.logical_offset[0]) * _SIZE == self._position
        if run.plain and wanted and run.ends[0] > self._max_phy_offset:
            self._append(run.raw)
            self._max_phy_offset = int(run.ends[-1])
            return
        kept: list[int] = []
        position, skipped = self._position, False
        for number, (end, logical) in enumerate(
            zip(run.ends.tolist(), run.logical_offset.tolist(), strict=True)
        ):
            if end <= self._max_phy_offset:
                continue
            skipped = logical != 0 and logical * _SIZE < position
            if not skipped:
                kept.append(number)
                position += _SIZE
                self._max_phy_offset = end
        self._append(run.raw[kept])
        if skipped:
            self._file()

    def _begin(self, logical_offset: int) -> None:
        """The first put: its file is filled with pre-blank units up to it (CQ-UNIT-2)."""
        start = max(logical_offset, 0) * _SIZE
        self._position = start - start % self._file_size
        left = (start - self._position) // _SIZE
        blank = np.zeros(min(left, _AT_ONCE), UNIT_DTYPE)
        blank["size"] = PRE_BLANK_SIZE
        while left:
            count = min(left, _AT_ONCE)
            self._append(blank[:count])
            left -= count

    def _append(self, raw: NDArray[np.void]) -> None:
        data = memoryview(raw.tobytes())
        while data:
            at = self._position % self._file_size
            part = data[: self._file_size - at]
            with self._file().open("r+b") as file:
                file.seek(at)
                file.write(part)
            self._position += len(part)
            data = data[len(part) :]

    def _file(self) -> Path:
        """The file of the next unit, created if it is missing."""
        path = self._directory / f"{self._position - self._position % self._file_size:020}"
        if not path.exists():
            self._directory.mkdir(parents=True, exist_ok=True)
            with path.open("wb") as file:
                file.truncate(self._file_size)
        return path


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
