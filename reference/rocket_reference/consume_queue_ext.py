"""Consume-queue ext units and their addresses.

Read beside `org.apache.rocketmq.store.ConsumeQueueExt` of 4.9.3.

Theory of operation. With ext enabled, a unit's tags code is not a hash but the address of an ext unit,
which holds the hash, the store time and a Bloom filter. An address is a byte offset in the ext queue plus
Long.MIN_VALUE, hence far below every hash. Units have no fixed length, and a file's last bytes are free:
a unit that does not fit is preceded there by the two bytes FF FF, and begins the next file.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from struct import Struct
from typing import Final

from rocket_spec.errors import InvalidError, MalformedError
from rocket_spec.layout import EXT_UNIT

from rocket_reference._mapping import ReadableBuffer
from rocket_reference.java import I32_MIN, I64_MIN, to_i64

_SIZE: Final = Struct(">h")
_UNIT: Final = Struct(EXT_UNIT.struct_format)
_LARGEST_UNIT: Final = 32767  # MAX_EXT_UNIT_SIZE

MAX_ADDRESS: Final = I32_MIN - 1
"""The greatest address, one below every int, so below every hash (`ConsumeQueueExt.MAX_ADDR` 55)."""


@dataclass(frozen=True, slots=True)
class ExtUnit:
    """One ext unit (CQ-EXT-1)."""

    size: int  # its length as stored, bytes: the next unit begins so much further on
    tags_code: int  # hash of TAGS, or delivery time in ms
    store_timestamp: int  # store timestamp of the record, ms since the epoch
    bit_map: bytes  # the filter's bytes; empty where the stored length is 0 or less


def is_ext_address(tags_code: int) -> bool:
    """Whether a unit's tags code is an address (CQ-TAGS-3). Source: ConsumeQueueExt.isExtAddr 98-100."""
    return tags_code <= MAX_ADDRESS


def address_of(offset: int) -> int:
    """The address of a byte offset in the ext queue (CQ-EXT-2); an address stays itself.

    Source: ConsumeQueueExt.decorate 125-130.
    """
    return offset if is_ext_address(offset) else to_i64(offset + I64_MIN)


def offset_of(address: int) -> int:
    """The byte offset in the ext queue of an address (CQ-EXT-2); anything else stays itself.

    Source: ConsumeQueueExt.unDecorate 109-114.
    """
    return to_i64(address - I64_MIN) if is_ext_address(address) else address


def ext_unit(data: ReadableBuffer, position: int = 0) -> ExtUnit | None:
    """The ext unit at a byte position, or None where the file's units end (CQ-EXT-3, CQ-EXT-5).

    They end at a size below 1 (the end mark is -1, unused bytes are 0), or where not even a size fits in.

    Raises MalformedError when the unit is cut off by the end of the data.
    Source: ConsumeQueueExt.CqExtUnit.read 453-478.
    """
    left = len(data) - position
    if left < _SIZE.size:
        return None
    if _SIZE.unpack_from(data, position)[0] < 1:
        return None
    if left >= _UNIT.size:
        size, tags_code, store_timestamp, bit_map_size = _UNIT.unpack_from(data, position)
        start = position + _UNIT.size
        if bit_map_size < 1:
            return ExtUnit(size, tags_code, store_timestamp, b"")
        if left >= _UNIT.size + bit_map_size:
            return ExtUnit(size, tags_code, store_timestamp, bytes(data[start : start + bit_map_size]))
    raise MalformedError(
        found=f"{left} bytes", expected="a whole ext unit", offset=position, clause="CQ-EXT-1"
    )


def ext_units(data: ReadableBuffer, base: int = 0) -> Iterator[tuple[int, ExtUnit]]:
    """The ext units of a file in their order, each with its address.

    Args:
        data: the file's bytes.
        base: byte offset of the file's first byte in the ext queue: the number that its name is.

    Raises:
        MalformedError: when a unit is cut off by the end of the data, or has a size that leads past it.

    Source: ConsumeQueueExt.recover 282-304, which steps by the stored size alone (CQ-EXT-5).
    """
    position = 0
    while (unit := ext_unit(data, position)) is not None:
        if position + unit.size > len(data):  # 4.9.3: IllegalArgumentException out of recover
            raise MalformedError(
                found=f"a unit of {unit.size} bytes",
                expected=f"at most the {len(data) - position} bytes left",
                offset=position,
                clause="CQ-EXT-1",
            )
        yield address_of(base + position), unit
        position += unit.size


def encode_ext_unit(tags_code: int, store_timestamp: int, bit_map: bytes = b"") -> bytes:
    """The bytes of an ext unit.

    Raises InvalidError when it would be longer than 32767 bytes; 4.9.3 then keeps the plain tags code.
    Source: ConsumeQueueExt.CqExtUnit.write 507-529; ConsumeQueueExt.put 192-196.
    """
    size = _UNIT.size + len(bit_map)
    if size > _LARGEST_UNIT:
        raise InvalidError(found=f"{size} bytes", expected=f"at most {_LARGEST_UNIT}", clause="CQ-EXT-1")
    return _UNIT.pack(size, tags_code, store_timestamp, len(bit_map)) + bit_map
