"""Chooses the files that a repair moves away, and the rebuilt ones that it puts in place: those that findings name."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rocket_spec.errors import UsageError
from rocket_spec.layout import QUEUE_UNIT

from rocket_columnar.findings import Finding
from rocket_columnar.rebuild import (
    RebuildPlan,
    has_bytes_of,
    index_begins,
    plan_rebuild,
    settled_names,
    twin_of,
    write_parts,
)
from rocket_columnar.repair.target import Target
from rocket_columnar.store import StoreFile, WorkDone

_AT_ZERO: Final = ("queue.order", "queue.wrong_target", "queue.dangling")
"""Codes that say of a queue file's first byte that the file does not belong there."""


@dataclass(frozen=True, slots=True)
class Moves:
    """Places of the store, relative to it.

    Attributes:
        away: whose files are moved away.
        into: that get a new file of this name.
    """

    away: tuple[str, ...] = ()
    into: tuple[str, ...] = ()


def is_aside(root: Finding) -> bool:
    """Whether its file is moved away, whether or not a rebuilt one takes its place."""
    return root.remedy in ("aside", "checkpoint") or (root.code in _AT_ZERO and root.offset == 0)


def rebuilt(target: Target, roots: Sequence[Finding], gone: Collection[str], new: Path) -> Moves:
    """Rebuilds index files and queues into a folder, if findings ask for it, and chooses among them; `gone` are moved aside.

    Raises:
        UsageError: the sizes of new files are unknown.
        OSError: reading or writing fails.
    """
    of_index = [root for root in roots if root.remedy == "index"]
    of_queues = [root for root in roots if root.remedy == "queues"]
    if not of_index and not of_queues:
        return Moves()
    plan, unknown = _write(target, new)
    index = _index(plan, of_index, gone, new / "index") if of_index else Moves()
    queues = _queues(plan, of_queues, new, unknown) if of_queues else Moves()
    return Moves(index.away + queues.away, index.into + queues.into)


def _write(target: Target, new: Path) -> tuple[RebuildPlan, set[str]]:
    """Rebuilds all index files and queues; returns the folders of queues whose places are unknown, too."""
    store = target.look()
    inferred = store.geometry is not None
    if store.conf is None and not (inferred and store.queues):
        raise UsageError(
            f"{store.path}: has no {'consume queue' if inferred else 'index file'} to take the size of new files from; give "
            "--broker-conf FILE"
        )
    plan = plan_rebuild(store)
    scratch = new.with_name("scratch")
    scratch.mkdir()
    dispatched, left_out = write_parts(plan, new, scratch, WorkDone(None))
    shutil.rmtree(scratch)
    unknown = [*(queue for part in dispatched for queue in part.left_out), *left_out]
    return plan, {f"consumequeue/{queue.topic}/{queue.queue_id}" for queue in unknown}


def _queues(plan: RebuildPlan, found: Sequence[Finding], new: Path, unknown: set[str]) -> Moves:
    """Queue files that a finding names, or that have units which a finding misses, if they differ from the log."""
    own = {file.name: file for file in plan.files if file.kind == "queue"}
    named = {root.file for root in found}
    lacking: dict[str, list[tuple[int, int]]] = {}
    for root in found:
        if root.units is not None:
            lacking.setdefault(root.units[0], []).append(root.units[1:])
    away, into = list[str](), list[str]()
    for path in sorted(path for path in (new / "consumequeue").rglob("*") if path.is_file()):
        name = path.relative_to(new).as_posix()
        folder = name.rpartition("/")[0]
        begin = int(path.name) // QUEUE_UNIT.size
        end = begin + plan.queue_file_size // QUEUE_UNIT.size
        lacks = any(first < end and last >= begin for first, last in lacking.get(folder, ()))
        if not (lacks or name in named or "consumequeue" in named):
            continue
        if name not in own:
            into.append(name)
        elif not has_bytes_of(path, own[name]):
            into.append(name)
            away += [] if folder in unknown else [name]
    return Moves(tuple(away), tuple(into))


def _index(plan: RebuildPlan, found: Sequence[Finding], gone: Collection[str], new: Path) -> Moves:
    """Index files that a finding names; all that differ if one is about the index, or if they divide the keys otherwise."""
    own = [file for file in plan.files if file.kind == "index" and file.name not in gone]
    named = {root.file for root in found}
    paths = sorted(new.iterdir())
    begins = index_begins(own)
    twins = [twin_of(path, begins) for path in paths]
    matched = [twin.name for twin in twins if twin is not None]
    if matched != sorted(set(matched)):  # names are not in the order of the log
        return Moves(_names(own), tuple(f"index/{path.name}" for path in paths))
    strange = {file.name for file in own if file.path.name not in matched}
    if all(name.startswith("index/") for name in named) and strange <= named:
        lost = bool(strange)
        kept = [
            not (f"index/{twin.name}" in named if twin is not None else lost)
            or (twin is not None and twin.same)
            for twin in twins
        ]
    else:
        kept = [twin is not None and twin.same for twin in twins]
    names = settled_names([path.name for path in paths], twins)
    chosen = [(path, name) for path, name, keep in zip(paths, names, kept, strict=True) if name and not keep]
    apart = [(path.rename(path.with_name(f".{path.name}")), name) for path, name in chosen]
    into = [path.rename(path.with_name(name)).name for path, name in apart]
    replaced = {f"index/{name}" for name in into} & set(_names(own))
    return Moves(tuple(sorted(replaced | strange)), tuple(f"index/{name}" for name in into))


def _names(files: Sequence[StoreFile]) -> tuple[str, ...]:
    return tuple(file.name for file in files)
