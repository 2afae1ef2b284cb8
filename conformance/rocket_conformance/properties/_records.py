"""Bytes of commit-log records, sound or not: each field and each length can be wrong."""

from dataclasses import dataclass
from struct import pack
from typing import Final
from zlib import crc32

MAGIC: Final = 0xDAA320A7
BLANK: Final = 0xCBD43194
_BORN_V6: Final = 16
_STORE_V6: Final = 32
_HOST_V6: Final = bytes.fromhex("20010db8000000000000000000000001")
_HOST_V4: Final = b"\x7f\0\0\1"


@dataclass(slots=True)
class RecordParts:
    """The parts of a record; None leaves a length or the checksum to be the true one.

    Attributes:
        more: added to the true total size.
    """

    topic: bytes = b"T"
    body: bytes = b""
    properties: bytes = b""
    queue_id: int = 0
    flag: int = 0
    queue_offset: int = 0
    phy_offset: int = 0
    sys_flag: int = 0
    born_timestamp: int = 0
    store_timestamp: int = 0
    reconsume_times: int = 0
    prepared_transaction_offset: int = 0
    crc: int | None = None
    more: int = 0
    total_size: int | None = None
    body_length: int | None = None
    topic_length: int | None = None
    properties_length: int | None = None


def encode(parts: RecordParts) -> bytes:
    """The bytes of a record."""
    hosts = [_HOST_V6 if parts.sys_flag & bit else _HOST_V4 for bit in (_BORN_V6, _STORE_V6)]
    rest = b"".join(
        (
            pack(">iiqqiq", parts.queue_id, parts.flag, parts.queue_offset, parts.phy_offset, parts.sys_flag,
                 parts.born_timestamp),
            hosts[0],
            pack(">iq", 40_000, parts.store_timestamp),
            hosts[1],
            pack(">iiq", 10_911, parts.reconsume_times, parts.prepared_transaction_offset),
            pack(">i", _or(parts.body_length, len(parts.body))),
            parts.body,
            pack(">b", _or(parts.topic_length, len(parts.topic))),
            parts.topic,
            pack(">h", _or(parts.properties_length, len(parts.properties))),
            parts.properties,
        )
    )  # fmt: skip
    crc = _or(parts.crc, crc32(parts.body) & 0x7FFFFFFF if parts.body else 0)
    size = _or(parts.total_size, 12 + len(rest) + parts.more)
    return pack(">iII", size, MAGIC, crc & 0xFFFFFFFF) + rest


def _or(given: int | None, true: int) -> int:
    return true if given is None else given
