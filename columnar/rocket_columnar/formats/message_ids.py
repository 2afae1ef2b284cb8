"""Parses the two IDs of a message: the client's unique key and the server's offset ID.

Both are hexadecimal and have the same lengths, so the kind of an ID does not follow from its text.
"""

import struct
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Final

from rocket_spec.errors import UsageError

_LENGTHS: Final = {32: 4, 56: 16}  # digits of an id: bytes of its address
_UNIQUE: Final = struct.Struct(">HIIH")
_OFFSET: Final = struct.Struct(">iq")
_STEP: Final = 900_000  # ms; a month begins at a whole quarter of an hour in every zone
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class UniqueKey:
    """The content of the unique key (UNIQ_KEY, its "msgId") of a message.

    Attributes:
        client_ip: its address.
        pid: its process id, modulo 65536.
        loader_hash: hash of the class loader, unsigned.
        month_ms: ms since the client's month began, by its clock and in its zone.
        counter: number of the id in its process, modulo 65536.
    """

    client_ip: str
    pid: int
    loader_hash: int
    month_ms: int
    counter: int

    def time_near(self, born_timestamp: int) -> int:
        """The time at which it was made, in ms since the epoch, that fits the born timestamp of its message best.

        An ID contains neither month nor zone; months begin at whole quarters of an hour of UTC in every zone.
        """
        away = (born_timestamp - self.month_ms + _STEP // 2) % _STEP - _STEP // 2
        return born_timestamp - away

    def time_before(self, now: int, zone: tzinfo | None = None) -> int:
        """The time at which it was made, in ms since the epoch, as 4.9.3 guesses: in this month or the one before.

        Args:
            now: ms since the epoch.
            zone: of the client; by default this machine's.

        Source: `MessageClientIDSetter.getNearlyTimeFromID` 72-97.
        """
        moment = (_EPOCH + timedelta(milliseconds=now)).astimezone(zone)
        begin = moment.replace(day=1, hour=0, minute=0, second=0, microsecond=0, fold=0)
        if _ms(begin, zone) + self.month_ms >= now:
            begin = (begin - timedelta(days=1)).replace(day=1)
        return _ms(begin, zone) + self.month_ms


@dataclass(frozen=True, slots=True)
class OffsetId:
    """The content of the offset ID of a message ("offsetMsgId").

    Attributes:
        store_host: address and port of the broker, as the table commit_log shows them.
        phy_offset: physical offset of the message, bytes.
    """

    store_host: str
    phy_offset: int


def _ms(moment: datetime, zone: tzinfo | None) -> int:
    """The ms since the epoch of a wall time; in this machine's zone if none is given."""
    whole = moment.replace(tzinfo=zone) if zone is not None else moment.replace(tzinfo=None).astimezone()
    return (whole - _EPOCH) // timedelta(milliseconds=1)


def _parts(text: str, what: str) -> tuple[IPv4Address | IPv6Address, bytes]:
    """The address at the front of an id, and the bytes after it."""
    try:
        data = bytes.fromhex(text) if len(text) in _LENGTHS and text.isalnum() else None
    except ValueError:
        data = None
    if data is None:
        raise UsageError(
            f"{text!r} is not {what}: expected 32 hexadecimal digits, or 56 with an IPv6 address"
        )
    length = _LENGTHS[len(text)]
    return ip_address(data[:length]), data[length:]


def parse_unique_key(text: str) -> UniqueKey:
    """Parses a unique key.

    Raises:
        UsageError: not a unique key as 4.9.3's client makes it.

    Source: `MessageClientIDSetter` 36-49, 119-139.
    """
    address, rest = _parts(text, "a unique key")
    return UniqueKey(str(address), *_UNIQUE.unpack(rest))


def parse_offset_id(text: str) -> OffsetId:
    """Parses an offset ID.

    Raises:
        UsageError: not an offset ID.

    Source: `MessageDecoder.decodeMessageId` 86-106.
    """
    address, rest = _parts(text, "an offset id")
    port, phy_offset = _OFFSET.unpack(rest)
    return OffsetId(f"[{address}]:{port}" if address.version == 6 else f"{address}:{port}", phy_offset)


def make_offset_id(store_host: str, phy_offset: int) -> str:
    """The offset id of a message, from the columns store_host and phy_offset.

    Source: `MessageDecoder.createMessageId` 64-73.
    """
    host, _, port = store_host.rpartition(":")
    return (ip_address(host.strip("[]")).packed + _OFFSET.pack(int(port), phy_offset)).hex().upper()
