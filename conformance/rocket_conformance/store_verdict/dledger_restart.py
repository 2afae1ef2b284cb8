"""A start over a store in DLedger mode, by the rules: the reference does not start there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocket_reference import index_header
from rocket_spec.layout import INDEX_HEADER

from rocket_conformance.store_verdict.checkpoint_judge import checkpoint_times
from rocket_conformance.store_verdict.index_bytes import read_index
from rocket_conformance.store_verdict.index_geometry import geometry_of
from rocket_conformance.store_verdict.log_reading import read_log
from rocket_conformance.store_verdict.observations import Observations, Place
from rocket_conformance.store_verdict.queue_judge import units_of
from rocket_conformance.store_verdict.stored_log import numbered_files

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from rocket_reference import QueueUnit
    from rocket_spec.layout import Geometry

    from rocket_conformance.store_verdict.index_bytes import Entry
    from rocket_conformance.store_verdict.stored_log import StoredLog

__all__ = ["judge_dledger_restart"]


def judge_dledger_restart(
    before: Path, after: Path, seen: Observations, *, geometry: Geometry | None = None
) -> None:
    """Judges a start over a member's store, crashed or not, followed by a clean stop.

    The entries are there again (DLG-17), unless another member led the group meanwhile, which is noted. After a crash index
    files are deleted as in a plain store (IDX-SVC-6), and their keys do not come back (DLG-13).

    Args:
        before: the store as the crash or the stop left it; it is not changed.
        after: the store after the broker started over it and stopped cleanly.
        seen: takes what is observed.
        geometry: of the index files; None infers it.

    Raises:
        UsageError: the geometry cannot be inferred.
    """
    log = read_log(before, Observations())
    _judge_entries(log, read_log(after, Observations()), seen)
    paths = [path for _, path in numbered_files(before / "index")]
    if paths:
        geometry = geometry or geometry_of(paths, log)
        _judge_indexes(before, after, geometry, seen)
    left = (after / "abort").exists()
    seen.compare("STORE-2", Place("abort", None, "after a clean stop", left, expected=False))


def _judge_entries(before: StoredLog, after: StoredLog, seen: Observations) -> None:
    others = iter(after.records)
    for number, record in enumerate(before.records):
        other = next(others, None)
        if other is None and record.position >= before.committed:
            seen.note("entries that were not committed, which another leader of the group cut off")
            return
        found = "no record" if other is None else other.position
        place = Place("the log of DLedger", None, f"record {number}", found, record.position, str(record))
        if not seen.compare("DLG-17", place):
            return


def _judge_indexes(before: Path, after: Path, geometry: Geometry, seen: Observations) -> None:
    """Which index files stay, and where new entries begin."""
    crashed = (before / "abort").exists()
    trusted = (
        checkpoint_times(before / "checkpoint").index_msg_timestamp
        if (before / "checkpoint").is_file()
        else 0
    )
    old = [path for _, path in numbered_files(before / "index")]
    deleted: list[Path] = []
    for path in old:
        with path.open("rb") as file:
            end = index_header(file.read(INDEX_HEADER.size)).end_timestamp
        expected = "deleted" if crashed and end > trusted else "kept"
        found = "kept" if (after / "index" / path.name).exists() else "deleted"
        seen.compare("IDX-SVC-6", Place(f"index/{path.name}", None, "after the start", found, expected))
        if found == "deleted":
            deleted.append(path)
    lost = [entry.phy_offset for path in deleted for entry in _entries(path, geometry)]
    dispatched = _dispatched(before)
    lost = [offset for offset in lost if offset < dispatched]
    if not lost:
        return
    kept = {path.name for path in old}
    new = (
        entry.phy_offset
        for _, path in numbered_files(after / "index")
        if path.name not in kept
        for entry in _entries(path, geometry)
    )
    first = next(new, dispatched)
    expected_first: object = (
        first if first >= dispatched else f"{dispatched:,} or more, where the queues ended"
    )
    seen.compare(
        "DLG-13", Place("index", None, "physical offset of the first new entry", first, expected_first)
    )


def _entries(path: Path, geometry: Geometry) -> Iterable[Entry]:
    return read_index(path, f"index/{path.name}", geometry).entries


def _dispatched(store: Path) -> int:
    """The end of the last message that a consume queue points to, bytes."""
    return max((unit.phy_offset + unit.size for unit in _units(store)), default=0)


def _units(store: Path) -> Iterator[QueueUnit]:
    root = store / "consumequeue"
    for folder in sorted(root.glob("*/*")) if root.is_dir() else []:
        for _, unit in units_of(folder):
            if not unit.pre_blank:
                yield unit
