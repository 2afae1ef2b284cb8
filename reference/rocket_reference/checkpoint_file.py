"""The checkpoint file: three times, each saying how far one part of the store is safely written.

Read beside `org.apache.rocketmq.store.StoreCheckpoint` of 4.9.3.
"""

import os
from dataclasses import astuple, dataclass
from struct import Struct
from typing import Final

from rocket_spec.errors import MalformedError
from rocket_spec.layout import CHECKPOINT, CHECKPOINT_SIZE

from rocket_reference._mapping import ReadableBuffer, map_file
from rocket_reference.java import to_i64

_CHECKPOINT: Final = Struct(CHECKPOINT.struct_format)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The three times, in ms since the epoch (CKP-1)."""

    physic_msg_timestamp: int
    logics_msg_timestamp: int
    index_msg_timestamp: int

    @property
    def min_timestamp(self) -> int:
        """The time from which recovery starts: the lesser of commit log and queues, less 3 s, at least 0, in long arithmetic.

        Source: StoreCheckpoint.getMinTimestamp 105-113.
        """
        return max(0, to_i64(min(self.physic_msg_timestamp, self.logics_msg_timestamp) - 3000))

    @property
    def min_timestamp_index(self) -> int:
        """The same with the index, as `messageIndexSafe` asks for: the index time without the 3 s.

        Source: StoreCheckpoint.getMinTimestampIndex 101-103.
        """
        return min(self.min_timestamp, self.index_msg_timestamp)


def checkpoint(data: ReadableBuffer) -> Checkpoint:
    """The three times of a checkpoint's bytes. Raises MalformedError for fewer than 24 bytes."""
    if len(data) < _CHECKPOINT.size:
        raise MalformedError(
            found=f"{len(data)} bytes", expected=f"at least {_CHECKPOINT.size} bytes", clause="CKP-1"
        )
    return Checkpoint(*_CHECKPOINT.unpack_from(data))


def read_checkpoint(path: str | os.PathLike[str]) -> Checkpoint:
    """Opens a checkpoint as the store does, and returns the three times.

    A missing file is made, 4096 zero bytes; a shorter one is extended, a longer one keeps its length (CKP-2).

    Raises JavaError: FileNotFoundException, IOException.
    Source: StoreCheckpoint 39-63.
    """
    with map_file(path, CHECKPOINT_SIZE) as view:
        return checkpoint(view)


def write_checkpoint(path: str | os.PathLike[str], times: Checkpoint) -> None:
    """Opens a checkpoint as the store does, and writes the three times; no byte beyond them is touched.

    Raises JavaError: FileNotFoundException, IOException.
    Source: StoreCheckpoint.flush 78-83.
    """
    with map_file(path, CHECKPOINT_SIZE) as view:
        _CHECKPOINT.pack_into(view, 0, *astuple(times))
