"""Predicts a start with damaged log files left as they are, filled with zeros to their usual length, or moved away.

Each choice is predicted on a plan of the files as they would be then; nothing is written. The best one leaves the most messages
in the log; of equal ones the one that changes less.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from rocket_columnar.facts import Store
from rocket_columnar.findings import Finding
from rocket_columnar.log import RequestScan, TopicNames
from rocket_columnar.restart import predict
from rocket_columnar.store import StoreFile, of_usual_size, sized


@dataclass(frozen=True, slots=True)
class Choice:
    """One way to treat the damaged files, and the messages that a start then keeps.

    Attributes:
        resized: files that get their usual length, with it; bytes that are added are zeros.
        moved: files that are moved away.
        kept: messages that the log still holds after the start; 0 if it is refused.
        refused: why no broker would start, or None.
        walk_from: physical offset from which the start reads the log.
        log_end: physical offset at which the log ends after it.
    """

    resized: tuple[tuple[str, int], ...]
    moved: tuple[str, ...]
    kept: int
    refused: str | None
    walk_from: int
    log_end: int


@dataclass(frozen=True, slots=True)
class LogChoices:
    """All choices for the damaged files of one store.

    Attributes:
        as_it_is: nothing is done.
        best: the choice after which a start keeps the most messages.
        damaged: whether any of the files is damaged, and not only missing.
        read: whether a start reads any of the damaged files as they are.
        only_end: whether nothing but the log's end is damaged, missing or moved away.
    """

    as_it_is: Choice
    best: Choice
    damaged: bool
    read: bool
    only_end: bool

    @classmethod
    def of(cls, store: Store, found: Sequence[Finding]) -> LogChoices:
        """Predicts a start for each choice.

        Args:
            store: the store.
            found: the findings on its log.

        Raises:
            OSError: a file cannot be read.
        """
        names = {file.name for file in store.logs}
        damaged = sorted({finding.file for finding in found} & names)
        lengths = {
            finding.file: finding.length
            for finding in found
            if finding.length is not None and finding.file in names
        }
        others = [name for name in damaged if name not in lengths]
        count = cache(
            lambda name, end: messages_in(next(file for file in store.logs if file.name == name), 0, end)
        )
        before, after = _around_gap(store)
        choices = [
            _predicted(store, resized, moved, count)
            for resized, moved in (
                ({}, ()),
                (lengths, ()),
                ({}, tuple(lengths)),
                (lengths, tuple(others)),
                ({}, tuple(damaged)),
                ({}, after),
                ({}, before),
            )
        ]
        foreign = any(
            finding.foreign for finding in found
        )  # of such a file consumers get nothing but wrong bytes
        best = max(choices, key=lambda choice: (choice.kept, foreign and bool(choice.moved)))
        ends = [end for file, end in zip(store.logs, store.log_ends, strict=True) if file.name in damaged]
        as_it_is = choices[0]
        read = as_it_is.refused is None and any(end > as_it_is.walk_from for end in ends)
        last = {file.name for file in store.logs[-1:]}
        only_end = {finding.file for finding in found} == last or bool(after and best.moved == after)
        return cls(as_it_is, best, bool(damaged), read, only_end)

    @property
    def advice(self) -> str:
        """The advice, in words, with the number of messages that the log holds after a start."""
        now, best = self.as_it_is, self.best
        skipped = "consumers and queries skip what is missing, which is lost for good"
        if best is not now:
            steps = ["decode what is left of the files"]
            steps += (
                [f"move away {', '.join(name.rpartition('/')[2] for name in best.moved)}"]
                if best.moved
                else []
            )
            steps += ["give those of another length their usual one"] if best.resized else []
            as_now = f"no start succeeds ({now.refused})" if now.refused else f"it holds {now.kept:,}"
            if best.kept == now.kept:
                as_now = "it holds as many, but gives consumers wrong bytes for what is lost"
            lost = (
                ""
                if not best.resized
                else ", of which a consumer loses those that follow a lost one in the same pull"
            )
            return (
                f"{', '.join(steps)}: the log then holds {best.kept:,} messages{lost}; as they are {as_now}"
            )
        if now.refused is not None:
            return f"nothing that is done to these files lets a broker start ({now.refused})"
        if not self.damaged:
            return f"leave the store as it is: a start keeps {now.kept:,} messages; {skipped}"
        if not self.read:
            return f"leave the files as they are: a start does not read them, and keeps {now.kept:,} messages; {skipped}"
        return (
            f"leave the files as they are, and decode what is left of them: a start ends the log at physical offset "
            f"{now.log_end:,} and keeps {now.kept:,} messages, and no more if they are moved away"
        )


def _around_gap(store: Store) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The files before the first missing one, and those after it; none if none is missing."""
    gap = next((begin for end, begin in store.log_breaks if begin > end), store.begin)
    before = tuple(file.name for file in store.logs if file.base_offset < gap)
    return before, tuple(file.name for file in store.logs[len(before) :] if before)


def _predicted(
    store: Store, resized: Mapping[str, int], moved: Sequence[str], count: Callable[[str, int], int]
) -> Choice:
    logs = [
        file.resized(resized[file.name]) if file.name in resized else file
        for file in store.logs
        if file.name not in moved
    ]
    indexes = [file for file, _ in store.indexes]
    queues = of_usual_size(sized(store.queues))  # other files have a cure of their own, and so have strays
    files = [*indexes, *queues, *store.exts, *logs, *store.checkpoints]
    start = predict(Store.of_files(files, state=store.state, geometry=store.geometry))
    kept = 0
    if start.refused is None:
        kept = sum(count(file.name, start.log_end) for file in logs)
    return Choice(
        tuple(resized.items()), tuple(moved), kept, start.refused, start.walk_from, start.log_end
    )  # fmt: skip


def messages_in(file: StoreFile, begin: int, end: int, held: NDArray[np.int64] | None = None) -> int:
    """Number of records of a log file between two physical offsets that a consumer can get; an OSError if it cannot be read.

    With `held` only records at these physical offsets count.
    """
    if max(begin, file.base_offset) >= end:
        return 0
    total = 0
    with file.open() as reader:
        scan = RequestScan(reader, file.base_offset, TopicNames())
        first = max(begin - file.base_offset, 0)
        for batch in scan.run(first, reader.size, exact=not first, on_gap=lambda _: None):
            counted = batch.queued & (batch.phy_offset < end)
            if held is not None:
                counted &= np.isin(batch.phy_offset, held)
            total += int(np.count_nonzero(counted))
    return total
