"""Dispatch requests of commit-log records, as columns."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from threading import Lock
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from rocket_columnar.formats import index_key, string_hash, tag_key

# Transaction types: the bits 4 and 8 of sys_flag (LOG-REC-5).
NOT: Final = 0
PREPARED: Final = 4
COMMIT: Final = 8
ROLLBACK: Final = 12


_NAMING: Final = Lock()


@dataclass(slots=True)
class TopicNames:
    """Topics by number, shared by all batches of a log and the threads that read it.

    Attributes:
        names: of each topic, by its number.
        numbers: of each topic, by its name.
    """

    names: list[str] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)

    def number(self, name: str) -> int:
        """The number of a topic, a new one if it has none."""
        number = self.numbers.get(name)
        if number is not None:
            return number
        with _NAMING:
            if name not in self.numbers:
                self.names.append(name)
                self.numbers[name] = len(self.names) - 1
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
        tags_code: as a healthy dispatch writes it.
        dispatched: False if the dispatch throws an exception, so that nothing is queued or indexed.
        store_timestamp: ms since the epoch.
        transaction: NOT, PREPARED, COMMIT or ROLLBACK.
        crc_ok: whether the body matches its checksum; all True if that was not requested.
        copied: whether the record names queues for multi-dispatch.
        key_count: number of entries of each record in the index.
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
    copied: NDArray[np.bool_]
    key_count: NDArray[np.int32]
    key_hash: NDArray[np.int32]

    @property
    def queued(self) -> NDArray[np.bool_]:
        """A mask of the records that go into consume queues (LOG-DSP-7)."""
        queued: NDArray[np.bool_] = (self.transaction == NOT) | (self.transaction == COMMIT)
        return queued & self.dispatched

    def part(self, start: int, stop: int, bounds: NDArray[np.int64]) -> Requests:
        """Records `start` up to `stop`; `bounds` has the number of keys before each record."""
        columns: dict[str, Any] = {name: getattr(self, name)[start:stop] for name in _DTYPES}
        columns["key_hash"] = self.key_hash[int(bounds[start]) : int(bounds[stop])]
        return Requests(**columns)

    @staticmethod
    def dtypes() -> dict[str, type[np.generic]]:
        """The type of each column."""
        return dict(_DTYPES)

    @staticmethod
    def joined(parts: list[Requests]) -> Requests:
        """Batches as one."""
        if len(parts) == 1:
            return parts[0]
        columns: dict[str, Any] = {
            name: np.concatenate([np.empty(0, kind), *(getattr(part, name) for part in parts)])
            for name, kind in _DTYPES.items()
        }
        return Requests(**columns)


_DTYPES: Final[dict[str, type[np.generic]]] = {
    "phy_offset": np.int64,
    "size": np.int32,
    "topic": np.int32,
    "queue_id": np.int32,
    "queue_offset": np.int64,
    "tags_code": np.int64,
    "dispatched": np.bool_,
    "store_timestamp": np.int64,
    "transaction": np.int8,
    "crc_ok": np.bool_,
    "copied": np.bool_,
    "key_count": np.int32,
    "key_hash": np.int32,
}


@lru_cache(maxsize=1 << 16)
def topic_code(topic: str) -> int:
    """`String.hashCode` of what precedes a topic's keys in the index, as an unsigned number."""
    return string_hash(index_key(topic, "")) & 0xFFFFFFFF


@lru_cache(maxsize=1 << 16)
def tag_code(topic: str) -> int:
    """The same of what precedes a topic's tags in the index of 5.4.0 and later."""
    return string_hash(tag_key(topic, "")) & 0xFFFFFFFF
