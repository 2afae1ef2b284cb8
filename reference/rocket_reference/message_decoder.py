"""A record as a message: what `MessageDecoder.decode` makes of its bytes, or does not.

Read beside `org.apache.rocketmq.common.message.MessageDecoder` 319-436 of 4.9.3.

Theory of operation. Unlike dispatch, it looks neither at the magic nor at whether the lengths add up, and
what it reads ends where the parts end. Anything that throws makes no message at all: a part that the bytes
do not hold, a port that is none, and, for a client, a body that does not uncompress.
"""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv6Address
from struct import Struct
from typing import Final

from rocket_reference._cursor import Cursor
from rocket_reference.errors import JavaError
from rocket_reference.java import I32_MAX, decode_utf8
from rocket_reference.properties import KEYS, UNIQ_KEY, parse_properties
from rocket_reference.record_bytes import RecordFields, read_fields

_LONG: Final = Struct(">q")
_COMPRESSED: Final = 0x1
_MAX_PORT: Final = 65535
_PORT_SIZE: Final = 4
_V6_SIZE: Final = 16


@dataclass(frozen=True, slots=True)
class Message:
    """A message as a broker or client sees it: offsets in bytes, times in ms since the epoch.

    Attributes:
        phy_offset: the recorded physical offset.
        body: as stored, or uncompressed for a client.
        msg_id: what a client calls its id: the unique key, else store host and physical offset in hex.
    """

    topic: str
    queue_id: int
    queue_offset: int
    phy_offset: int
    sys_flag: int
    store_timestamp: int
    body: bytes
    properties: Mapping[str, str]
    msg_id: str

    @property
    def keys(self) -> str | None:
        """The property KEYS."""
        return self.properties.get(KEYS)


def next_message(cursor: Cursor, *, uncompress: bool = False) -> Message | None:
    """The message where a buffer stands; None, and the buffer at its end, when there is none.

    Args:
        cursor: afterwards at the end of the last part read.
        uncompress: as a client does, if sys_flag marks the body as compressed.
    """
    try:
        total_size, magic = cursor.get_int(), cursor.get_int()
        del total_size  # not looked at
        fields = read_fields(cursor, I32_MAX, magic)
        for host in (fields.born_host, fields.store_host):
            _check_port(host)
        body = fields.body
        if uncompress and body and fields.sys_flag & _COMPRESSED:
            body = _uncompress(body)
    except JavaError:
        cursor.position = cursor.limit
        return None
    properties = parse_properties(decode_utf8(fields.properties))
    return Message(
        topic=decode_utf8(fields.topic),
        queue_id=fields.queue_id,
        queue_offset=fields.queue_offset,
        phy_offset=fields.phy_offset,
        sys_flag=fields.sys_flag,
        store_timestamp=fields.store_timestamp,
        body=body,
        properties=properties,
        msg_id=properties.get(UNIQ_KEY) or _offset_msg_id(fields),
    )


def _check_port(host: bytes) -> None:
    port = int.from_bytes(host[-_PORT_SIZE:], "big", signed=True)
    if not 0 <= port <= _MAX_PORT:
        raise JavaError("IllegalArgumentException", f"port out of range:{port}")


def _uncompress(body: bytes) -> bytes:
    """`UtilAll.uncompress`: what follows the compressed bytes is not looked at."""
    inflater = zlib.decompressobj()
    try:
        data = inflater.decompress(body)
    except zlib.error as error:
        raise JavaError("IOException", str(error)) from error
    if not inflater.eof:
        raise JavaError("EOFException", "Unexpected end of ZLIB input stream")
    return data


def _offset_msg_id(fields: RecordFields) -> str:
    """Store host and physical offset, in hex. Source: MessageDecoder.createMessageId 49-57."""
    host = fields.store_host
    if len(host) > _V6_SIZE:
        mapped = IPv6Address(host[:_V6_SIZE]).ipv4_mapped  # Java makes an Inet4Address of it
        host = host if mapped is None else mapped.packed + host[_V6_SIZE:]
    return (host + _LONG.pack(fields.phy_offset)).hex().upper()
