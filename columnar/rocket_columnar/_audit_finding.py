"""What an audit says: the codes, how grave each is, the clause it breaks, and what cures it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

__all__ = ["CODES", "Finding", "Severity", "finding", "runs"]

Severity = Literal["error", "warning", "note"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that an audit found.

    Attributes:
        code: a stable name, one of `CODES`.
        severity: "error" for bytes that break a clause, "warning" for what loses or hides a message, "note".
        clause: the clause that it is about, or None.
        file: name of the file relative to the store; of the directory where a file is missing.
        offset: byte in that file, or None where the whole file is meant.
        message: what was found, what was expected, and what it means.
        cure: what to do about it.
    """

    code: str
    severity: Severity
    clause: str | None
    file: str
    offset: int | None
    message: str
    cure: str


class _Code(NamedTuple):
    severity: Severity
    clause: str | None
    cure: str


_REBUILD_INDEX: Final = (
    "rebuild the index files with `rocketspec rebuild` and put them in place while the broker is down"
)
_REBUILD_QUEUE: Final = (
    "rebuild the consume queues with `rocketspec rebuild` and put them in place while the broker is down"
)
_REPLICA: Final = (
    "copy the file from a replica; the messages in this range cannot be made again from the rest of the store"
)

CODES: Final[dict[str, _Code]] = {
    "index.size": _Code("error", "IDX-FILE-1", _REBUILD_INDEX),
    "index.geometry": _Code(
        "error", "IDX-FILE-1", "set maxHashSlotNum and maxIndexNum back to what the files were made with"
    ),
    "index.header_count": _Code("error", "IDX-HDR-5", _REBUILD_INDEX),
    "index.header_bounds": _Code("error", "IDX-HDR-2", _REBUILD_INDEX),
    "index.slot_range": _Code("error", "IDX-SEL-1", _REBUILD_INDEX),
    "index.slot_hash": _Code("error", "IDX-HASH-3", _REBUILD_INDEX),
    "index.prev_range": _Code("error", "IDX-SEL-6", _REBUILD_INDEX),
    "index.chain_cycle": _Code("error", "IDX-SEL-6", _REBUILD_INDEX),
    "index.entry_dangling": _Code("error", "IDX-PUT-6", _REBUILD_INDEX),
    "index.entry_wrong_key": _Code("error", "IDX-SVC-2", _REBUILD_INDEX),
    "index.missing_key": _Code("warning", "IDX-SVC-2", _REBUILD_INDEX),
    "index.ahead_of_log": _Code(
        "error", "IDX-HDR-3", "remove this index file while the broker is down, and rebuild it from the log"
    ),
    "index.empty": _Code("warning", "IDX-HDR-5", "remove the file while the broker is down"),
    "index.name_order": _Code("error", "IDX-SVC-4", _REBUILD_INDEX),
    "index.double_entry": _Code("note", "IDX-SVC-2", "none needed: queries name the message twice"),
    "queue.size": _Code("error", "CQ-FILE-1", _REBUILD_QUEUE),
    "queue.order": _Code("error", "CQ-FILE-4", _REBUILD_QUEUE),
    "queue.gap": _Code("error", "CQ-FILE-2", _REBUILD_QUEUE),
    "queue.missing_unit": _Code("warning", "LOG-DSP-7", _REBUILD_QUEUE),
    "queue.dangling": _Code("error", "CQ-UNIT-1", _REBUILD_QUEUE),
    "queue.wrong_target": _Code("error", "CQ-UNIT-1", _REBUILD_QUEUE),
    "queue.tags_code": _Code("error", "CQ-TAGS-1", _REBUILD_QUEUE),
    "log.gap": _Code("error", "LOG-FILE-1", _REPLICA),
    "log.magic": _Code("error", "LOG-REC-1", _REPLICA),
    "log.length": _Code("error", "LOG-REC-3", _REPLICA),
    "log.position": _Code("error", "LOG-REC-7", _REPLICA),
    "log.crc": _Code("error", "LOG-REC-4", _REPLICA),
    "log.torn": _Code("warning", "LOG-FILE-2", "none needed: the next start cuts the log here"),
    "checkpoint.ahead": _Code(
        "error", "CKP-1", "remove the checkpoint while the broker is down: it starts from the whole log"
    ),
    "checkpoint.behind": _Code(
        "warning", "CKP-1", "stop the broker cleanly, so that the next start doesn't go by the checkpoint"
    ),
    "store.abort": _Code("note", None, "none needed while a broker runs; else the next start recovers"),
    "store.lag": _Code("note", None, "none needed: the broker dispatches them when it runs"),
    "store.unsafe_name": _Code("warning", "CQ-FILE-3", "none: no directory can be made for such a topic"),
}
"""Every code, with what is usual of it."""


def finding(
    code: str,
    file: str,
    offset: int | None,
    message: str,
    *,
    severity: Severity | None = None,
    clause: str | None = None,
    cure: str | None = None,
) -> Finding:
    """A finding of a known code; severity, clause and cure are the code's own unless given."""
    usual = CODES[code]
    return Finding(
        code, severity or usual.severity, clause or usual.clause, file, offset, message, cure or usual.cure
    )


def runs(numbers: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Ascending numbers as runs of neighbours: first number and how many."""
    if not numbers.size:
        return
    breaks = np.flatnonzero(np.diff(numbers) != 1) + 1
    for part in np.split(numbers, breaks):
        yield int(part[0]), int(part.size)
