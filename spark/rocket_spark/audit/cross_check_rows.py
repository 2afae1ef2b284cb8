"""The rows that the cross-check joins, made in tasks: records, units, entries and ext units of stores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
from rocket_columnar.decode import decode
from rocket_columnar.log import Copy, TopicNames, batch_copies, read_requests
from rocket_columnar.store import is_safe
from rocket_spec.errors import MalformedError
from rocket_spec.layout import INDEX_ENTRY, MESSAGE_MAGIC, QUEUE_UNIT, Geometry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray
    from pyspark.sql import DataFrame, SparkSession
    from rocket_columnar.store import Reader, StoreFile

__all__ = ["FileTask", "entry_rows", "ext_rows", "frame", "head_rows", "record_rows", "unit_rows"]

_UNIT: Final = np.dtype([("phy_offset", ">i8"), ("size", ">i4"), ("tags_code", ">i8")])
_ENTRY: Final = np.dtype(
    [("key_hash", ">i4"), ("phy_offset", ">i8"), ("time_diff", ">i4"), ("prev_entry", ">i4")]
)
_AT_ONCE: Final = 1 << 20
_WINDOW: Final = 1 << 23
_HEAD: Final = 36
"""Bytes of a record up to and with its physical offset."""
_COPY: Final = pa.struct([("topic", pa.string()), ("queue_id", pa.int32()), ("logical", pa.int64())])
_TASK_BYTES: Final = 64 << 20


@dataclass(frozen=True, slots=True)
class FileTask:
    """One file of a store, the geometry of its index files, whether it has light queues, and where its log ends."""

    store: str
    file: StoreFile
    geometry: Geometry | None
    light: bool
    end: int


def frame(
    spark: SparkSession,
    rows: Callable[[FileTask], Iterator[dict[str, Any]]],
    tasks: Sequence[FileTask],
    schema: str,
) -> DataFrame:
    """The rows of all files; small files share a task. `rows` returns the columns other than `store` and `file`."""
    groups = list(_grouped(tasks))

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for task in (task for number in batch.column("id").to_numpy() for task in groups[int(number)]):
                for columns in rows(task):
                    arrays = {name: pa.array(values) for name, values in columns.items()}
                    count = len(next(iter(arrays.values())))
                    named = {"store": task.store, "file": task.file.name}
                    texts = {name: pa.repeat(pa.scalar(text), count) for name, text in named.items()}
                    yield pa.RecordBatch.from_pydict({**texts, **arrays})

    numbers = spark.range(0, len(groups), 1, max(len(groups), 1))
    return numbers.mapInArrow(run, f"store string, file string, {schema}")


def _grouped(tasks: Sequence[FileTask]) -> Iterator[list[FileTask]]:
    """Files that are read in one task: consecutive ones up to `_TASK_BYTES`."""
    held: list[FileTask] = []
    room = 0
    for task in tasks:
        with task.file.open() as reader:
            size = reader.allocated
        if held and size > room:
            yield held
            held = []
        room = (room if held else _TASK_BYTES) - size
        held.append(task)
    if held:
        yield held


def record_rows(task: FileTask) -> Iterator[dict[str, Any]]:
    """Records of a log file, each with the hashes of its keys and the queues that it was copied to."""
    names = TopicNames()
    for batch in read_requests(task.file, names, lambda _: None):
        bounds = np.zeros(batch.phy_offset.size + 1, np.int32)
        np.cumsum(batch.key_count, out=bounds[1:])
        copied: list[list[dict[str, Any]]] = [[]] * batch.phy_offset.size
        for place, copies in batch_copies(task.file, batch, light=task.light):
            copied[place] = list(_copied(copies))
        bounded: Any = pa.array(bounds)
        topics: Any = pa.array(batch.topic)
        yield {
            "place": batch.phy_offset - task.file.base_offset,
            "phy_offset": batch.phy_offset,
            "size": batch.size,
            "topic": pa.array(names.names, pa.string()).take(topics),
            "queue_id": batch.queue_id,
            "queue_offset": batch.queue_offset,
            "tags_code": batch.tags_code,
            "store_timestamp": batch.store_timestamp,
            "queued": batch.queued,
            "keys": pa.ListArray.from_arrays(bounded, pa.array(batch.key_hash)),
            "copies": pa.array(copied, pa.list_(_COPY)),
        }


def _copied(copies: Iterable[Copy]) -> Iterator[dict[str, Any]]:
    """The first copy for each queue, even if a queue is named twice."""
    named: set[tuple[str, int]] = set()
    for copy in copies:
        if is_safe(copy.topic) and copy[:2] not in named:
            named.add(copy[:2])
            yield {"topic": copy.topic, "queue_id": copy.queue_id, "logical": copy.logical_offset}


def head_rows(task: FileTask) -> Iterator[dict[str, Any]]:
    """Where records begin after the end of the log: torn ones, and those that came since."""
    magic, found = MESSAGE_MAGIC.to_bytes(4, signed=True), []
    base = task.file.base_offset
    with task.file.open() as reader:
        done = max(task.end - base, 0)
        for begin, stop in reader.extents(done):
            for start in range(max(begin - _HEAD, done), stop, _WINDOW):
                data = reader.read(start, min(_WINDOW + _HEAD, reader.size - start)).tobytes()
                at = data.find(magic, 4)
                while 4 <= at <= len(data) - _HEAD + 4:
                    offset = base + start + at - 4
                    if int.from_bytes(data[at + 24 : at + 32]) == offset:
                        found.append(offset)
                    at = data.find(magic, at + 1)
            done = stop
    yield {"phy_offset": np.array(found, np.int64)}


def unit_rows(task: FileTask) -> Iterator[dict[str, Any]]:
    """Units of a queue file up to the last byte that is not zero; those that are all zeros are skipped."""
    file = task.file
    with file.open() as reader:
        whole = reader.size // QUEUE_UNIT.size * QUEUE_UNIT.size
        for begin, end in _chunks(reader, QUEUE_UNIT.size, 0, whole):
            start = begin // QUEUE_UNIT.size
            raw = reader.read(begin, end - begin)
            numbers, units = _written(raw, _UNIT, start)
            yield {
                "number": numbers,
                "logical": numbers + file.base_offset // QUEUE_UNIT.size,
                "topic": pa.repeat(pa.scalar(file.topic, pa.string()), numbers.size),
                "queue_id": np.full(numbers.size, file.queue_id or 0, np.int32),
                "phy_offset": units["phy_offset"].astype(np.int64),
                "size": units["size"].astype(np.int32),
                "tags_code": units["tags_code"].astype(np.int64),
            }


def entry_rows(task: FileTask) -> Iterator[dict[str, Any]]:
    """Entries of an index file from 1 on; those that are all zeros are skipped."""
    assert task.geometry is not None  # noqa: S101 - for the type checkers
    base = task.geometry.entries_offset
    with task.file.open() as reader:
        first = base + INDEX_ENTRY.size
        whole = (
            base + (min(reader.size, task.geometry.file_size) - base) // INDEX_ENTRY.size * INDEX_ENTRY.size
        )
        for begin, end in _chunks(reader, INDEX_ENTRY.size, first, whole):
            start = (begin - base) // INDEX_ENTRY.size
            raw = reader.read(begin, end - begin)
            numbers, entries = _written(raw, _ENTRY, start)
            yield {
                "number": numbers,
                "key_hash": entries["key_hash"].astype(np.int32),
                "phy_offset": entries["phy_offset"].astype(np.int64),
            }


def _chunks(reader: Reader, size: int, begin: int, stop: int) -> Iterator[tuple[int, int]]:
    """Ranges of whole cells of `size` bytes from `begin` to `stop`; cells in holes are skipped."""
    done = begin
    for first, last in reader.extents(begin):
        low = max(done, begin + (first - begin) // size * size)
        done = min(stop, begin - (begin - last) // size * size)
        for start in range(low, done, _AT_ONCE * size):
            yield start, min(start + _AT_ONCE * size, done)


def _written(raw: NDArray[np.uint8], dtype: np.dtype[Any], start: int) -> tuple[NDArray[np.int64], Any]:
    """Numbers and fields of the cells that are not all zeros."""
    there = raw.reshape(-1, dtype.itemsize).any(axis=1)
    return np.flatnonzero(there).astype(np.int64) + start, raw.view(dtype)[there]


def ext_rows(task: FileTask) -> Iterator[dict[str, Any]]:
    """Ext units of a file, as far as it can be decoded."""
    columns = ["topic", "queue_id", "address", "tags_code"]
    try:
        for _, batch in decode([task.file], tables=["consume_queue_ext"], columns=columns):
            yield {
                name: batch.column(name).cast(pa.string()) if name == "topic" else batch.column(name)
                for name in columns
            }
    except MalformedError:
        return  # addresses into it will not be found
