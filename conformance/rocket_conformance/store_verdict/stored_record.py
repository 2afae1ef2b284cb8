"""One record of a commit log: where it is, what a dispatch makes of it, and what its bytes show of the LOG clauses."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from rocket_reference import (
    RULES_4_9_3,
    DispatchRequest,
    JavaError,
    JavaFatalError,
    Rules,
    body_checksum,
    dispatch_request,
    index_keys,
    java,
    record,
)
from rocket_spec.errors import FormatError

from rocket_conformance.store_verdict.observations import Observations, Place

LARGEST_RECORD: Final = 16 << 20
"""Bytes of a record that are read at most."""

PREPARED: Final = 4
ROLLBACK: Final = 12
_TRANSACTION_TYPE: Final = 12


@dataclass(frozen=True, slots=True)
class LogFile:
    """A commit-log file: its path relative to the store, its base offset and length, bytes."""

    name: str
    base: int
    size: int


@dataclass(frozen=True, slots=True)
class StoredRecord:
    """A record of the log.

    Attributes:
        position: its place in the log, bytes; 4.9.3 takes the recorded offset, which is the same in a healthy log.
        request: what goes to consume queue and index; of its properties only those that decide where it goes.
        hashes: key hashes that go to the index, in their order.
        rules: of the release that the store is judged by.
    """

    position: int
    request: DispatchRequest
    hashes: tuple[int, ...]
    rules: Rules = RULES_4_9_3

    @property
    def transaction(self) -> int:
        """0 NOT, 4 PREPARED, 8 COMMIT, 12 ROLLBACK."""
        return self.request.sys_flag & _TRANSACTION_TYPE

    @property
    def keys(self) -> list[str]:
        """The keys of `hashes`, with topic and `#`."""
        return list(index_keys(self.request, self.rules))

    @property
    def indexed(self) -> bool:
        """Whether 4.9.3 makes index entries for it."""
        return bool(self.hashes) and self.transaction != ROLLBACK

    @property
    def queued(self) -> bool:
        """Whether 4.9.3 makes a unit for it (LOG-DSP-7)."""
        return self.transaction not in (PREPARED, ROLLBACK)

    def __str__(self) -> str:
        return f"record at {self.position:,}, topic {self.request.topic}"


def further_queues(stored: StoredRecord) -> Iterator[tuple[str, int]]:
    """Further queues that a record names, with the logical offsets that it asks for (CQ-LMQ-1)."""
    properties = stored.request.properties or {}
    if "INNER_MULTI_DISPATCH" not in properties:
        return
    names = java.split(properties["INNER_MULTI_DISPATCH"], ",")
    offsets = java.split(properties.get("INNER_MULTI_QUEUE_OFFSET", ""), ",")
    if len(names) == len(offsets) and names != [""]:
        for name, text in zip(names, offsets, strict=True):
            try:
                yield name, java.parse_long(text)
            except JavaError:
                return


def record_at(data: bytes, at: int, rules: Rules = RULES_4_9_3) -> DispatchRequest | None:
    """What a dispatch makes of the record at a place of `data`; None where 4.9.3 fails, or its memory does (LOG-DSP-16)."""
    try:
        request = dispatch_request(data, at, check_crc=False, read_body=False, rules=rules)
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
        row = record(data, at, seen.rules)
    except FormatError:
        return
    if row.body:
        found = body_checksum(row.body)
        name = f"record at {place:,}"
        seen.compare("LOG-REC-4", Place(file.name, position + 8, "body_crc", row.body_crc, found, name))
    if row.sys_flag & 48:
        seen.hold("LOG-REC-2")
