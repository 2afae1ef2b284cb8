"""One commit-log record: checks of its lengths, and what a dispatch derives from its properties.

Compare with `CommitLog.checkMessageAndReturnSize` 302-432 and `MessageDecoder.string2messageProperties` of 4.9.3.
"""

import socket
import struct
from collections.abc import Sequence
from functools import lru_cache
from mmap import mmap
from typing import Final, NamedTuple
from zlib import crc32

import numpy as np
from rocket_spec.layout import (
    BLANK_MAGIC,
    ENTRY_BLANK_MAGIC,
    INDEX_ENTRY,
    LONG_TOPIC_MAGIC,
    MESSAGE_MAGIC,
    QUEUE_UNIT,
    RECORD_FIXED_V4,
    RECORD_MAGICS,
    Layout,
)

from rocket_columnar.formats.java import decode_utf8, parse_int, string_hash, to_i64

# The fixed layouts of index files and consume queues as NumPy dtypes, big-endian, from the layout tables.


LAST_ADDRESS: Final = -(1 << 31) - 1  # the greatest tags code of a unit that is the address of an ext unit


def dtype_of(layout: Layout) -> np.dtype[np.void]:
    """The type of a structure whose fields all have a fixed length."""
    return np.dtype([(field.name, f">i{field.size}") for field in layout.fields])


ENTRY_DTYPE: Final = dtype_of(INDEX_ENTRY)  # an index entry (IDX-ENT-1)

UNIT_DTYPE: Final = dtype_of(QUEUE_UNIT)  # a consume-queue unit (CQ-UNIT-1)


_HOST_FLAGS: Final = 16 | 32
_INT: Final = struct.Struct(">i")
_HEAD: Final = struct.Struct(">ii20xq")
_PAIR: Final = struct.Struct(">ii")
_FIXED: Final = {
    16 * born | 32 * store: struct.Struct(f">iiiiiqqiq{20 if born else 8}sq{20 if store else 8}siqi")
    for born in (0, 1)
    for store in (0, 1)
}

HEAD_SIZE: Final = max(layout.size for layout in _FIXED.values())
"""Bytes that hold all fields before a record's body, whatever its hosts."""

Buffer = bytes | mmap | memoryview

SCHEDULE_TOPIC: Final = b"SCHEDULE_TOPIC_XXXX"
"""The topic of delayed messages, whose tags codes are delivery times (`TopicValidator.RMQ_SYS_SCHEDULE_TOPIC`)."""

DELAYS: Final = tuple(
    1000 * seconds
    for seconds in (1, 5, 10, 30, *(60 * minutes for minutes in (*range(1, 11), 20, 30, 60, 120)))
)
"""ms of the default delay levels, 1s to 2h (`MessageStoreConfig.messageDelayLevel`)."""


class FixedFields(NamedTuple):
    """The fields before a record's body, in file order (LOG-REC-1)."""

    total_size: int
    magic: int
    body_crc: int
    queue_id: int
    flag: int
    queue_offset: int
    phy_offset: int
    sys_flag: int
    born_timestamp: int
    born_host: bytes
    store_timestamp: int
    store_host: bytes
    reconsume_times: int
    prepared_transaction_offset: int
    body_length: int


class Record(NamedTuple):
    """The fixed fields of a whole record, where its other parts are in its window, and how long, in bytes."""

    fixed: FixedFields
    body: int
    topic: int
    topic_length: int
    properties: int
    properties_length: int


class Bad(NamedTuple):
    """The reason that bytes are not a record: what was found and expected, in words."""

    found: str
    expected: str


def check_frame_head(head: Buffer, at: int, room: int, position: int) -> Bad | None:
    """The fault of the first bytes of a frame `at` an offset of `head`, `room` bytes before the file's end.

    `position` is the physical offset at which it is. Java itself does not compare it with the recorded one;
    a frame found elsewhere is a stale one, or bytes of a body that look like one.
    """
    total_size, magic, recorded = _HEAD.unpack_from(head, at)
    if magic in RECORD_MAGICS and RECORD_FIXED_V4 <= total_size <= room and recorded == position:
        return None
    if magic == BLANK_MAGIC:
        return Bad(f"a blank of {total_size:,} bytes", f"one of the {room:,} to the file's end")
    if magic not in RECORD_MAGICS:
        return Bad(f"magic {magic & 0xFFFFFFFF:08x}", f"{MESSAGE_MAGIC & 0xFFFFFFFF:08x}")
    if not RECORD_FIXED_V4 <= total_size <= room:
        return Bad(f"a record of {total_size:,} bytes", f"{RECORD_FIXED_V4} to the file's end, {room:,}")
    return Bad(f"a record of physical offset {recorded:,}", f"{position:,}, its position")


def is_blank(head: Buffer, at: int, room: int) -> bool:
    """Whether a blank begins `at` an offset of `head` that fills the `room` bytes to the file's end.

    It is a plain one (LOG-BLANK-1) or one of DLedger mode, whose fields have the other order (DLG-5).
    """
    return _PAIR.unpack_from(head, at) in ((room, BLANK_MAGIC), (ENTRY_BLANK_MAGIC, room))


def fixed_fields(head: Buffer) -> FixedFields:
    """The fields before the body of a record that begins with these `HEAD_SIZE` bytes."""
    return FixedFields._make(_FIXED[head[39] & _HOST_FLAGS].unpack_from(head))


def body_begin(sys_flag: int) -> int:
    """Bytes before the body of a record, by the flags that state how long its hosts are (LOG-REC-2)."""
    return _FIXED[sys_flag & _HOST_FLAGS].size


def body_end(head: Buffer) -> int:
    """End of the body of a record that begins with these `HEAD_SIZE` bytes, counted from its first."""
    return body_begin(head[39]) + max(fixed_fields(head).body_length, 0)


def topic_length_size(magic: int) -> int:
    """Bytes that the length of a topic takes in a record of this magic (LOG-REC-1)."""
    return 2 if magic == LONG_TOPIC_MAGIC else 1


def parse_record(window: Buffer, at: int) -> Record | Bad:
    """The record `at` an offset of a window that holds all its bytes, or why its lengths do not add up.

    Negative lengths of body and properties count as 0, as in Java; a negative topic length does not.
    """
    (total_size,) = _INT.unpack_from(window, at)
    end = at + total_size
    layout = _FIXED[window[at + 39] & _HOST_FLAGS]  # the last byte of sysFlag
    body = at + layout.size
    if body + 3 <= end:
        fixed = tuple.__new__(FixedFields, layout.unpack_from(window, at))  # `_make`, three times as fast
        size = topic_length_size(fixed.magic)
        topic = body + max(fixed.body_length, 0) + size
        if topic + 2 <= end:
            topic_length = int.from_bytes(window[topic - size : topic], signed=True)
            properties = topic + topic_length + 2
            if topic_length >= 0 and properties <= end:
                length = int.from_bytes(window[properties - 2 : properties], signed=True)
                if properties + max(length, 0) == end:
                    return Record(fixed, body, topic, topic_length, properties, max(length, 0))
    return Bad("lengths of body, topic and properties that do not add up", f"{total_size:,} bytes in all")


def body_matches(raw: bytes, record: Record) -> bool:
    """Whether the body of a record that begins a window has the checksum in it; true for no body (LOG-REC-4)."""
    body = raw[record.body :][: max(record.fixed.body_length, 0)]
    return not body or crc32(body) & 0x7FFFFFFF == record.fixed.body_crc


def parse_properties(data: bytes) -> dict[bytes, bytes]:
    """Names and values in UTF-8 (LOG-PROP-1), malformed bytes replaced as Java replaces them.

    Pairs without a name or a value are dropped; for a repeated name the last value counts.
    """
    pairs: dict[bytes, bytes] = {}
    for part in clean_utf8(data).split(b"\x02"):
        name, separator, value = part.partition(b"\x01")
        if name and separator and value:
            pairs[name] = value
    return pairs


def clean_utf8(data: bytes) -> bytes:
    """The bytes of the text that Java makes from `data`: unchanged if it is well formed (UTF8-1)."""
    return data if data.isascii() else decode_utf8(data).encode()


def tags_code(
    topic: bytes, pairs: dict[bytes, bytes], store_timestamp: int, delays: Sequence[int] = DELAYS
) -> int | None:
    """The tags code that a healthy dispatch puts into the consume queue (LOG-DSP-1).

    The delivery time in ms for a scheduled message, by the `delays` of the levels; else the hash of TAGS, 0 without; None if Java throws,
    since a delay level is not a number.
    """
    if topic == SCHEDULE_TOPIC and b"DELAY" in pairs:
        level = parse_int(pairs[b"DELAY"].decode())
        if level is None:
            return None
        if level > 0:
            return to_i64(store_timestamp + delays[min(level, len(delays)) - 1])
    tags = pairs.get(b"TAGS")
    return _tags_hash(tags) if tags else 0


@lru_cache(maxsize=1 << 16)
def _tags_hash(tags: bytes) -> int:
    return string_hash(tags.decode())


@lru_cache(maxsize=1 << 16)
def host_text(raw: bytes) -> str:
    """A host of 8 or 20 bytes as `1.2.3.4:port` or `[::1]:port`; the port is an i32."""
    port = int.from_bytes(raw[-4:], signed=True)
    if len(raw) == 8:
        return f"{socket.inet_ntop(socket.AF_INET, raw[:4])}:{port}"
    return f"[{socket.inet_ntop(socket.AF_INET6, raw[:16])}]:{port}"
