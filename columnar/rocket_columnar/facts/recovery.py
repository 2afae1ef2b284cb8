"""From which file of the log a start of 4.9.3 recovers (`CommitLog.recoverNormally` 206-272, `recoverAbnormally` 465-549)."""

from collections.abc import Sequence
from typing import Final

from rocket_spec.layout import RECORD_FIXED_V4, RECORD_MAGICS

from rocket_columnar.formats import HEAD_SIZE, fixed_fields
from rocket_columnar.store import StoreFile, read_at

_MARGIN: Final = 3000  # ms, `StoreCheckpoint.getMinTimestamp`
_NORMAL_FILES: Final = 3  # `recoverNormally` begins at the third file from the end


def recovery_start(
    logs: Sequence[StoreFile], times: tuple[int, int, int], *, clean: bool, index_safe: bool
) -> int:
    """Physical offset from which a start walks the log; after a crash it dispatches again from there."""
    if not logs:
        return 0
    if clean:
        return logs[max(len(logs) - _NORMAL_FILES, 0)].base_offset
    physic, logics, index = times
    bound = max(min(physic, logics) - _MARGIN, 0)
    if index_safe:
        bound = min(bound, index)
    for file in reversed(logs):
        head = first_record(file)
        if head is not None and head[1] <= bound:
            return file.base_offset
    return logs[0].base_offset


def first_record(file: StoreFile) -> tuple[int, int] | None:
    """The first record's own physical offset and store timestamp; None without a record, or if the timestamp is 0."""
    head = read_at(file, 0, HEAD_SIZE)
    if len(head) < RECORD_FIXED_V4 or int.from_bytes(head[4:8], signed=True) not in RECORD_MAGICS:
        return None
    fields = fixed_fields(head.ljust(HEAD_SIZE, b"\0"))
    return (fields.phy_offset, fields.store_timestamp) if fields.store_timestamp else None
