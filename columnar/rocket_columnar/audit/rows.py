"""Units and entries of many files that are held together, and where those of all files point to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from rocket_columnar.audit.file_survey import ENTRIES, UNITS, IndexSurvey, QueueSurvey
from rocket_columnar.audit.range_result import Frames
from rocket_columnar.audit.read_ahead import ReadAhead
from rocket_columnar.facts import Store
from rocket_columnar.formats import ENTRY_DTYPE, UNIT_DTYPE
from rocket_columnar.store import StoreFile

_NATIVE: Final = {kind: {name: kind[name].newbyteorder("=") for name in kind.names or ()}
                  for kind in (UNIT_DTYPE, ENTRY_DTYPE)}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Targets:
    """Targets of the units and entries of all files, by the runs of the surveys.

    Attributes:
        files: the surveys, in the order of the files.
        owner: place of each run's survey.
        number: place of each run in its file.
        low: least physical offset of each run.
        high: greatest physical offset of each run.
    """

    files: tuple[Any, ...]
    owner: NDArray[np.int32]
    number: NDArray[np.int64]
    low: NDArray[np.int64]
    high: NDArray[np.int64]

    @classmethod
    def of(cls, surveys: Sequence[QueueSurvey] | Sequence[IndexSurvey]) -> Targets:
        """The targets of these files."""
        sizes = [survey.low.size for survey in surveys]
        empty = np.empty(0, np.int64)
        return cls(
            tuple(surveys),
            np.repeat(np.arange(len(surveys), dtype=np.int32), sizes),
            np.concatenate([empty, *(survey.runs for survey in surveys)]),
            np.concatenate([empty, *(survey.low for survey in surveys)]),
            np.concatenate([empty, *(survey.high for survey in surveys)]),
        )

    def meeting(self, begin: int, last: int) -> list[tuple[int, int, int]]:
        """Runs in a row that point into a range up to `last`: (survey, first run, after the last)."""
        hits = np.flatnonzero((self.low <= last) & (self.high >= begin))
        if not hits.size:
            return []
        breaks = np.flatnonzero((np.diff(self.number[hits]) != 1) | (np.diff(self.owner[hits]) != 0)) + 1
        heads, tails = hits[np.append(0, breaks)], hits[np.append(breaks, hits.size) - 1]
        columns = self.owner[heads], self.number[heads], self.number[tails] + 1
        return list(zip(*(column.tolist() for column in columns), strict=True))


@dataclass(frozen=True, slots=True)
class Surveys:
    """The units and entries of all consume-queue and index files.

    Attributes:
        queues: targets of the consume-queue files.
        indexes: targets of the index files.
    """

    queues: Targets
    indexes: Targets

    @classmethod
    def of(cls, surveys: Iterable[QueueSurvey | IndexSurvey | None]) -> Surveys:
        """The surveys of a plan's files, in their order; None for a file that no longer existed."""
        there = [survey for survey in surveys if survey is not None]
        return cls(
            Targets.of([survey for survey in there if isinstance(survey, QueueSurvey)]),
            Targets.of([survey for survey in there if isinstance(survey, IndexSurvey)]),
        )


@dataclass(frozen=True, slots=True)
class Rows:
    """Units or entries, consecutive ones of each file.

    Attributes:
        files: the file of each such run.
        owners: number of each run's file among the surveyed files.
        firsts: number of each run's first unit or entry in its file.
        bounds: first row of each run, and at last the number of rows.
        columns: the fields of all rows, by name.
        record: the place of each row's record among those of the range, -1 without one.
    """

    files: list[StoreFile]
    owners: list[int]
    firsts: list[int]
    bounds: NDArray[np.int64]
    columns: dict[str, NDArray[Any]]
    record: NDArray[np.int64]

    @classmethod
    def read(
        cls,
        store: Store,
        targets: Targets,
        reach: tuple[int, int],
        frames: Frames,
        ahead: ReadAhead | None = None,
    ) -> Rows:
        """Reads the rows that may point between two physical offsets; a file that no longer exists is skipped."""
        entries = bool(targets.files) and isinstance(targets.files[0], IndexSurvey)
        kind, run = (ENTRY_DTYPE, ENTRIES) if entries else (UNIT_DTYPE, UNITS)
        size = kind.itemsize
        known = {file.name: file for file in (store.content_indexes if entries else store.queues)}
        wanted = []
        for owner, begin, end in targets.meeting(*reach):
            look = targets.files[owner]
            first, stop = max(begin * run, int(entries)), min(end * run, look.count)
            if stop > first and look.file in known:
                wanted.append((known[look.file], owner, first, stop))
        raw = np.empty(sum(stop - first for *_, first, stop in wanted), kind)
        data = raw.view(np.uint8)
        files, owners, firsts, bounds = [], [], [], [0]
        header = store.geometry.entries_offset if entries and store.geometry else 0
        for file, owner, first, stop in wanted:
            rows = data[bounds[-1] * size :][: (stop - first) * size]
            try:
                if ahead is None or not ahead.take(file.name, first, rows):
                    with file.open() as reader:
                        stop = min(stop, (reader.size - header) // size)  # noqa: PLW2901 - may have been cut off meanwhile
                        if stop <= first:
                            continue
                        rows = rows[: (stop - first) * size]
                        if ahead is None or stop - first >= ahead.rows:
                            reader.read_into(header + first * size, rows)
                        else:
                            ahead.read(reader, file.name, first, targets.files[owner].count, rows)
            except FileNotFoundError:
                continue
            files.append(file)
            owners.append(owner)
            firsts.append(first)
            bounds.append(bounds[-1] + stop - first)
        raw = raw[: bounds[-1]]
        columns = {name: raw[name].astype(native) for name, native in _NATIVE[kind].items()}
        record = frames.find(columns["phy_offset"])
        return cls(files, owners, firsts, np.array(bounds, np.int64), columns, record)

    def of_runs(self, values: Sequence[int]) -> NDArray[np.int64]:
        """A value of each run, for each of its rows."""
        return np.repeat(np.array(values, np.int64), np.diff(self.bounds))

    @property
    def numbers(self) -> NDArray[np.int64]:
        """The number of each row in its file."""
        return self.of_runs(self.firsts - self.bounds[:-1]) + np.arange(self.record.size)  # type: ignore[arg-type]

    def within(self, offsets: tuple[int, int]) -> NDArray[np.bool_]:
        """A mask of the rows that point to one of the physical offsets from the first to the last."""
        found: NDArray[np.bool_] = self.columns["phy_offset"] >= offsets[0]
        found &= self.columns["phy_offset"] <= offsets[1]
        return found
