"""One record of a commit log: where it is, and what a dispatch makes of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rocket_reference import DispatchRequest, JavaError, index_keys, java

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["ROLLBACK", "StoredRecord", "further_queues"]

PREPARED: Final = 4
ROLLBACK: Final = 12
_TRANSACTION_TYPE: Final = 12


@dataclass(frozen=True, slots=True)
class StoredRecord:
    """A record of the log.

    Attributes:
        position: its place in the log, bytes; 4.9.3 takes the recorded offset, which is the same in a healthy log.
        request: what goes to consume queue and index; of its properties only those that decide where it goes.
        hashes: key hashes that go to the index, in their order.
    """

    position: int
    request: DispatchRequest
    hashes: tuple[int, ...]

    @property
    def transaction(self) -> int:
        """0 NOT, 4 PREPARED, 8 COMMIT, 12 ROLLBACK."""
        return self.request.sys_flag & _TRANSACTION_TYPE

    @property
    def keys(self) -> list[str]:
        """The keys of `hashes`, with topic and `#`."""
        return list(index_keys(self.request))

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
