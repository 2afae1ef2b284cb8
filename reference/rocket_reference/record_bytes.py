"""Commit-log records as bytes: read into their fields, and made from them.

Read beside `CommitLog.checkMessageAndReturnSize` 287-431, which reads a record, and
`CommitLog.MessageExtEncoder.encode` 1519-1591, which writes one, of 4.9.3.

Theory of operation. A record is a run of fixed fields with five parts of varying length between them: two
hosts, whose length sys_flag gives, and body, topic and properties, each after its own length. The total
size at the start repeats their sum. While it reads, 4.9.3 copies each part into one array of total-size
bytes; a part that does not fit there, or is not there in the buffer, throws. A body or properties length
below 1 means none; a topic length below 0 throws.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from socket import AF_INET, AF_INET6, inet_ntop
from struct import Struct
from typing import Final
from zlib import crc32

from rocket_spec.errors import InvalidError
from rocket_spec.layout import LONG_TOPIC_MAGIC, MESSAGE_MAGIC, RECORD_FIXED_V4

from rocket_reference._cursor import Cursor
from rocket_reference.errors import JavaError
from rocket_reference.java import I32_MAX, encode_utf8, to_i32
from rocket_reference.properties import properties_text
from rocket_reference.rules import RULES_4_9_3, Rules

BORN_HOST_V6: Final = 0x10  # MessageSysFlag.BORNHOST_V6_FLAG (LOG-REC-5)
STORE_HOST_V6: Final = 0x20  # MessageSysFlag.STOREHOSTADDRESS_V6_FLAG

_HOST_V4: Final = 4 + 4
_HOST_V6: Final = 16 + 4
_LONGEST_PROPERTIES: Final = 32767

_HEAD: Final = Struct(">iiiiiqqiq")  # total_size .. born_timestamp


@dataclass(frozen=True, slots=True)
class RecordFields:
    """The fields of a record as stored, in file order (LOG-REC-1); hosts, topic and properties as bytes."""

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
    body: bytes
    topic_length: int
    topic: bytes
    properties_length: int
    properties: bytes


def read_fields(
    cursor: Cursor,
    total_size: int,
    magic: int,
    *,
    read_body: bool = True,
    room: int | None = None,
    rules: Rules = RULES_4_9_3,
) -> RecordFields:
    """The fields of a record; the cursor has read the first two.

    Args:
        cursor: is after the magic, and afterwards after the record's last field.
        total_size: the first field.
        magic: the second; that of 5.1.0 asks for a topic length of two bytes.
        read_body: False steps over the body instead, which then may be longer than the record.
        room: bytes that a part may have at most; those of the record if not given.
        rules: of the release.

    Raises:
        JavaError: whatever 4.9.3 throws: NegativeArraySizeException for a negative total size;
            IndexOutOfBoundsException for a part longer than the record or, of the topic, negative;
            BufferUnderflowException, IllegalArgumentException at the end of the data.

    Source: CommitLog.checkMessageAndReturnSize 307-369.
    """
    room = total_size if room is None else room
    if total_size < 0:
        raise JavaError("NegativeArraySizeException", str(total_size))
    body_crc = cursor.get_int()
    queue_id = cursor.get_int()
    flag = cursor.get_int()
    queue_offset = cursor.get_long()
    phy_offset = cursor.get_long()
    sys_flag = cursor.get_int()
    hosts = sys_flag if rules.has_ipv6 else 0
    born_timestamp = cursor.get_long()
    born_host = cursor.take(_host_length(hosts, BORN_HOST_V6), room)  # LOG-REC-2
    store_timestamp = cursor.get_long()
    store_host = cursor.take(_host_length(hosts, STORE_HOST_V6), room)
    reconsume_times = cursor.get_int()
    prepared_transaction_offset = cursor.get_long()
    body = b""
    body_length = cursor.get_int()
    if body_length > 0:
        if read_body:
            body = cursor.take(body_length, room)
        else:
            cursor.skip(body_length)
    topic_length = cursor.get_byte() if not _is_long(magic, rules) else cursor.get_short()
    topic = cursor.take(topic_length, room)
    properties_length = cursor.get_short()
    properties = cursor.take(properties_length, room) if properties_length > 0 else b""
    return RecordFields(
        total_size=total_size,
        magic=magic,
        body_crc=body_crc,
        queue_id=queue_id,
        flag=flag,
        queue_offset=queue_offset,
        phy_offset=phy_offset,
        sys_flag=sys_flag,
        born_timestamp=born_timestamp,
        born_host=born_host,
        store_timestamp=store_timestamp,
        store_host=store_host,
        reconsume_times=reconsume_times,
        prepared_transaction_offset=prepared_transaction_offset,
        body_length=body_length,
        body=body,
        topic_length=topic_length,
        topic=topic,
        properties_length=properties_length,
        properties=properties,
    )


def _is_long(magic: int, rules: Rules) -> bool:
    """Whether the length of a record's topic has two bytes."""
    return rules.has_long_topics and magic == LONG_TOPIC_MAGIC


def record_length(sys_flag: int, body_length: int, topic_length: int, properties_length: int) -> int:
    """The sum of the parts, in bytes and int arithmetic; a negative body or properties is 0 (LOG-REC-3).

    Source: CommitLog.calMsgLength 433-455.
    """
    hosts = _host_length(sys_flag, BORN_HOST_V6) + _host_length(sys_flag, STORE_HOST_V6) - 2 * _HOST_V4
    return to_i32(RECORD_FIXED_V4 + hosts + max(body_length, 0) + topic_length + max(properties_length, 0))


def length_of(fields: RecordFields, rules: Rules = RULES_4_9_3) -> int:
    """The sum of the parts of a record that was read."""
    sys_flag = fields.sys_flag if rules.has_ipv6 else 0
    topic_length = fields.topic_length + _is_long(fields.magic, rules)
    return record_length(sys_flag, fields.body_length, topic_length, fields.properties_length)


def body_checksum(body: bytes) -> int:
    """CRC-32 of a body without its highest bit (LOG-REC-4). Source: UtilAll.crc32 249-253."""
    return crc32(body) & I32_MAX


def host_text(host: bytes) -> str:
    """A host's address and port: '1.2.3.4:10911' or '[::1]:10911', the address as inet_ntop writes it."""
    address, port = host[:-4], int.from_bytes(host[-4:], "big", signed=True)
    if len(address) == 4:
        return f"{inet_ntop(AF_INET, address)}:{port}"
    return f"[{inet_ntop(AF_INET6, address)}]:{port}"


def encode_record(
    topic: str | bytes,
    body: bytes = b"",
    properties: Mapping[str, str] | bytes = b"",
    *,
    queue_id: int = 0,
    flag: int = 0,
    queue_offset: int = 0,
    phy_offset: int = 0,
    sys_flag: int = 0,
    born_timestamp: int = 0,
    born_host: str = "127.0.0.1:0",
    store_timestamp: int = 0,
    store_host: str = "127.0.0.1:10911",
    reconsume_times: int = 0,
    prepared_transaction_offset: int = 0,
) -> bytes:
    """The bytes of a record as 4.9.3 writes them.

    Text is encoded as Java does, a lone surrogate as '?' (UTF8-2); bytes are taken as they are. The IPv6
    bits of sys_flag follow the hosts. A topic of more than 127 bytes gets the wrapped length that 4.9.3
    gives it, and cannot be read back.

    Raises InvalidError for properties of more than 32767 bytes, which 4.9.3 refuses (LOG-PROP-5).
    """
    topic_bytes = topic if isinstance(topic, bytes) else encode_utf8(topic)
    properties_bytes = (
        properties if isinstance(properties, bytes) else encode_utf8(properties_text(properties))
    )
    if len(properties_bytes) > _LONGEST_PROPERTIES:
        raise InvalidError(
            found=f"properties of {len(properties_bytes)} bytes",
            expected=f"at most {_LONGEST_PROPERTIES}",
            clause="LOG-PROP-5",
        )
    born, store = _host_bytes(born_host), _host_bytes(store_host)
    sys_flag = _set(sys_flag, BORN_HOST_V6, on=len(born) == _HOST_V6)
    sys_flag = _set(sys_flag, STORE_HOST_V6, on=len(store) == _HOST_V6)
    total_size = record_length(sys_flag, len(body), len(topic_bytes), len(properties_bytes))
    return b"".join(
        (
            _HEAD.pack(
                total_size,
                MESSAGE_MAGIC,
                body_checksum(body),
                queue_id,
                flag,
                queue_offset,
                phy_offset,
                sys_flag,
                born_timestamp,
            ),
            born,
            _long(store_timestamp),
            store,
            _int(reconsume_times),
            _long(prepared_transaction_offset),
            _int(len(body)),
            body,
            bytes([len(topic_bytes) & 0xFF]),
            topic_bytes,
            len(properties_bytes).to_bytes(2, "big"),
            properties_bytes,
        )
    )


def _host_length(sys_flag: int, bit: int) -> int:
    return _HOST_V6 if sys_flag & bit else _HOST_V4


def _host_bytes(text: str) -> bytes:
    address, _, port = text.rpartition(":")
    return ip_address(address.strip("[]")).packed + _int(int(port))


def _set(flags: int, bit: int, *, on: bool) -> int:
    return flags | bit if on else flags & ~bit


def _int(value: int) -> bytes:
    return value.to_bytes(4, "big", signed=True)


def _long(value: int) -> bytes:
    return value.to_bytes(8, "big", signed=True)
