"""An audit cut into parts that need not know of each other: for threads, for other machines, for bounded memory.

Five steps, of which the second and the fourth are many independent calls::

    plan = plan_audit(store)                                # lists files, reads the log's end
    seen = [look(plan, file) for file in plan.queues]       # each consume-queue file by itself
    plan = relisted(plan)                                   # a broker may have rolled its index
    seen += [look(plan, file) for file in plan.content_indexes]    # each index file by itself
    looks = Looks.of(seen)                                  # small: where units and entries point to
    results = (check_range(plan, looks, part) for part in plan.ranges)  # each range of the log
    for one in findings(plan, looks, results): ...          # a generator, in one place

Everything handed over - `Plan`, `Looks`, `Range`, `RangeResult` - can be pickled, and is small: looks hold 16 bytes
for each 256 units or 1,024 entries, results hold runs of damage and not rows. A range holds 32 MB of log at most, which
bounds what a call of `check_range` keeps. Files are opened by `StoreFile.open`, so that a plan made by `plan_files` may
be of files that lie elsewhere.

A range begins at the first record that verifies at or behind its first byte, and ends where the first one behind it
begins. `findings` sees to it that neighbours agree on that; where they don't, it checks the range again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rocket_columnar._audit_combine import combined, quick_findings
from rocket_columnar._audit_look import IndexLook, QueueLook, look_at_index, look_at_queue
from rocket_columnar._audit_plan import LEVELS, Level, Plan, Range, make_plan, plan_files, relisted
from rocket_columnar._audit_range import Scanned, scan_range
from rocket_columnar._audit_range import check_range as _check_range
from rocket_columnar._audit_result import Blocks, RangeResult
from rocket_columnar._audit_units import ReadAhead

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rocket_columnar._audit_finding import Finding
    from rocket_columnar.store import StoreFile

__all__ = [
    "LEVELS",
    "IndexLook",
    "Level",
    "Looks",
    "Plan",
    "QueueLook",
    "Range",
    "RangeResult",
    "ReadAhead",
    "Scanned",
    "check_range",
    "findings",
    "look",
    "plan_audit",
    "plan_files",
    "quick_findings",
    "relisted",
    "scan_range",
]

plan_audit = make_plan


@dataclass(frozen=True, slots=True)
class Looks:
    """What all consume-queue and index files hold.

    Attributes:
        queues: blocks of the consume-queue files.
        indexes: blocks of the index files.
    """

    queues: Blocks
    indexes: Blocks

    @classmethod
    def of(cls, looks: Iterable[QueueLook | IndexLook | None]) -> Looks:
        """Of what `look` gave, in the order of the plan's files; None for a file that was gone."""
        there = [look for look in looks if look is not None]
        return cls(
            Blocks.of([look for look in there if isinstance(look, QueueLook)]),
            Blocks.of([look for look in there if isinstance(look, IndexLook)]),
        )


def look(plan: Plan, file: StoreFile) -> QueueLook | IndexLook | None:
    """What one file of the plan's queues or content indexes holds; None where it is gone meanwhile.

    Raises:
        OSError: the file cannot be read.
    """
    try:
        if file.kind == "queue":
            return look_at_queue(file, compiled=plan.large)
        assert plan.geometry is not None  # noqa: S101 - else no index file's content is checked
        last = file.name == plan.indexes[-1][0].name
        return look_at_index(file, plan.geometry, live=plan.live, last=last, compiled=plan.large)
    except FileNotFoundError:
        return None


def check_range(
    plan: Plan,
    looks: Looks,
    part: Range,
    *,
    start: int | None = None,
    scanned: Scanned | None = None,
    ahead: ReadAhead | None = None,
) -> RangeResult:
    """Holds one range of the log against the units and entries that point into it.

    Args:
        plan: of the store.
        looks: at its files.
        part: one of the plan's ranges.
        start: physical offset at which the range before ended, where that is known.
        scanned: what `scan_range` gave for it, where the log was read while others looked at the files.
        ahead: one for all ranges of a plan that are checked in this process, so that the files of many queues are not
            opened for each range again.

    Raises:
        OSError: a file cannot be read.
    """
    return _check_range(plan, looks.queues, looks.indexes, part, start=start, scanned=scanned, ahead=ahead)


def findings(plan: Plan, looks: Looks, results: Iterable[RangeResult]) -> Iterator[Finding]:
    """All findings of an audit, from the results of all ranges, in the order of the ranges.

    Raises:
        OSError: a file cannot be read.
    """

    def again(part: Range, start: int) -> RangeResult:
        return check_range(plan, looks, part, start=start)

    return combined(plan, looks.queues.files, looks.indexes.files, results, again)
