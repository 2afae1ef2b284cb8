"""What a start of a 4.9.3 broker on a store would delete, from where it would dispatch again, and what is lost for good."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rocket_spec.errors import UsageError

from rocket_columnar._audit_lost import LostKeys, lost_keys
from rocket_columnar._audit_plan import make_plan
from rocket_columnar._audit_restart import (
    Deletion,
    deleted_indexes,
    deleted_logs,
    recovery_start,
    times_of,
    walked_end,
)

if TYPE_CHECKING:
    from rocket_spec.layout import Geometry

__all__ = ["Deletion", "LostKeys", "Restart", "restart"]


@dataclass(frozen=True, slots=True)
class Restart:
    """What a start would do.

    Attributes:
        clean: whether the store has no abort file: then nothing is dispatched again.
        dispatch_from: physical offset from which a start walks the log.
        log_end: physical offset at which its walk ends, and so the log.
        deletions: files that are deleted or cut off.
        lost: keys that are lost for good.
    """

    clean: bool
    dispatch_from: int
    log_end: int
    deletions: tuple[Deletion, ...]
    lost: tuple[LostKeys, ...]


def restart(store: Path | str, *, index_safe: bool = False, geometry: Geometry | None = None) -> Restart:
    """What a start would do to a store's files; nothing is written.

    Args:
        store: the directory of a store.
        index_safe: as with the broker's setting messageIndexSafe.
        geometry: of the index files; else it is inferred.

    Raises:
        UsageError: no store, or a geometry that does not fit or cannot be told.
        OSError: the store cannot be read.
    """
    store = Path(store)
    if not store.is_dir():
        store.stat()
        raise UsageError(f"{store}: a file; audit takes the directory of a store")
    plan = make_plan(store, geometry=geometry)
    clean = not plan.live
    times = times_of(plan.checkpoints)
    begin = recovery_start(plan.logs, times, clean=clean, index_safe=index_safe)
    end = walked_end(plan, begin)
    indexes = deleted_indexes(plan.indexes, times[2], clean=clean)
    lost = lost_keys(plan, {one.file for one in indexes}, begin) if indexes else []
    deletions = (*indexes, *deleted_logs(plan, end))
    return Restart(clean, begin, end, deletions, tuple(lost))
