"""Consume-queue units and files: what a unit holds, and where the unit of a logical offset is.

Read beside `org.apache.rocketmq.store.ConsumeQueue` of 4.9.3.

Theory of operation. A consume queue is an array of 20-byte units, one per message of a topic's queue,
cut into files of equal length. The file's name is the byte offset of its first unit in the whole array,
so a unit needs no number of its own: logical offset = (name + position) / 20.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from struct import Struct
from typing import Final

from rocket_spec.errors import MalformedError
from rocket_spec.layout import PRE_BLANK_SIZE, QUEUE_UNIT

from rocket_reference._mapping import ReadableBuffer
from rocket_reference.java import div, parse_long, string_hash, to_i32

_UNIT: Final = Struct(QUEUE_UNIT.struct_format)


@dataclass(frozen=True, slots=True)
class QueueUnit:
    """One unit (CQ-UNIT-1)."""

    phy_offset: int  # physical offset of the record, bytes
    size: int  # length of the record, bytes
    tags_code: int  # hash of TAGS, delivery time in ms, or the address of an ext unit (CQ-TAGS-1 .. -3)

    @property
    def pre_blank(self) -> bool:
        """Whether it only fills the place of logical offsets that were never written (CQ-UNIT-2)."""
        return self == PRE_BLANK

    @property
    def valid(self) -> bool:
        """Whether `ConsumeQueue.recover` 112 takes it for a unit; a pre-blank one it does (CQ-UNIT-3)."""
        return self.phy_offset >= 0 and self.size > 0


UNIT_SIZE: Final = QUEUE_UNIT.size  # CQ_STORE_UNIT_SIZE

PRE_BLANK: Final = QueueUnit(0, PRE_BLANK_SIZE, 0)
"""The unit that `ConsumeQueue.fillPreBlank` 532-542 writes (CQ-UNIT-2)."""


def queue_unit(data: ReadableBuffer, position: int = 0) -> QueueUnit:
    """The unit at a byte position, valid or not. Raises MalformedError when fewer than 20 bytes are left there."""
    if not 0 <= position <= len(data) - _UNIT.size:
        raise MalformedError(
            found=f"{max(0, len(data) - position)} bytes",
            expected=f"a unit of {_UNIT.size} bytes",
            offset=position,
            clause="CQ-UNIT-1",
        )
    return QueueUnit(*_UNIT.unpack_from(data, position))


def queue_units(data: ReadableBuffer, base: int = 0) -> Iterator[tuple[int, QueueUnit]]:
    """The units of a file in their order, each with its logical offset, up to the first that is not valid.

    Args:
        data: the file's bytes.
        base: byte offset of its first unit in the queue: `base_offset` of its name (CQ-FILE-4).

    Raises:
        MalformedError: when the length is not a whole number of units.
    """
    if len(data) % _UNIT.size:
        raise MalformedError(
            found=f"{len(data)} bytes", expected=f"a multiple of {_UNIT.size} bytes", clause="CQ-FILE-1"
        )
    for position in range(0, len(data), _UNIT.size):
        unit = queue_unit(data, position)
        if not unit.valid:  # CQ-UNIT-3
            return
        yield div(base + position, _UNIT.size), unit


def encode_queue_unit(unit: QueueUnit) -> bytes:
    """The 20 bytes of a unit. Source: ConsumeQueue.putMessagePositionInfo 486-490."""
    return _UNIT.pack(unit.phy_offset, unit.size, unit.tags_code)


def queue_file_size(configured: int) -> int:
    """Length in bytes of a queue's files: the configured one rounded up to whole units (CQ-FILE-1).

    Source: MessageStoreConfig.getMappedFileSizeConsumeQueue 219-223; a length near 2^31 wraps.
    """
    return to_i32(math.ceil(configured / 20.0) * _UNIT.size)


def file_name(offset: int) -> str:
    """Name of the file whose first byte has this offset: at least 20 digits, a minus in front (CQ-FILE-2).

    Commit-log files are named the same way (LOG-FILE-1). Source: UtilAll.offset2FileName 87-93.
    """
    return f"-{-offset:020}" if offset < 0 else f"{offset:020}"


def base_offset(name: str) -> int:
    """The offset that a file's name stands for: `MappedFile.getFileFromOffset`.

    Raises JavaError: NumberFormatException when it is no Java long.
    """
    return parse_long(name)


def tags_code(tags: str | None) -> int:
    """The tags code of a TAGS property: its String.hashCode as a long, 0 for none or empty (CQ-TAGS-1).

    Source: MessageExtBrokerInner.tagsString2tagsCode 39-43.
    """
    return string_hash(tags) if tags else 0
