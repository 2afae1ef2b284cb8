"""What the bytes of one record show of the LOG clauses, be it in a plain file or in a DLedger entry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rocket_reference import JavaFatalError, body_checksum, dispatch_request, record
from rocket_spec.errors import FormatError

from rocket_conformance.store_verdict.observations import Observations, Place

if TYPE_CHECKING:
    from rocket_reference import DispatchRequest

    from rocket_conformance.store_verdict.stored_log import LogFile

__all__ = ["LARGEST_RECORD", "check_record", "record_at"]

LARGEST_RECORD: Final = 16 << 20
"""Bytes of a record that are read at most."""


def record_at(data: bytes, at: int) -> DispatchRequest | None:
    """What a dispatch makes of the record at a place of `data`; None where 4.9.3 fails, or its memory does (LOG-DSP-16)."""
    try:
        request = dispatch_request(data, at, check_crc=False, read_body=False)
    except JavaFatalError:
        return None
    return request if request.success else None


def check_record(  # the bytes and where they are in them; the record's place and its file
    data: bytes, at: int, position: int, file: LogFile, request: DispatchRequest, seen: Observations
) -> None:
    """Judges a record that dispatches.

    Args:
        data: bytes that hold it.
        at: where it begins in them.
        position: where it begins in its file, bytes.
        file: the file.
        request: what a dispatch makes of it.
        seen: takes what is observed.
    """
    place = file.base + position
    seen.hold("LOG-REC-1", "LOG-REC-3")
    seen.compare("LOG-REC-7", Place(file.name, position + 28, "phy_offset", request.commit_log_offset, place))
    try:
        row = record(data, at)
    except FormatError:
        return
    if row.body:
        found = body_checksum(row.body)
        name = f"record at {place:,}"
        seen.compare("LOG-REC-4", Place(file.name, position + 8, "body_crc", row.body_crc, found, name))
    if row.sys_flag & 48:
        seen.hold("LOG-REC-2")
