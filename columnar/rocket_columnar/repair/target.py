"""The store to repair, and what a start would keep of it, to compare before and after."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from rocket_spec.layout import PRE_BLANK_SIZE, Geometry

from rocket_columnar.facts import Store
from rocket_columnar.log import each_units
from rocket_columnar.report import AuditReport, messages_in
from rocket_columnar.restart import Restart
from rocket_columnar.store import BrokerConf

_COMPARED: Final = ("consumer.", "delay.", "topic.", "transaction.")
"""Codes of findings on what is compared with whole queues."""


@dataclass(frozen=True, slots=True)
class Target:
    """A store to repair, and what its files look like; as for `audit`.

    Attributes:
        offsets: a `consumerOffset.json` of a replica, for offsets of groups that are beyond their queues.
        to_end: set all offsets beyond their queues to the ends of these.
    """

    store: Path
    commitlog: tuple[Path, ...] = ()
    geometry: Geometry | None = None
    conf: BrokerConf | None = None
    release: str | None = None
    offsets: Path | None = None
    to_end: bool = False

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
    """The messages that a start would keep, and the findings of an audit.

    Attributes:
        refused: why no broker would start, or None.
        messages: those that a queue points to and whose log files are there after the start; 0 if it is refused.
        log_end: physical offset at which the log ends after it.
        found: number of errors and warnings.
        damage: of them, those of its files; what queues are compared with, topics and offsets, is only found once these are whole.
        predicted: whether a start is predicted, which is not known of every store of 5.x; else only `found` counts.
    """

    refused: str | None
    messages: int
    log_end: int
    found: int
    damage: int
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
            messages += messages_in(file, start.dispatch_from, end)
        return cls(None, max(messages, 0), start.log_end, *_counts(report))

    def worse_than(self, other: Outlook) -> str:
        """The reason that this is worse; empty if it is not. Without a prediction, it has to be better."""
        if not (self.predicted and other.predicted):
            fewer = self.found < other.found
            return (
                ""
                if fewer
                else f"an audit has {self.found:,} errors and warnings, and a start is not predicted"
            )
        if self.refused is not None and other.refused is None:
            return f"no broker would start: {self.refused}"
        if other.refused is None and self.messages < other.messages:
            return f"a start would keep {self.messages:,} messages, not {other.messages:,}"
        if other.refused is None and self.log_end < other.log_end:
            return f"a start would end the log at {self.log_end:,}, not at {other.log_end:,}"
        if self.damage > other.damage:
            return f"an audit has {self.damage:,} errors and warnings of files, not {other.damage:,}"
        if not other.damage and self.found > other.found:
            return f"an audit has {self.found:,} errors and warnings, not {other.found:,}"
        return ""


def _counts(report: AuditReport) -> tuple[int, int]:
    """The number of errors and warnings, and of those on files."""
    codes = [one.code for one in report.findings if one.severity != "note"]
    return len(codes), sum(not code.startswith(_COMPARED) for code in codes)
