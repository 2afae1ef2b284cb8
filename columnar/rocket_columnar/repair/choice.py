"""The store to repair and what a start would keep of it, and the choice of the files that a repair moves away and puts in place: those that findings name."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
from rocket_spec.errors import UsageError
from rocket_spec.layout import PRE_BLANK_SIZE, QUEUE_UNIT, Geometry
from rocket_spec.printable import counted

from rocket_columnar.facts import Store
from rocket_columnar.findings import Finding
from rocket_columnar.log import RequestScan, TopicNames, each_units, of_earlier_life
from rocket_columnar.rebuild import (
    RebuildPlan,
    has_bytes_of,
    index_begins,
    plan_rebuild,
    settled_names,
    twin_of,
    write_parts,
)
from rocket_columnar.report import AuditReport, messages_in
from rocket_columnar.restart import Restart, restarts
from rocket_columnar.store import BrokerConf, StoreFile, WorkDone

_UNLISTED: Final = 1 << 31

_COMPARED: Final = ("consumer.", "delay.", "topic.", "transaction.")
"""Codes of findings on what is compared with whole queues."""


@dataclass(frozen=True, slots=True)
class Target:
    """A store to repair, and what its files look like; as for `audit`."""

    store: Path
    commitlog: tuple[Path, ...] = ()
    geometry: Geometry | None = None
    conf: BrokerConf | None = None
    release: str | None = None
    # a `consumerOffset.json` of a replica, for offsets of groups that are beyond their queues
    offsets: Path | None = None
    to_end: bool = False  # set all offsets beyond their queues to the ends of these

    def look(self) -> Store:
        """The store as it is now."""
        return Store(
            self.store,
            commitlog=self.commitlog,
            geometry=self.geometry,
            conf=self.conf,
            release=self.release,
        )

    def chosen(self, found: tuple[Restart, Restart]) -> Restart:
        """The prediction for the broker's messageIndexSafe."""
        return found[1] if self.conf is not None and self.conf.index_safe else found[0]


@dataclass(frozen=True, slots=True)
class Outlook:
    """The messages that a start would keep, and the findings of an audit."""

    refused: str | None  # why no broker would start, or None
    # those that a queue points to and whose log files are there after the start; 0 if it is refused
    messages: int
    log_end: int  # physical offset at which the log ends after it
    found: int  # number of errors and warnings
    # of them, those of its files; what queues are compared with, topics and offsets, is only found once these are whole
    damage: int
    # whether a start is predicted, which is not known of every store of 5.x; else only `found` counts
    predicted: bool = True

    @classmethod
    def unpredicted(cls, report: AuditReport) -> Outlook:
        """The outlook of a store without a predicted start."""
        return cls(None, 0, 0, *_counts(report), predicted=False)

    @classmethod
    def of(cls, store: Store, start: Restart, report: AuditReport) -> Outlook:
        """The outlook of a store with this prediction and this audit; an OSError if a queue file cannot be read."""
        if start.refused is not None:
            return cls(start.refused, 0, start.log_end, *_counts(report))
        targets = [np.zeros(0, np.int64)]
        for file in store.queues:
            for _, units in each_units(file):
                real = (units["size"] > 0) & (units["size"] != PRE_BLANK_SIZE)
                targets.append(units["phy_offset"][real].astype(np.int64))
        held = np.unique(np.concatenate(targets))
        messages = -sum(unit.count for unit in start.lost_units if unit.phy_offset < start.log_end)
        for file, size in zip(store.logs, store.log_sizes, strict=True):
            end = min(file.base_offset + size, start.log_end)
            known = min(end, start.dispatch_from)  # what follows is dispatched again
            messages += messages_in(file, file.base_offset, known, held)
        messages += _dispatched(store, start.dispatch_from, start.log_end)
        return cls(None, max(messages, 0), start.log_end, *_counts(report))

    def worse_than(self, other: Outlook) -> str:
        """The reason that this is worse; empty if it is not. Without a prediction, it has to be better."""
        if not (self.predicted and other.predicted):
            fewer = self.found < other.found
            return "" if fewer else f"an audit has {_faults(self.found)}, and a start is not predicted"
        if self.refused is not None and other.refused is None:
            return f"no broker would start: {self.refused}"
        if other.refused is None and self.messages < other.messages:
            return f"a start would keep {counted(self.messages, 'message')}, not {other.messages:,}"
        if other.refused is None and self.log_end < other.log_end:
            return f"a start would end the log at {self.log_end:,}, not at {other.log_end:,}"
        if self.damage > other.damage:
            return f"an audit has {_faults(self.damage)} of files, not {other.damage:,}"
        if not other.damage and self.found > other.found:
            return f"an audit has {_faults(self.found)}, not {other.found:,}"
        return ""


def _faults(count: int) -> str:
    return counted(count, "error or warning", "errors and warnings")


def _dispatched(store: Store, begin: int, end: int) -> int:
    """Number of messages between two physical offsets that consumers can get.

    Those of earlier lives of their queues are none (CQ-PUT-5), nor those of queues that the list of topics has not to read.
    """
    names, counts = TopicNames(), Counter[int]()
    for file, size in zip(store.logs, store.log_sizes, strict=True):
        if not (file.base_offset < end and begin < file.base_offset + size):
            continue
        first = max(begin - file.base_offset, 0)
        with file.open() as reader:
            scan = RequestScan(reader, file.base_offset, names)
            for batch in scan.run(first, reader.size, exact=not first, on_gap=lambda _: None):
                read = np.array([store.read_queues.get(topic, _UNLISTED) for topic in names.names])
                there = batch.queued & (batch.phy_offset < end) & (batch.queue_id < read[batch.topic])
                queues = batch.topic.astype(np.int64) << 32 | batch.queue_id.astype(np.int64)
                for queue in np.unique(queues[there & (batch.queue_offset == 0)]).tolist():
                    counts[queue] = 0  # its topic was deleted, and created again
                found, numbers = np.unique(queues[there & ~of_earlier_life(batch)], return_counts=True)
                counts.update(dict(zip(found.tolist(), numbers.tolist(), strict=True)))
    return counts.total()


def _counts(report: AuditReport) -> tuple[int, int]:
    """The number of errors and warnings, and of those on files."""
    codes = [one.code for one in report.findings if one.severity != "note"]
    return len(codes), sum(not code.startswith(_COMPARED) for code in codes)


_AT_ZERO: Final = ("queue.order", "queue.wrong_target", "queue.dangling")
"""Codes that say of a queue file's first byte that the file does not belong there."""


@dataclass(frozen=True, slots=True)
class Moves:
    """Places of the store, relative to it: those whose files are moved away, and those that get a new file of this name."""

    away: tuple[str, ...] = ()
    into: tuple[str, ...] = ()


def is_aside(root: Finding) -> bool:
    """Whether its file is moved away, whether or not a rebuilt one takes its place."""
    return root.remedy in ("aside", "checkpoint") or (root.code in _AT_ZERO and root.offset == 0)


def rebuilt(target: Target, roots: Sequence[Finding], gone: Collection[str], new: Path) -> Moves:
    """Rebuilds index files and queues into a folder, if findings ask for it, and chooses among them; `gone` are moved aside.

    UsageError if the sizes of new files are unknown.
    """
    of_index = [root for root in roots if root.remedy == "index"]
    of_queues = [root for root in roots if root.remedy == "queues"]
    if not of_index and not of_queues:
        return Moves()
    store = target.look()
    made = restarts(store)[0].made if any(root.remedy == "topics" for root in roots) else {}
    plan, unknown = _write(store, new, made)
    index = _index(plan, of_index, gone, new / "index") if of_index else Moves()
    queues = _queues(plan, of_queues, new, unknown, made) if of_queues else Moves()
    return Moves(index.away + queues.away, index.into + queues.into)


def _write(store: Store, new: Path, made: Collection[str]) -> tuple[RebuildPlan, set[str]]:
    """Rebuilds all index files and queues, also those of the topics that a start makes; returns the folders of queues whose places are unknown, too."""
    inferred = store.geometry is not None
    if store.conf is None and not (inferred and store.queues):
        raise UsageError(
            f"{store.path}: has no {'consume queue' if inferred else 'index file'} to take the size of new files from; give "
            "--broker-conf FILE"
        )
    plan = plan_rebuild(store)
    kept = plan.rules.kept
    plan = replace(plan, rules=plan.rules._replace(kept=None if kept is None else kept.union(made)))
    scratch = new.with_name("scratch")
    scratch.mkdir()
    dispatched, left_out = write_parts(plan, new, scratch, WorkDone(None))
    shutil.rmtree(scratch)
    unknown = [*(queue for part in dispatched for queue in part.left_out), *left_out]
    return plan, {f"consumequeue/{queue.topic}/{queue.queue_id}" for queue in unknown}


def _queues(
    plan: RebuildPlan, found: Sequence[Finding], new: Path, unknown: set[str], made: Collection[str]
) -> Moves:
    """Queue files that a finding names, or that have units which a finding misses, if they differ from the log, and those of topics that are `made`."""
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
        lacks |= folder.split("/")[1] in made
        if not (lacks or name in named or "consumequeue" in named):
            continue
        if name not in own:
            into.append(name)
        elif not has_bytes_of(path, own[name]):
            into.append(name)
            away += [] if folder in unknown else [name]
    for root in found:  # beyond what the log has of a queue
        folder = root.file.rpartition("/")[0]
        if root.code == "queue.size" and root.file in own and folder not in unknown:
            away += [] if (new / root.file).exists() else [root.file]
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
