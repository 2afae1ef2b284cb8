"""The commit log as the dispatch requests that a healthy broker makes of it, batch by batch, in NumPy arrays.

Only what queues and index files are made of is kept: no bodies, no texts, of each key its hash.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow.compute as pc
from rocket_spec.errors import MalformedError

from rocket_columnar.decode import Gap, decode
from rocket_columnar.hashing import hash_keys, index_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa
    from numpy.typing import NDArray

    from rocket_columnar.store import StoreFile

__all__ = ["COMMIT", "NOT", "PREPARED", "ROLLBACK", "Requests", "TopicNames", "requests", "values"]

NOT: Final = 0
PREPARED: Final = 4
COMMIT: Final = 8
ROLLBACK: Final = 12
"""Transaction types: the bits 4 and 8 of sys_flag (LOG-REC-5)."""

_COLUMNS: Final = [
    "phy_offset",
    "size",
    "topic",
    "queue_id",
    "queue_offset",
    "sys_flag",
    "store_timestamp",
    "keys",
    "uniq_key",
    "tags_code",
]


@dataclass(slots=True)
class TopicNames:
    """Topics by number, shared by all batches of a log."""

    names: list[str] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)

    def number(self, name: str) -> int:
        """The number of a topic, a new one where it has none."""
        if name not in self.numbers:
            self.numbers[name] = len(self.names)
            self.names.append(name)
        return self.numbers[name]


@dataclass(frozen=True, slots=True)
class Requests:
    """Records of one batch, in the order of the log; all arrays but `key_hash` have one length.

    Attributes:
        phy_offset: bytes.
        size: bytes.
        topic: numbers of the shared `TopicNames`.
        queue_id: queue numbers.
        queue_offset: logical offsets.
        tags_code: what a healthy dispatch gives.
        dispatched: false where a dispatch ends in an exception: nothing is queued or indexed.
        store_timestamp: ms since the epoch.
        transaction: NOT, PREPARED, COMMIT or ROLLBACK.
        crc_ok: whether the body has its checksum; all true where that was not asked for.
        key_count: entries that each record gets in the index.
        key_hash: hashes of these keys, record after record, in the order of their puts.
    """

    phy_offset: NDArray[np.int64]
    size: NDArray[np.int32]
    topic: NDArray[np.int32]
    queue_id: NDArray[np.int32]
    queue_offset: NDArray[np.int64]
    tags_code: NDArray[np.int64]
    dispatched: NDArray[np.bool_]
    store_timestamp: NDArray[np.int64]
    transaction: NDArray[np.int8]
    crc_ok: NDArray[np.bool_]
    key_count: NDArray[np.int32]
    key_hash: NDArray[np.int32]


def values(array: Any) -> NDArray[Any]:
    """A primitive Arrow array without nulls as NumPy's, not copied where the types allow it."""
    kind = array.type.to_pandas_dtype()
    if kind is np.bool_:
        return np.fromiter((bool(value) for value in array.to_pylist()), np.bool_, len(array))
    buffer = array.buffers()[1]
    if buffer is None:
        return np.zeros(len(array), kind)
    return np.frombuffer(buffer, kind, len(array), array.offset * np.dtype(kind).itemsize)


def _topic_numbers(column: Any, names: TopicNames) -> NDArray[np.int32]:
    table = np.array([names.number(name) for name in column.dictionary.to_pylist()], np.int32)
    if not table.size:
        return np.zeros(len(column), np.int32)
    numbers: NDArray[np.int32] = table[values(column.indices)]
    return numbers


def _keys(batch: pa.RecordBatch, topic: NDArray[np.int32], names: TopicNames) -> tuple[list[int], list[str]]:
    """How many keys each record has, and all index keys, in the order of their puts (IDX-SVC-1, IDX-SVC-2)."""
    counts: list[int] = []
    keys: list[str] = []
    rows = zip(
        topic.tolist(), batch.column("uniq_key").to_pylist(), batch.column("keys").to_pylist(), strict=True
    )
    for number, uniq_key, text in rows:
        before = len(keys)
        if uniq_key is not None:
            keys.append(index_key(names.names[number], uniq_key))
        if text:
            keys += (index_key(names.names[number], part) for part in text.split(" ") if part)
        counts.append(len(keys) - before)
    return counts, keys


def _requests(batch: pa.RecordBatch, names: TopicNames) -> Requests:
    topic = _topic_numbers(batch.column("topic"), names)
    counts, keys = _keys(batch, topic, names)
    sys_flag = values(batch.column("sys_flag"))
    transaction = (sys_flag & ROLLBACK).astype(np.int8)
    tags: Any = batch.column("tags_code")
    dispatched = np.ones(batch.num_rows, np.bool_)
    if tags.null_count:
        dispatched = ~values(pc.is_null(tags))
        tags = pc.fill_null(tags, 0)
    key_count = np.array(counts, np.int32)
    key_hash = hash_keys(keys)
    indexed = (transaction != ROLLBACK) & dispatched
    if not indexed.all():
        key_hash = key_hash[np.repeat(indexed, key_count)]
        key_count = np.where(indexed, key_count, 0).astype(np.int32)
    crc_ok = np.ones(batch.num_rows, np.bool_)
    if "crc_ok" in batch.schema.names:
        crc_ok = values(batch.column("crc_ok"))
    return Requests(
        phy_offset=values(batch.column("phy_offset")),
        size=values(batch.column("size")),
        topic=topic,
        queue_id=values(batch.column("queue_id")),
        queue_offset=values(batch.column("queue_offset")),
        tags_code=values(tags),
        dispatched=dispatched,
        store_timestamp=values(batch.column("store_timestamp")),
        transaction=transaction,
        crc_ok=crc_ok,
        key_count=key_count,
        key_hash=key_hash,
    )


def requests(
    file: StoreFile, names: TopicNames, on_gap: Callable[[Gap], None], *, check_crc: bool = False
) -> Iterator[Requests]:
    """The requests of one commit-log file; `on_gap` gets each range in which no record verifies.

    Raises:
        OSError: the file cannot be read.
    """
    columns = [*_COLUMNS, "crc_ok"] if check_crc else _COLUMNS
    try:
        for _, batch in decode([file], tables=["commit_log"], columns=columns, on_gap=on_gap):
            if batch.num_rows:
                yield _requests(batch, names)
    except MalformedError as error:  # an empty file, or one that was cut off meanwhile
        at = file.base_offset + (error.offset or 0)
        on_gap(Gap(str(file.path), at, at, str(error.found), str(error.expected)))
