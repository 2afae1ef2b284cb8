"""Single records looked at byte by byte: where a body begins, and whether the log's last record is whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rocket_spec.layout import RECORD

from rocket_columnar._audit_finding import Finding, finding

if TYPE_CHECKING:
    from rocket_columnar.store import StoreFile

__all__ = ["body_place", "read_at", "torn_end"]

_BODY_V4: Final = 88  # bytes before the body with two IPv4 hosts
_BORN_V6: Final = 16
_STORE_V6: Final = 32
_MORE: Final = 12  # bytes of an IPv6 address beyond those of an IPv4 one (LOG-REC-2)


def _body_place(record: bytes) -> int:
    at = RECORD.offset_of("sys_flag")
    flags = int.from_bytes(record[at : at + 4])
    return _BODY_V4 + _MORE * (bool(flags & _BORN_V6) + bool(flags & _STORE_V6))


def read_at(file: StoreFile, at: int, length: int) -> bytes:
    """Bytes of a file from a place on, fewer where it has no more."""
    with file.open() as reader:
        return reader.read(at, max(min(length, reader.size - at), 0)).tobytes()


def body_place(file: StoreFile, at: int) -> int:
    """Bytes before the body of the record at a place of a file."""
    return _body_place(read_at(file, at, RECORD.offset_of("sys_flag") + 4))


def torn_end(file: StoreFile, phy_offset: int, size: int, *, live: bool) -> Finding | None:
    """A record whose lengths add up but whose properties end in zeros: its last bytes never reached the disk.

    Nothing else shows it, since no checksum covers the properties.
    """
    at = phy_offset - file.base_offset
    record = read_at(file, at, size)
    body = _body_place(record)
    topic = body + max(int.from_bytes(record[body - 4 : body], signed=True), 0)
    properties = topic + 1 + record[topic] + 2
    if properties >= size or record[-1]:
        return None
    whole = max(len(record.rstrip(b"\0")), properties)
    return finding(
        "log.torn",
        file.name,
        at + whole,
        f"the properties of the last record, at physical offset {phy_offset:,}, end in {size - whole:,} zeros: the last "
        "write was cut off, and the message has lost keys or tags",
        severity="note" if live else None,
        cure="send the message again: a start keeps the record as it is",
    )
