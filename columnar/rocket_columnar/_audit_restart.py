"""What a start of 4.9.3 does to a store's files, read off its files beforehand.

Read beside `DefaultMessageStore.load` 192-228, `IndexService.load` 57-90, `CommitLog.recoverNormally` 206-272 and
`recoverAbnormally` 465-549.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import numpy as np
from rocket_spec.layout import MESSAGE_MAGIC, RECORD

from rocket_columnar._audit_checkpoint import read_checkpoint
from rocket_columnar._audit_record import read_at
from rocket_columnar._audit_scan import LogStretch, TopicNames

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocket_columnar._audit_plan import Plan
    from rocket_columnar._gap import Gap
    from rocket_columnar.index_file import IndexHeader
    from rocket_columnar.store import StoreFile

__all__ = ["Deletion", "deleted_indexes", "deleted_logs", "recovery_start", "times_of", "walked_end"]

_MARGIN: Final = 3000  # ms, `StoreCheckpoint.getMinTimestamp`
_NORMAL_FILES: Final = 3  # `recoverNormally` begins at the third file from the end
_BORN_V6: Final = 16


@dataclass(frozen=True, slots=True)
class Deletion:
    """A file that a start deletes or changes.

    Attributes:
        action: "delete" or "truncate".
        file: its name relative to the store.
        offset: byte from which its content is dropped; None for a whole file.
        reason: why.
    """

    action: Literal["delete", "truncate"]
    file: str
    offset: int | None
    reason: str


def times_of(checkpoints: Sequence[StoreFile]) -> tuple[int, int, int]:
    """The checkpoint's times in ms, zeros without one."""
    return read_checkpoint(checkpoints[0]) if checkpoints else (0, 0, 0)


def deleted_indexes(
    headers: Sequence[tuple[StoreFile, IndexHeader]], index_time: int, *, clean: bool
) -> list[Deletion]:
    """Index files that are destroyed at a load after a crash (`IndexService.load` 68-74)."""
    if clean:
        return []
    return [
        Deletion(
            "delete",
            file.name,
            None,
            f"its end timestamp {header.end_timestamp:,} is later than the checkpoint's index time {index_time:,}",
        )
        for file, header in headers
        if header.end_timestamp > index_time
    ]


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
        head = read_at(file, 0, 76)
        if len(head) < 76 or int.from_bytes(head[4:8], signed=True) != MESSAGE_MAGIC:
            continue
        at = RECORD.offset_of("sys_flag")
        born = 20 if int.from_bytes(head[at : at + 4]) & _BORN_V6 else 8
        (stored,) = struct.unpack_from(">q", head, 48 + born)
        if stored != 0 and stored <= bound:
            return file.base_offset
    return logs[0].base_offset


def walked_end(plan: Plan, begin: int) -> int:
    """Where the walk from `begin` meets the first bytes that are no sound record or blank."""
    end = begin
    for file, size in zip(plan.logs, plan.log_sizes, strict=True):
        if file.base_offset + size <= begin:
            continue
        position = file.base_offset
        gaps: list[Gap] = []
        with file.open() as reader:
            stretch = LogStretch(reader, position, TopicNames(), check_crc=True, compiled=plan.large)
            for batch in stretch.run(0, reader.size, exact=True, on_gap=gaps.append):
                if gaps or int(batch.phy_offset[0]) != position:
                    return min([position, *(gap.begin for gap in gaps)])
                bad = np.flatnonzero(~batch.crc_ok)
                holes = np.flatnonzero(batch.phy_offset[1:] != batch.phy_offset[:-1] + batch.size[:-1])
                if bad.size or holes.size:
                    stop = min([*bad[:1].tolist(), *(holes[:1] + 1).tolist()])
                    before = stop - 1
                    return position if not stop else int(batch.phy_offset[before] + batch.size[before])
                position = int(batch.phy_offset[-1] + batch.size[-1])
        end = position
        if not _rolls(file, position - file.base_offset):
            return position
    return end


def _rolls(file: StoreFile, at: int) -> bool:
    """Whether a blank leads on to the next file."""
    return read_at(file, at + 4, 4) == bytes.fromhex("cbd43194")


def deleted_logs(plan: Plan, end: int) -> list[Deletion]:
    """Log files behind the end that the walk finds (`MappedFileQueue.truncateDirtyFiles` 127-145)."""
    deletions = []
    for file, size in zip(plan.logs, plan.log_sizes, strict=True):
        if file.base_offset > end:
            deletions.append(Deletion("delete", file.name, None, f"it begins behind the log's end, {end:,}"))
        elif file.base_offset <= end < file.base_offset + size and end < plan.end:
            text = f"the log ends at physical offset {end:,}; the records behind it are lost"
            deletions.append(Deletion("truncate", file.name, end - file.base_offset, text))
    return deletions
